"""Cut and fill: the reader drags the small model's bars; what is kept shrinks, and the outlines stay full."""

import re

import pytest
from playwright.sync_api import expect

from tests.visualize.traces import scene_of

LAYER = scene_of("toy").iterations[1].layers[0]
HEIGHTS = """() => [...document.querySelectorAll(".dsbd-cut-field")].map((field) =>
  ["outline", "kept", "filled"].map((kind) => {
    const part = field.querySelector(`.dsbd-cut-${kind}`);
    return part.hidden ? 0 : parseFloat(part.style.height);
  }))"""

NOTES_HIT = """() => [...document.querySelectorAll(".dsbd-cut-field")].flatMap((field) => {
  const [note, off] = ["note", "off"].map((kind) => field.querySelector(`.dsbd-cut-${kind}`).getBoundingClientRect());
  return off.height && note.height && note.bottom > off.top + 1 ? [note.bottom - off.top] : [];
})"""


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
    assert page.evaluate(NOTES_HIT) == []
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
