"""A visitor of the page, in a browser."""

import re

from tests.axe import named, violations
from tests.watched import Watched, settle

PATIENCE = 90_000
"""Milliseconds; a machine may be busy."""
SIZE = {"width": 1280, "height": 900}
HERE = re.compile(r"(http://(127\.0\.0\.1|localhost):|data:|blob:)")
REFUSED = re.compile(r"Failed to load resource: the server responded with a status of (413|429|503)\b")
MOST_IDLE = 3
_idle: dict = {}
"""By browser, pages that wait for their next visitor, each in a separate context, which has kept Gradio's files: a
fresh context fetches and compiles megabytes of scripts."""


class Visit(Watched):
    """One visitor's page.

    An earlier visitor may have left it (see ``leave``): nothing is then left of that visit but the files that the
    browser keeps. A page with a fault is never used again.
    """

    def __init__(
        self, browser, address: str, *, color_scheme: str = "light", reduced_motion: str = "no-preference"
    ) -> None:
        self._idle = _idle.setdefault(browser, [])
        super().__init__(self._idle.pop() if self._idle else browser.new_context().new_page())
        self.page.set_default_timeout(PATIENCE)
        self.page.set_viewport_size(SIZE)
        self.page.emulate_media(media="null", color_scheme=color_scheme, reduced_motion=reduced_motion)
        self.page.goto(address)
        self.page.wait_for_selector("#forest .dsbd-node")

    def leave(self) -> None:
        """End the visit, as a visitor who closes the page: its connections break. Call it once."""
        self.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        self.look_away()
        if self.faults or len(self._idle) == MOST_IDLE:
            self.page.context.close()
            return
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.page.context.clear_cookies()
        self._idle.append(self.page)

    @property
    def elsewhere(self) -> list[str]:
        """The addresses of other machines that the page asked for."""
        return [url for url in self.asked if not HERE.match(url)]

    @property
    def faults(self) -> list[str]:
        """The errors without the lines that a browser writes of each request that was refused."""
        return [error for error in self.errors if not REFUSED.match(error)]

    def open_drawer(self) -> None:
        if self.page.get_attribute(".drawer-switch", "aria-expanded") == "false":
            self.page.click(".drawer-switch")

    def close_drawer(self) -> None:
        if self.page.get_attribute(".drawer-switch", "aria-expanded") == "true":
            self.page.click(".drawer-close")

    def open_share(self) -> None:
        self.close_drawer()
        if not self.page.is_visible("#share"):
            self.page.click("#sharing > button")

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


def require_clean(visit: Visit) -> None:
    """axe-core finds nothing, light and dark; a narrow page does not scroll sideways; then all is as it was."""
    visit.page.set_viewport_size({"width": 390, "height": 800})
    settle(visit.page)
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
    visit.page.set_viewport_size(SIZE)
    for is_other_theme in (False, True):
        assert named(violations(visit.page, colours_only=is_other_theme)) == []
        visit.page.click(".theme-switch")
