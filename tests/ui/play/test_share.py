"""What is shared opens exactly where it was: a link, a page, two pictures."""

import io
import re

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.visualize.homes import viewer

pytestmark = pytest.mark.slow


def shared(visit, button: str) -> tuple[str, bytes]:
    """Press a button of the fold, and return the name of the file that comes, and the file."""
    visit.open_share()
    with visit.page.expect_download() as download:
        visit.page.click(button)
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_a_link_and_a_page_open_at_the_step_that_is_shown(visit, visits, browser, tmp_path):
    """Catches a link to the richest pass, and a page that begins at the beginning."""
    visit.run("Once upon")
    visit.wait_for("#note", "Decoded just now")
    visit.page.focus("#forest .dsbd")
    for key in ("PageUp", "PageUp", "PageUp", "Home", *["ArrowRight"] * 7):
        visit.page.keyboard.press(key)
    said = visit.page.inner_text("#forest .dsbd-sentence")
    name, page = shared(visit, "#document")
    assert name.endswith(".html")
    assert shared(visit, "#download")[0].endswith(".json.gz")
    (tmp_path / "page.html").write_bytes(page)
    with viewer(browser, tmp_path / "page.html") as seen:
        expect(seen.page.locator(".dsbd-sentence")).to_have_text(said)
        seen.quiet()
    visit.page.click("#share")
    visit.page.wait_for_url(re.compile(r"#iteration=\d+&step=8$"))
    other = visits(visit.page.url)
    other.wait_for("#note", "Decoded just now")
    expect(other.page.locator("#forest .dsbd-sentence")).to_have_text(said)


def test_pictures_are_as_large_as_previews_of_links(visit):
    """Catches a picture of nothing, and one of another size than the GIF."""
    visit.page.focus("#forest .dsbd")
    visit.page.keyboard.press("End")
    for button, kind in (("#picture", "PNG"), ("#gif", "GIF")):
        picture = Image.open(io.BytesIO(shared(visit, button)[1]))
        assert (picture.format, picture.size) == (kind, (1200, 630))
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 20
    expect(visit.page.locator("#forest .dsbd-lanes")).to_be_hidden()
