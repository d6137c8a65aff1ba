"""Fixtures: the toy's exported page in a browser, and the viewer's source files as ES modules."""

import shutil

import pytest

import visualize
from tests.visualize.homes import viewer
from tests.visualize.modules import InBrowser, UnderNode
from tests.visualize.toy import toy_trace


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """Write the stand-alone page of the toy trace."""
    path = tmp_path_factory.mktemp("page") / "viewer.html"
    visualize.export_html(toy_trace(), path)
    return path


@pytest.fixture
def page(browser, exported):
    """Open the toy's page at a step of its second iteration, with its audit done; fail if anything goes wrong in it."""
    with viewer(browser, exported, "#iteration=2&step=9") as seen:
        seen.page.wait_for_selector(".dsbd-badge svg")
        yield seen.page
        assert seen.errors == []


@pytest.fixture(scope="session")
def modules_in_browser(browser):
    """Runs code against the viewer's source files, in the browser."""
    modules = InBrowser(browser)
    yield modules
    modules.close()


if shutil.which("node"):

    @pytest.fixture(scope="session")
    def modules():
        """Run code against the viewer's source files, under node."""
        modules = UnderNode()
        yield modules
        modules.close()

else:

    @pytest.fixture(scope="session")
    def modules(modules_in_browser):
        """Run code against the viewer's source files, in the browser: this machine has no node."""
        return modules_in_browser
