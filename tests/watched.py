"""Watches a page of a browser."""


class Watched:
    """A page, the addresses it asked for, its errors (dialogs count: nothing here opens one)."""

    def __init__(self, page) -> None:
        self.page = page
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.on("dialog", lambda dialog: (self.errors.append("dialog"), dialog.dismiss()))
