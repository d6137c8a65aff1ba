"""Records what a page in a browser loads, and its errors."""

SETTLED = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    await frame();
    const fading = document.getAnimations().filter((one) => one instanceof CSSTransition);
    await Promise.all(fading.map((one) => one.finished.catch(() => null)));
    await frame();
}"""


def settle(page) -> None:
    """Wait until a change is drawn: size observers have run, and colour transitions have ended."""
    page.evaluate(SETTLED)


class Watched:
    """A page, the URLs it requested, and its errors. A dialog counts as one: nothing here opens any."""

    def __init__(self, page) -> None:
        self.page = page
        self.urls: list[str] = []
        self.errors: list[str] = []
        self._listeners = {
            "request": lambda request: self.urls.append(request.url),
            "pageerror": lambda error: self.errors.append(str(error)),
            "console": lambda line: self.errors.append(line.text) if line.type == "error" else None,
            "dialog": lambda dialog: (self.errors.append("dialog"), dialog.dismiss()),
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def stop(self) -> None:
        """Stop recording."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
