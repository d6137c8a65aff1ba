"""Slides: the cards of a lesson one a screen, in type that can be read, with answers one key press later."""

import pytest
from playwright.sync_api import expect

import visualize
from dsbd.assets import asset_path
from tests.visualize.homes import visit

SHIPPED = sorted(asset_path("lessons").glob("*.md"))
SCREEN = {"width": 1280, "height": 720}
LEAST = 19.9
SMALL = """least => [...document.querySelectorAll(".lesson *")].filter((one) => !one.closest("svg, .dsbd-scroller")
  && one.checkVisibility({visibilityProperty: true})
  && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())).flatMap((one) => {
    let zoom = 1;
    for (let at = one; at; at = at.parentElement) zoom *= Number(getComputedStyle(at).zoom);
    const size = zoom * parseFloat(getComputedStyle(one).fontSize);
    return size < least ? [`${size} ${one.textContent}`] : [];
  })"""
CUT_OFF = """() => [...document.querySelectorAll(".cards")].filter((one) =>
  one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth).length"""
SHOWN = "article:not([hidden])"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slides")
    for path in SHIPPED:
        visualize.export_lesson(path, folder / f"{path.stem}.html")
    return folder


@pytest.mark.parametrize("name", [path.stem for path in SHIPPED])
@pytest.mark.slow
def test_every_slide_fits_and_can_be_read(name, browser, site):
    """Catches a card that is cut off or too small at the lower end of projectors."""
    with visit(browser, site / f"{name}.html", "#slides", viewport=SCREEN) as seen:
        page = seen.page
        page.wait_for_selector(".lesson.slides")
        count = page.locator("article").count()
        for at in range(count):
            expect(page.locator(".count")).to_have_text(f"Card {at + 1} of {count}")
            assert page.evaluate(SMALL, LEAST) == []
            assert page.evaluate(CUT_OFF) == 0
            if page.locator(f"{SHOWN} .options").count():
                assert page.locator(f"{SHOWN} .answer").is_hidden()
                page.keyboard.press("PageDown")
                assert page.locator(f"{SHOWN} .answer").is_visible()
                assert page.evaluate(CUT_OFF) == 0
            page.keyboard.press("PageDown")
        expect(page.locator(".count")).to_have_text(f"Card {count} of {count}")
        seen.quiet()


@pytest.mark.slow
def test_keys_and_buttons_turn_the_slides(browser, site):
    """Catches a clicker that steps the viewer, answers that a teacher's page shows at once, and slides without end."""
    with visit(browser, site / "1-speculative-decoding.html", "#card=6&teacher=1", viewport=SCREEN) as seen:
        page = seen.page
        seen.drawn()
        assert page.is_visible(f"{SHOWN} .answer")
        page.click("button.slides")
        assert page.url.endswith("#card=6&slides")
        assert page.locator(f"{SHOWN} .answer").is_hidden()
        before = seen.sentence
        page.focus(".dsbd-scroller")
        page.keyboard.press("ArrowRight")
        assert page.locator(f"{SHOWN} .answer").is_visible()
        assert page.inner_text(f"{SHOWN} .verdict") == ""
        assert seen.sentence != before
        page.keyboard.press("ArrowRight")
        page.keyboard.press("PageUp")
        expect(page.locator(".count")).to_have_text("Card 6 of 15")
        page.keyboard.press("f")
        page.wait_for_function("document.fullscreenElement")
        page.keyboard.press("f")
        page.wait_for_function("!document.fullscreenElement")
        page.keyboard.press("Escape")
        assert page.locator(".lesson.slides").count() == 0
        assert page.is_visible("button.slides")
        assert page.url.endswith("#card=6")
        seen.quiet()


@pytest.mark.slow
def test_slides_of_arabic_run_from_right_to_left(browser, tmp_path):
    text = SHIPPED[0].read_text(encoding="utf-8").replace("language: en", "language: ar")
    trace = asset_path("lessons") / "traces" / "1-speculative-decoding.json.gz"
    (tmp_path / "lesson.md").write_text(text.replace("traces/1-speculative-decoding", "t"), encoding="utf-8")
    (tmp_path / "t.json.gz").write_bytes(trace.read_bytes())
    visualize.export_lesson(tmp_path / "lesson.md", tmp_path / "lesson.html")
    with visit(browser, tmp_path / "lesson.html", "#card=3&slides", viewport=SCREEN) as seen:
        seen.drawn()
        seen.page.keyboard.press("ArrowLeft")
        assert "#card=4" in seen.page.url
        seen.page.keyboard.press("ArrowRight")
        assert "#card=3" in seen.page.url
        seen.quiet()
