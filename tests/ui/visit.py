"""A visitor of the page, in a browser."""

import re

from tests.watched import Watched

PATIENCE = 90_000
"""Milliseconds; a machine may be busy."""


class Visit(Watched):
    """One visitor's page."""

    def __init__(self, browser, address: str, **context) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **context)
        super().__init__(self.context.new_page())
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(address)
        self.page.wait_for_selector("#forest .dsbd-node")

    def open_drawer(self) -> None:
        if self.page.get_attribute(".drawer-switch", "aria-expanded") == "false":
            self.page.click(".drawer-switch")

    def close_drawer(self) -> None:
        if self.page.get_attribute(".drawer-switch", "aria-expanded") == "true":
            self.page.click(".drawer-close")

    def choose(self, field: str, option: str) -> None:
        """Choose of a list in the drawer."""
        self.open_drawer()
        self.choose_of(field, option)

    def choose_of(self, field: str, option: str) -> None:
        """Choose of a list that can be seen."""
        self.page.click(f"#{field} input")
        self.page.get_by_role("option", name=option, exact=True).click()

    def set_field(self, name: str, value: str) -> None:
        self.open_drawer()
        self.page.fill(f"#field-{name} input[type=number]", value)
        self.page.keyboard.press("Tab")

    def run(self, prompt: str) -> None:
        self.close_drawer()
        self.page.fill("#prompt textarea", prompt)
        self.page.click("#run")

    def wait_for(self, where: str, pattern: str) -> str:
        found = self.page.locator(where).filter(has_text=re.compile(pattern))
        found.wait_for()
        return found.inner_text()
