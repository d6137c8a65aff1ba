"""The Learn tab: lessons and recordings as pages of this server, with no model, and the texts to embed them."""

import re
from contextlib import closing

import httpx
import pytest
from ui.asked.form import FIELDS
from ui.decodes.history import LESSON
from ui.pairs.shelf import PAGE
from ui.runs.around import KEEP

from dsbd.assets import asset_path
from dsbd.tracing.trace import Trace
from tests.ui.served import PATIENCE_SECONDS
from tests.ui.visit import PATIENCE
from ui.learn import tab as learn

pytestmark = pytest.mark.usefixtures("places")


def test_lessons_ask_only_for_settings_that_the_page_has():
    """Catches an exercise beyond the end of a slider."""
    asked = 0
    for field in FIELDS:
        for path in asset_path("lessons").glob("*.md"):
            text = path.read_text(encoding="utf-8")
            for found in re.finditer(rf"\*{field.label.lower()}\*((?:[\sa-z,>]*\d+(?:\.\d+)?)+)", text):
                numbers = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", found[1])]
                assert all(field.low <= number <= field.high for number in numbers), (path.name, found[0])
                asked += len(numbers)
    assert asked >= 4


@pytest.mark.parametrize("page", ["../../etc/passwd", {}])
def test_what_is_no_lesson_is_never_shown(page, engine):
    assert learn.stage(page) == '<p class="said">There is no such lesson or recording.</p>'
    assert learn.snippet(page, "iframe", None) == ""
    frame = learn.open_in_play(engine, PAGE, page)
    assert "no such lesson" in frame.problem
    assert frame.recording == KEEP


def test_a_snippet_names_the_page_where_it_is():
    lesson = "lessons/1-speculative-decoding.html"
    for kind in learn.KINDS.keys() - {"jupyter"}:
        text = learn.snippet(lesson, kind, "https://school.test/dsbd/?prompt=x#y")
        assert f"https://school.test/dsbd/gradio_api/dsbd/learn/{lesson}" in text
        assert "prompt=x" not in text
    for address in (None, "", "javascript:alert(1)", "http://[", "http://a b/", "file:///etc"):
        assert "https://example.org/gradio_api/dsbd/learn/" in learn.snippet(lesson, "iframe", address)
    for kind in ("pdf", {}):
        assert learn.snippet(lesson, kind, None) == ""


def test_a_lesson_is_shown_in_play(engine, places):
    """Catches a button that shows another decode than the one that stands there."""
    place = places[3]
    frame = learn.open_in_play(engine, PAGE, place.page)
    assert frame.recording.trace == Trace.load(place.trace)
    assert frame.news == (LESSON, frame.recording)
    assert place.title in frame.note


@pytest.mark.slow
def test_the_pages_are_served_in_the_headers_of_this_server(address):
    """Catches a route that hands out other files, and a page that its headers forbid."""
    with httpx.Client(base_url=f"{address}gradio_api/dsbd/learn/", timeout=PATIENCE_SECONDS) as site:
        lesson = site.get("lessons/1-speculative-decoding.html")
        assert lesson.status_code == 200
        assert "default-src 'self'" in lesson.headers["content-security-policy"]
        for file in ("../viewer/style.css", "../viewer/viewer.js", "../viewer/plotly.min.js"):
            assert file in lesson.text
            assert site.get(file.removeprefix("../")).status_code == 200
        whole = site.get("whole/1-speculative-decoding.html")
        assert whole.headers["content-disposition"].startswith("attachment")
        assert 'src="http' not in whole.text
        assert site.get("forests/toy-story.json.gz").status_code == 200
        for wrong in ("whole/x.html", "lessons/none.html", "..%2f..%2fetc%2fpasswd", "%2e%2e/index.html"):
            assert site.get(wrong).status_code in (404, 400)


@pytest.mark.slow
def test_what_is_pasted_shows_the_lesson(browser, address, tmp_path):
    """Catches a frame that the browser refuses in a file of somebody else."""
    lesson = "lessons/1-speculative-decoding.html"
    with closing(browser.new_context()) as context:
        pasted = tmp_path / "pasted.html"
        pasted.write_text(f"<!doctype html>{learn.snippet(lesson, 'iframe', address)}", encoding="utf-8")
        page = context.new_page()
        page.goto(pasted.as_uri())
        page.frame_locator("iframe").locator(".dsbd-node").first.wait_for(timeout=PATIENCE)
        assert page.frame_locator("iframe").locator("h1").inner_text() == "Guess and check"
