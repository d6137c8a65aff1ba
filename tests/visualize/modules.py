"""Two ways to run code against the viewer's source files: under node, in milliseconds, and in a browser.

The code is the body of an async JavaScript function. ``given`` is its argument, and ``await load("law/audit.js")``
imports a source file. Both ways take the same code and return the same values.
"""

import json
import subprocess
from importlib import resources
from pathlib import Path

RUNNER = Path(__file__).with_name("run_modules.js")
HOME = "http://viewer.test/"
TYPES = {"js": "text/javascript", "json": "application/json", "html": "text/html"}


class UnderNode:
    """One node process that answers request after request."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            ["node", "--no-warnings", str(RUNNER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def run(self, code: str, given: object = None) -> object:
        """Return the value of the code. Raises: AssertionError with the stack if it throws."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"code": code, "given": given}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "node ended"}')
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


class InBrowser:
    """An empty page that has the source files as modules; nothing is asked of the network."""

    def __init__(self, browser) -> None:
        self.page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        self.page.route(f"{HOME}**", self._serve)
        self.page.goto(HOME)

    def _serve(self, route, request) -> None:
        name = request.url.removeprefix(HOME) or "index.html"
        page = b"<!doctype html><title>modules</title>"
        body = page if name == "index.html" else (resources.files("visualize") / name).read_bytes()
        route.fulfill(body=body, content_type=TYPES[name.rsplit(".", 1)[-1]])

    def run(self, code: str, given: object = None) -> object:
        """Return the value of the code."""
        load = "const load = (name) => import(`/viewer/${name}`);"
        return self.page.evaluate(
            f"async (text) => {{ const given = JSON.parse(text); {load} {code} }}", json.dumps(given)
        )

    def close(self) -> None:
        """Close the page."""
        self.page.context.close()
