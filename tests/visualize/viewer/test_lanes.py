"""The two lanes: the same text twice, alone and with guesses, on one clock that counts passes of the large model."""

import pytest
from PIL import Image
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import unfold, viewer
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.look.states import MARKS

SCENE = scene_of("toy")
PASSES, ALONE = len(SCENE.whole.bands), SCENE.whole.bands[-1].last
TEXT = "".join(toy_trace().result.text.split())
ROWS = ".dsbd-lanes g:not([hidden]) > .dsbd-lane-words"


def counts(page) -> list[str]:
    return page.locator(".dsbd-lane-count").all_text_contents()


def typed(page) -> str:
    """Both lanes' words, without the spaces that line ends take."""
    return "".join("".join(page.locator(ROWS).all_text_contents()).split())


def test_who_wants_no_movement_sees_the_end_until_the_first_input(browser, exported):
    """Catches lanes of two texts, a count that is not the recording's, words of the wrong writer, and a picture that
    stays in the way."""
    with viewer(browser, exported, reduced_motion="reduce") as seen:
        page, lanes = seen.page, seen.page.locator(".dsbd-lanes")
        expect(lanes).to_be_hidden()
        page.click(".dsbd-again")
        expect(lanes).to_be_visible()
        assert counts(page) == [f"{ALONE} passes", f"{PASSES} passes"]
        assert typed(page) == TEXT + TEXT
        for mark, states in (("kept", MARKS["kept"]), ("picked", MARKS["picked"])):
            written = sum(node.row == 0 and node.state in states for node in SCENE.whole.nodes)
            expect(page.locator(f".dsbd-lane-words ~ .dsbd-lane-{mark}")).to_have_count(written)
        assert page.locator("rect.dsbd-lane-pass").count() == ALONE + PASSES
        page.keyboard.press("ArrowRight")
        expect(lanes).to_be_hidden()
        page.click(".dsbd-again")
        page.click(".dsbd-play")
        expect(lanes).to_be_hidden()
        expect(page.locator(".dsbd-play")).to_have_attribute("aria-label", "Pause")
        seen.quiet()


@pytest.mark.slow
def test_they_play_once_and_turn_into_the_strip(page):
    """Catches a clock that never ends, and one that shows the end first."""
    before = page.inner_text(".dsbd-count-step")
    start = "() => { document.querySelector('.dsbd-again').click(); return document.querySelector('.dsbd-lane-count') }"
    assert page.evaluate(f"({start})().textContent") == f"0 passes / {ALONE}"
    expect(page.locator(".dsbd-lane-count").last).to_have_text(f"{PASSES} passes")
    expect(page.locator(".dsbd-lanes")).to_be_hidden(timeout=30_000)
    assert page.inner_text(".dsbd-count-step") == before, "the forest stays where the reader was"


@pytest.mark.slow
def test_they_are_saved_as_a_film(page):
    unfold(page)
    with page.expect_download() as download:
        page.click(".dsbd-film")
    assert download.value.suggested_filename == "dsbd-two-lanes.webm"
    content = download.value.path().read_bytes()
    assert content.startswith(b"\x1aE\xdf\xa3")  # EBML
    assert len(content) > 50_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "blocks", "joint"])
def test_nothing_is_offered_where_nothing_is_won_or_the_law_is_another(browser, tmp_path, name):
    """Catches a picture, a turn or an explanation for a method that does not keep the law, a view that can change
    nothing, and a decode without lanes that has no picture."""
    visualize.export_html(toy_trace(name), tmp_path / "page.html")
    with viewer(browser, tmp_path / "page.html") as seen:
        expect(seen.page.locator(".dsbd-again")).to_be_hidden()
        unfold(seen.page)
        expect(seen.page.locator(".dsbd-film")).to_be_hidden()
        assert "instead" not in seen.page.inner_text(".dsbd")
        for offer in (".dsbd-why", ".dsbd-turn"):
            expect(seen.page.locator(offer)).to_be_hidden()
        expect(seen.page.locator(".dsbd-view option[value=cut]")).to_be_disabled()
        with seen.page.expect_download() as waiting:
            seen.page.click(".dsbd-picture")
        assert len(Image.open(waiting.value.path()).convert("RGB").getcolors(1 << 24)) > 20
