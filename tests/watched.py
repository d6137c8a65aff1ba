"""Watches a page of a browser."""

SETTLED = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    await frame();
    const fading = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.all(fading.map((one) => one.finished.catch(() => null)));
    await frame();
}"""


def settle(page) -> None:
    """Wait until a change is drawn: observers of sizes have been heard, and colours have faded over."""
    page.evaluate(SETTLED)


class Watched:
    """A page, the addresses it asked for, its errors (dialogs count: nothing here opens one)."""

    def __init__(self, page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.errors: list[str] = []
        self._listeners = {
            "request": lambda request: self.asked.append(request.url),
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": lambda line: self.errors.append(line.text) if line.type == "error" else None,
            "dialog": lambda dialog: (self.errors.append("dialog"), dialog.dismiss()),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def look_away(self) -> None:
        """Note nothing more: the page is somebody else's from now on."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
