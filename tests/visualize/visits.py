"""Opens a page, and notes the addresses that it asks for and its errors."""

import functools
import http.server
import threading
from contextlib import closing, contextmanager
from pathlib import Path

from tests.watched import Watched


class Visit(Watched):
    """A page with a viewer."""

    @property
    def sentence(self) -> str:
        """Return the sentence of the step that is shown."""
        return self.page.inner_text(".dsbd-sentence")

    @property
    def step(self) -> int:
        """Return the step that is shown, from 0."""
        return int(self.page.inner_text(".dsbd-count-step").split(" ")[0]) - 1

    def drawn(self, count: int = 1):
        """Wait until ``count`` frames have a viewer with its drawing; return these frames."""
        for _ in range(300):
            frames = [
                frame for frame in self.page.frames if frame.query_selector(".dsbd-forest .dsbd-node:not([hidden])")
            ]
            if len(frames) >= count:
                return frames
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{len(frames)} of {count} viewers drawn; errors: {self.errors}")

    def quiet(self) -> None:
        """Check that no token ran as code, nothing failed, and nothing was loaded from outside."""
        assert self.errors == []
        assert [url for url in self.urls if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


@contextmanager
def visit(browser, path: Path | str, fragment: str = "", *, viewport: dict | None = None, **context):
    """Open a file (or an address) in a page of its own; ``context`` says what kind of browser has it."""
    opened = browser.new_context(viewport=viewport or {"width": 1280, "height": 900}, **context)
    with closing(opened):
        seen = Visit(opened.new_page())
        seen.page.goto((path.as_uri() if isinstance(path, Path) else path) + fragment)
        yield seen


@contextmanager
def viewer(browser, path: Path | str, fragment: str = "", **context):
    """Open the page of one viewer and wait for its drawing."""
    with visit(browser, path, fragment, **context) as seen:
        seen.page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])")
        yield seen


@contextmanager
def served(folder: Path):
    """Serve a folder with the simplest server; yield its address."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def unfold(page) -> None:
    """Open the fold of a viewer that holds the views."""
    page.evaluate("() => { document.querySelector('.dsbd-more').open = true; }")


def show_view(page, key: str) -> None:
    """Open one of the linked views, as the menu does."""
    unfold(page)
    page.select_option(".dsbd-view", key)


def hostile_marks(frame) -> int:
    """Count elements below a viewer that only a token's text could have made."""
    return frame.evaluate(
        "() => document.querySelectorAll('.dsbd img, .dsbd script, .dsbd a[href^=javascript], .dsbd b b').length"
    )
