"""The first paint: a picture in the page itself, of escaped text, and every other answer as it was."""

from dataclasses import replace

import httpx
import pytest

from dsbd.tracing.records import Prompt
from tests.visualize.toy import toy_trace
from ui.decodes.first_paint import first_paint
from ui.decodes.recording import Recording

PATIENCE_SECONDS = 60


def test_the_page_holds_a_forest_before_any_script(address):
    """Catches a page that is empty until its scripts have run, and a length that is not the body's."""
    answer = httpx.get(address, timeout=PATIENCE_SECONDS)
    before, _, after = answer.text.partition("<gradio-app")
    painted = before.partition('id="first-paint"')[2]
    assert painted.count("<svg") == 3
    assert 'class="first-strip"' in painted
    assert "once upon a" in painted
    assert "</html>" in after
    assert int(answer.headers["content-length"]) == len(answer.content)


def test_other_answers_pass_as_they_are(address):
    assert httpx.get(f"{address}config", timeout=PATIENCE_SECONDS).json()["title"]
    assert "first-paint" not in httpx.get(f"{address}gradio_api/info", timeout=PATIENCE_SECONDS).text


def test_text_of_a_recording_is_escaped():
    plain = toy_trace()
    hostile = "<img src=x onerror=alert(1)></style>"
    nodes = [replace(node, bytes=hostile.encode().hex()) for node in plain.iterations[0].nodes]
    iterations = [replace(plain.iterations[0], nodes=nodes)]
    recording = Recording(replace(plain, prompt=Prompt(hostile, []), iterations=iterations, result=None))
    markup = first_paint(recording, recording.prompt, "", 'page.js?"')
    assert "onerror" in markup
    assert "<img" not in markup
    assert markup.count("</style>") == 1
    assert '?"' not in markup


def test_without_a_recording_there_is_no_picture():
    assert "first-paint" not in first_paint(None, "Once", "", "page.js")


@pytest.mark.slow
def test_the_forest_stays_where_its_picture_stood(browser, address):
    """Catches a row or a strip that pushes the forest away when the viewer takes over."""
    places = []
    for with_scripts, forest in ((False, ".first-light svg"), (True, "#forest .dsbd-scroller")):
        context = browser.new_context(viewport={"width": 1280, "height": 800}, java_script_enabled=with_scripts)
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector(forest, timeout=90_000)
        page.wait_for_selector("#first-paint", state="detached" if with_scripts else "attached", timeout=90_000)
        places.append(page.evaluate("(name) => document.querySelector(name).getBoundingClientRect().top", forest))
        context.close()
    assert abs(places[0] - places[1]) < 4
