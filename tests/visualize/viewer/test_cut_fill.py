"""Cut and fill: the reader drags the small model's bars; what is kept shrinks, and the outlines stay full."""

import re

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import show_view, viewer
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of

LAYER = scene_of("toy").iterations[1].layers[0]
HEIGHTS = """() => [...document.querySelectorAll(".dsbd-cut-field")].map((field) =>
  ["outline", "kept", "filled"].map((kind) => {
    const part = field.querySelector(`.dsbd-cut-${kind}`);
    return part.hidden ? 0 : parseFloat(part.style.height);
  }))"""


def kept(page) -> float:
    return float(re.search(r"\d(\.\d+)?", page.inner_text(".dsbd-cut-said")).group())


def require_full(heights) -> None:
    assert all(abs(outline - green - amber) < 1e-3 for outline, green, amber in heights)


@pytest.mark.slow
def test_a_worse_small_model_shrinks_the_green_and_moves_no_outline(page):
    """Catches a bar that moves an outline, a gap that stays open, and a slider whose picture does not follow."""
    page.click(".dsbd-why")
    expect(page.locator(".dsbd-cut-field")).to_have_count(len(LAYER.record.alternatives) + 1)
    expect(page.locator(".dsbd-cut")).to_contain_text(f"How many are kept here ({LAYER.width}) is chosen")
    recorded, before = page.evaluate(HEIGHTS), kept(page)
    require_full(recorded)
    worst = max(range(len(recorded)), key=lambda at: recorded[at][0])
    slider = page.locator(".dsbd-cut input").nth(worst)
    slider.focus()
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "0")
    dragged = page.evaluate(HEIGHTS)
    require_full(dragged)
    assert [column[0] for column in dragged] == [column[0] for column in recorded]
    assert dragged[worst][1] == 0
    assert kept(page) < before
    box = page.locator(".dsbd-cut-field").nth(worst).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.5)
    require_full(page.evaluate(HEIGHTS))
    assert page.evaluate(HEIGHTS)[worst][1] > 0, "the bar follows the pointer too"
    page.click(".dsbd-cut-reset")
    assert page.evaluate(HEIGHTS) == recorded


@pytest.mark.slow
def test_tokens_are_text_and_other_laws_have_no_picture(browser, tmp_path):
    """Catches a token that becomes markup in a column, and a promise for a method that keeps no law."""
    for name, is_there in (("nasty", True), ("joint", False)):
        trace = nasty_trace() if name == "nasty" else toy_trace(name)
        visualize.export_html(trace, tmp_path / "page.html")
        with viewer(browser, tmp_path / "page.html") as seen:
            show_view(seen.page, "text")
            if is_there:
                show_view(seen.page, "cut")
                expect(seen.page.locator(".dsbd-cut-name").first).to_be_visible()
                expect(seen.page.locator(".dsbd-cut-name *")).to_have_count(0)
            else:
                expect(seen.page.locator(".dsbd-why")).to_be_hidden()
                expect(seen.page.locator(".dsbd-view option[value=cut]")).to_be_disabled()
            seen.quiet()
