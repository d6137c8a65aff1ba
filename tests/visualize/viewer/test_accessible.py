"""Accessibility: axe-core finds nothing serious in any view, theme or language, and everything goes by keyboard."""

import json

import pytest

from tests.visualize.homes import viewer

pytestmark = pytest.mark.slow

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="runs wherever axe-playwright-python is")
VIEWS = ("text", "whatif", "mask", "slots", "charts", "layers", "tree", "table", "result")


def serious(page) -> list[str]:
    """Violations that axe-core calls serious or critical, with the elements they are about."""
    found = axe.Axe().run(page, context=".dsbd").response["violations"]
    return [
        f"{one['id']}: {json.dumps([node['target'] for node in one['nodes']][:4])}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_any_view(page, scheme):
    page.emulate_media(color_scheme=scheme)
    page.wait_for_selector(f".dsbd[data-theme={scheme}]")
    for view in VIEWS:
        page.click(f"[data-tab={view}]")
        page.wait_for_timeout(60)
        assert serious(page) == [], view


@pytest.mark.parametrize(("language", "width"), [("ar", 1280), ("ar", 400), ("de", 400)])
def test_axe_finds_nothing_serious_in_other_languages_and_on_narrow_pages(page, language, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.select_option(".dsbd-language", language)
    page.wait_for_timeout(60)
    assert serious(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_everything_interactive_is_reached_by_keyboard_and_shows_its_focus(page):
    """A control that cannot be tabbed to, or whose focus cannot be seen, is lost to keyboard users."""
    reached = set()
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
    for name in ("dsbd-play", "dsbd-language", "dsbd-card", "dsbd-tab", "dsbd-scroller"):
        assert any(name in one for one in reached), name


def test_tabs_turn_by_arrows_and_the_drawing_has_words(page):
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("[data-tab=whatif]", "aria-selected") == "true"
    assert page.evaluate("() => document.activeElement.dataset.tab") == "whatif"
    page.wait_for_url("**#it=1&step=8&layer=1")  # the arrow turned the tab and not the step
    told = page.get_attribute(".dsbd-forest", "aria-label")
    assert told.startswith("Forest of iteration 2: ")
    assert " drafted" in told
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
