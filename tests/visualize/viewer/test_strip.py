"""The strip: the whole decode above the forest, and the way from it to a pass."""

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import viewer
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.words.words import Words

SCENE = scene_of("toy")
WHOLE = SCENE.whole
PHONE = {"viewport": {"width": 390, "height": 844}}


def value(page) -> tuple[str, str]:
    strip = page.locator(".dsbd-strip")
    return strip.get_attribute("aria-valuenow"), strip.get_attribute("aria-valuetext")


def shown(page) -> int:
    return int(page.input_value("[aria-label=Pass]")) - 1


def test_a_band_a_key_and_a_mark_go_to_their_pass(page):
    """Catches a click that opens the pass beside the one meant, and a mark of the pass that lags behind."""
    bands = page.locator(".dsbd-strip-band")
    expect(bands).to_have_count(len(WHOLE.bands))
    title = f"{len(WHOLE.bands)} passes of the large model instead of {WHOLE.tokens}"
    assert page.inner_text(".dsbd-strip-head b") == title
    page.locator(".dsbd-strip-band >> nth=3").click(position={"x": 5, "y": 105})
    band = WHOLE.bands[3]
    assert shown(page) == 3
    expect(page.locator(".dsbd-node:not([hidden])")).to_have_count(len(SCENE.iterations[3].nodes))  # no empty columns
    expect(page.locator(".dsbd-strip-band.dsbd-current")).to_have_count(1)
    assert bands.nth(3).get_attribute("class").endswith("dsbd-current")
    assert value(page) == ("4", f"Pass 4: {band.last - band.first + 1} tokens")
    page.focus(".dsbd-strip")
    for key, place in (("ArrowRight", 4), ("End", len(WHOLE.bands) - 1), ("ArrowRight", len(WHOLE.bands) - 1),
                       ("Home", 0), ("ArrowUp", 1), ("ArrowLeft", 0)):  # fmt: skip
        page.keyboard.press(key)
        assert (shown(page), value(page)[0]) == (place, str(place + 1))
    chosen = next(node for node in WHOLE.nodes if node.row == WHOLE.last_row)
    place = page.evaluate("""([position, row, last]) => {
        const sheet = document.querySelector(".dsbd-strip-sheet").getBoundingClientRect();
        const line = document.querySelector(".dsbd-strip-line").getAttribute("d");
        const [from, top, to] = line.match(/[\\d.]+/g).map(Number);
        const tall = Math.min(8, (sheet.height - top - 8) / last);
        return [sheet.x + from + (to - from) * position / given_tokens, sheet.y + top + row * tall];
    }""".replace("given_tokens", str(WHOLE.tokens)), [chosen.position, chosen.row, WHOLE.last_row])  # fmt: skip
    page.mouse.click(*place)
    opened = next(at for at, band in enumerate(WHOLE.bands) if band.iteration == chosen.iteration)
    assert shown(page) == opened
    assert page.inner_text(".dsbd-card .dsbd-token").strip() == chosen.label


@pytest.mark.slow
@pytest.mark.parametrize("language", ["ar"])
def test_on_a_phone_the_strip_scrolls_to_the_pass_and_speaks_the_language(browser, tmp_path, language):
    """Catches a strip that runs backwards where text does, one that widens the page, and a pass left out of sight."""
    visualize.export_html(toy_trace("wider"), tmp_path / "page.html", language=language)
    with viewer(browser, tmp_path / "page.html", **PHONE) as seen:
        page = seen.page
        page.focus(".dsbd-strip")
        page.keyboard.press("End")
        inside = page.evaluate("""() => {
            const strip = document.querySelector(".dsbd-strip").getBoundingClientRect();
            const band = document.querySelector(".dsbd-strip-band.dsbd-current").getBoundingClientRect();
            return [band.left >= strip.left - 1, band.right <= strip.right + 1,
                    document.documentElement.scrollWidth <= innerWidth];
        }""")
        assert inside == [True, True, True]
        words = Words(language).table
        assert page.locator(".dsbd-strip").get_attribute("aria-label") == words["ui.strip"]
        seen.quiet()
