"""The toy's exported page in a browser, and the viewer's source files as the ES modules they are."""

import shutil

import pytest

import visualize
from tests.visualize.homes import viewer
from tests.visualize.modules import InBrowser, UnderNode
from tests.visualize.toy import toy_trace


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The stand-alone page of the toy trace."""
    path = tmp_path_factory.mktemp("page") / "viewer.html"
    visualize.export_html(toy_trace(), path)
    return path


@pytest.fixture
def page(browser, exported):
    """The toy's page at a step of its second iteration, its audit done; nothing may go wrong in it."""
    with viewer(browser, exported, "#it=1&step=8") as seen:
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
        """Runs code against the viewer's source files, under node."""
        modules = UnderNode()
        yield modules
        modules.close()

else:

    @pytest.fixture(scope="session")
    def modules(modules_in_browser):
        """Runs code against the viewer's source files, in the browser: this machine has no node."""
        return modules_in_browser
