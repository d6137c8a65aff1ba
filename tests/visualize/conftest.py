"""The toy's exported page, and the viewer's source files as the ES modules they are, in a browser without a server."""

import json
from importlib import resources

import pytest

import visualize
from tests.visualize.homes import viewer
from tests.visualize.toy import toy_trace

HOME = "http://viewer.test/"
TYPES = {"js": "text/javascript", "json": "application/json", "css": "text/css", "html": "text/html"}


class Modules:
    """Runs code against the source files; ``sceneOf(k)`` and ``opened(scene, k)`` are there to be used."""

    def __init__(self, page) -> None:
        self.page = page

    def run(self, code: str, argument: object = None) -> object:
        """The value of an async function body; ``given`` is the argument."""
        return self.page.evaluate(f"async (text) => {{ const given = JSON.parse(text); {code} }}", json.dumps(argument))


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
def modules(browser):
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    folder = resources.files("visualize")

    def serve(route, request):
        name = request.url.removeprefix(HOME) or "index.html"
        body = "<!doctype html><title>modules</title>" if name == "index.html" else (folder / name).read_bytes()
        route.fulfill(body=body, content_type=TYPES[name.rsplit(".", 1)[-1]])

    page.route(f"{HOME}**", serve)
    page.goto(HOME)
    yield Modules(page)
    page.context.close()
