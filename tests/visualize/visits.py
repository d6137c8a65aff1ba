"""Opens pages in a browser, and records what they load and their errors."""

import functools
import http.server
import threading
from contextlib import closing, contextmanager
from pathlib import Path

from tests.watched import Watched

DRAWN = ".dsbd-forest .dsbd-node:not([hidden])"


class Visit(Watched):
    """A page with a viewer."""

    @property
    def sentence(self) -> str:
        """Return the sentence of the current step."""
        return self.page.inner_text(".dsbd-sentence")

    @property
    def step(self) -> int:
        """Return the current step, from 0."""
        return int(self.page.inner_text(".dsbd-count-step").split(" ")[0]) - 1

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        for key in keys:
            self.page.keyboard.press(key)

    def drawn(self, count: int = 1):
        """Wait until ``count`` frames have drawn a viewer; return these frames."""
        for _ in range(300):
            frames = [frame for frame in self.page.frames if frame.query_selector(DRAWN)]
            if len(frames) >= count:
                return frames
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{len(frames)} of {count} viewers drawn; errors: {self.errors}")

    def is_quiet(self) -> None:
        """Check that no token ran as code, nothing failed, and nothing was loaded from elsewhere."""
        assert self.errors == []
        assert [url for url in self.urls if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


@contextmanager
def visit(browser, path: Path | str, fragment: str = "", *, viewport: dict | None = None, **context):
    """Open a file or a URL in a browser context of its own, which ``context`` configures."""
    with closing(browser.new_context(viewport=viewport or {"width": 1280, "height": 900}, **context)) as opened:
        visitor = Visit(opened.new_page())
        visitor.page.goto((path.as_uri() if isinstance(path, Path) else path) + fragment)
        yield visitor


@contextmanager
def viewer(browser, path: Path | str, fragment: str = "", **context):
    """Open a page with one viewer, and wait until it is drawn."""
    with visit(browser, path, fragment, **context) as visitor:
        visitor.page.wait_for_selector(DRAWN)
        yield visitor


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path):
    """Serve a folder; yield its URL."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


def pass_of(page) -> int:
    """Return the pass that is shown, from 1."""
    return int(page.get_attribute(".dsbd-lanes-room", "aria-valuenow"))


def show_view(page, key: str) -> None:
    """Open one of the linked views, if it is not open."""
    if page.get_attribute(f"[data-view={key}]", "aria-expanded") == "false":
        page.click(f"[data-view={key}]")


def hostile_marks(frame) -> int:
    """Count the elements of a viewer that only the text of a token could have made."""
    hostile = ".dsbd img, .dsbd script, .dsbd a[href^=javascript], .dsbd b b"
    return frame.locator(hostile).count()
