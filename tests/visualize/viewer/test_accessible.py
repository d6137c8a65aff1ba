"""Accessibility: axe-core finds nothing serious in any view, theme or language, and everything goes by keyboard."""

import pytest

from tests.axe import serious
from tests.visualize.homes import show_view, unfold, viewer

pytestmark = pytest.mark.slow

VIEWS = ("text", "cut", "mask", "charts", "tree", "table")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_any_view(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.wait_for_selector(f".dsbd[data-theme={scheme}]")
    for view in VIEWS:
        show_view(page, view)
        assert serious(page, ".dsbd", colours_only=scheme == "dark") == [], view
    page.click(".dsbd-turn")
    page.keyboard.press("Enter")
    assert serious(page, ".dsbd", colours_only=scheme == "dark") == [], "the game"


@pytest.mark.parametrize(("language", "width"), [("ar", 1280), ("ar", 400), ("de", 400)])
def test_axe_finds_nothing_serious_in_other_languages_and_on_narrow_pages(page, language, width):
    page.set_viewport_size({"width": width, "height": 800})
    unfold(page)
    page.select_option(".dsbd-language", language)
    assert serious(page, ".dsbd") == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_everything_interactive_is_reached_by_keyboard_and_shows_its_focus(page):
    """A control that cannot be tabbed to, or whose focus cannot be seen, is lost to keyboard users."""
    reached = set()
    unfold(page)
    page.focus(".dsbd")
    for _ in range(60):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            """() => { const at = document.activeElement; const css = getComputedStyle(at);
            return at === document.body ? null : [at.className || at.tagName, css.outlineStyle]; }"""
        )
        if seen is None:
            break
        reached.add(seen[0])
        assert seen[1] != "none", seen[0]
    for name in ("dsbd-play", "dsbd-phase", "dsbd-card", "dsbd-view", "dsbd-language", "dsbd-scroller"):
        assert any(name in one for one in reached), name


def test_the_menu_of_views_turns_by_arrows_and_the_drawing_has_words(page):
    unfold(page)
    before = page.url
    page.focus(".dsbd-view")
    page.keyboard.press("ArrowDown")
    assert page.is_visible(".dsbd-panel-cut")
    assert page.url == before  # the arrow turned the view and not the step
    told = page.get_attribute(".dsbd-forest", "aria-label")
    assert told.startswith("Forest of pass 2: ")
    assert " guess" in told
    page.focus(".dsbd")
    page.keyboard.press("End")
    assert page.get_attribute(".dsbd-forest", "aria-label") != told


def test_calm_readers_see_no_movement(browser, exported):
    with viewer(browser, exported, viewport={"width": 700, "height": 500}, reduced_motion="reduce") as seen:
        page = seen.page
        page.evaluate("() => { window.asked = []; Element.prototype.scrollTo = (how) => asked.push(how.behavior); }")
        page.focus(".dsbd")
        for _ in range(20):
            page.keyboard.press("ArrowRight")
        assert "smooth" not in page.evaluate("() => asked")


def test_print_shows_the_forest_whole_and_no_controls(page):
    page.emulate_media(media="print")
    assert not page.is_visible(".dsbd-controls")
    assert page.is_visible(".dsbd-forest")
    assert page.evaluate("() => getComputedStyle(document.querySelector('.dsbd-scroller')).overflowX") == "visible"
