"""Opening a page of any home, with what it asked for and what went wrong in it."""

from contextlib import contextmanager
from pathlib import Path


class Visit:
    """A page, the addresses it asked for, its errors (dialogs count: nothing here opens one)."""

    def __init__(self, page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.on("dialog", lambda dialog: (self.errors.append("dialog"), dialog.dismiss()))

    @property
    def outside(self) -> list[str]:
        """Requests that left the machine's files."""
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:", "about:"))]

    def drawn(self, count: int = 1):
        """The frames that hold a viewer with its drawing, once there are ``count``."""
        for _ in range(300):
            frames = [
                frame for frame in self.page.frames if frame.query_selector(".dsbd-forest .dsbd-node:not([hidden])")
            ]
            if len(frames) >= count:
                return frames
            self.page.wait_for_timeout(100)
        raise AssertionError(f"{len(frames)} of {count} viewers drawn; errors: {self.errors}")

    def quiet(self) -> None:
        """Nothing executed, nothing failed, nothing asked for from outside."""
        assert self.errors == []
        assert self.outside == []


@contextmanager
def visit(browser, path: Path | str, fragment: str = "", **context):
    """Open a file (or an address) in a page of its own."""
    opened = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
    try:
        seen = Visit(opened.new_page())
        seen.page.goto((path.as_uri() if isinstance(path, Path) else path) + fragment)
        yield seen
    finally:
        opened.close()


def hostile_marks(frame) -> int:
    """Elements below a viewer that only a token's text could have made."""
    return frame.evaluate(
        "() => document.querySelectorAll('.dsbd img, .dsbd script, .dsbd a[href^=javascript], .dsbd b b').length"
    )
