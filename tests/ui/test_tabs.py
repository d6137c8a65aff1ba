"""Learn and About in a browser, each on its main path; axe-core on every tab, light and dark."""

import pytest
from playwright.sync_api import expect

from tests.ui.visit import require_clean

pytestmark = pytest.mark.slow


@pytest.mark.usefixtures("places")
def test_learn_shows_lessons_recordings_and_the_text_to_embed_them(visit):
    """Catches a lesson whose frame stays empty, and a text to paste that is about another page."""
    page = visit.page
    page.get_by_role("tab", name="Learn").click()
    frame = page.frame_locator(".learn-frame")
    frame.locator("svg.dsbd-forest").first.wait_for()
    page.locator("#learn-lessons label").nth(1).click()
    page.wait_for_function("document.querySelector('.learn-frame').src.includes('/lessons/2-')")
    frame.locator("svg.dsbd-forest").first.wait_for()
    expect(frame.locator("h1")).to_have_count(1)
    page.get_by_role("button", name="Embed this").click()
    page.wait_for_function("document.querySelector('#learn-snippet textarea').value.includes('/lessons/2-')")
    visit.choose_of("learn-recordings", "Toy story")
    page.wait_for_function("document.querySelector('#learn-snippet textarea').value.includes('/forests/toy-story')")
    frame.locator("svg.dsbd-forest").first.wait_for()
    expect(page.locator("#learn-lessons input:checked")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as one HTML file").click()
    assert download.value.suggested_filename.endswith(".html")
    require_clean(visit)


def test_about_says_what_runs_here(visit):
    """Catches a fold that stays closed, and a limit or a model that is not named."""
    page = visit.page
    page.get_by_role("tab", name="About").click()
    about = page.locator(".about")
    about.locator(".about-picture svg:visible").first.wait_for()
    for summary in about.locator("details > summary").all():
        summary.click()
    words = about.inner_text()
    for word in ("toy/target", "toy/draft", "DSBD_MAX_NODES", "Model card", "picked by the large model", "Apache-2.0"):
        assert word in words
    assert "Dynamic-Width Speculative Beam Decoding" in page.input_value("#citation textarea")
    require_clean(visit)


def test_a_tab_has_an_address_and_escape_closes_what_is_open(visit, address):
    """Catches Back that leaves the site, a tab that nobody can link to, a list that takes the settings along, and a tab
    that a phone hides."""
    page = visit.page
    chosen = page.locator("#tabs [role=tab][aria-selected=true]")
    for name in ("Race", "About"):
        page.get_by_role("tab", name=name).click()
        expect(page).to_have_url(f"{address}#{name.lower()}")
    page.go_back()
    expect(chosen).to_have_text("Race")
    page.go_back()
    expect(chosen).to_have_text("Play")
    expect(page).to_have_url(address)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{address}#about")
    page.reload()
    expect(chosen).to_have_text("About")
    page.get_by_role("tab", name="Learn").click()
    page.get_by_role("tab", name="Play").click()
    visit.open_drawer()
    page.click("#method input")
    expect(page.locator("#drawer [role=listbox]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#drawer [role=listbox]")).to_have_count(0)
    expect(page.locator("#drawer")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_be_hidden()
