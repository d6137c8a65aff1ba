"""Fixtures: the toy's exported page in a browser."""

import pytest

import visualize
from tests.visualize.traces import toy_trace
from tests.visualize.visits import viewer


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Write the stand-alone page of the toy trace."""
    path = tmp_path_factory.mktemp("page") / "viewer.html"
    visualize.export_html(toy_trace(), path)
    return path


@pytest.fixture
def opened(browser, exported):
    """Open the toy's page with the focus in its viewer; fail on any error in it, and on requests elsewhere."""
    with viewer(browser, exported) as visit:
        visit.page.focus(".dsbd")
        yield visit
        visit.is_quiet()


@pytest.fixture
def page(browser, exported):
    """Open the toy's page at a step of its second iteration; fail on any error in it."""
    with viewer(browser, exported, "#iteration=2&step=9") as visit:
        yield visit.page
        assert visit.errors == []
