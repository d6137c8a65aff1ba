"""The first paint: a picture in the page itself, of escaped text, and every other answer as it was."""

from dataclasses import replace

import httpx
import pytest
from ui.decodes.first_paint import first_paint
from ui.decodes.recording import Recording

from dsbd.tracing.records import Prompt
from tests.visualize.toy import toy_trace

PATIENCE_SECONDS = 60


def test_the_page_holds_a_forest_before_any_script(address):
    """Catches a page that is empty until its scripts have run, and a length that is not the body's."""
    answer = httpx.get(address, timeout=PATIENCE_SECONDS)
    before, _, after = answer.text.partition("<gradio-app")
    painted = before.partition('id="first-paint"')[2]
    assert painted.count("<svg") == 2
    assert 'class="first-strip"' in painted
    assert "once upon a" in painted
    assert "</html>" in after
    assert int(answer.headers["content-length"]) == len(answer.content)


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
    assert "first-paint" not in first_paint(None, "Once", "", "page.js"), "without a recording"


@pytest.mark.slow
def test_the_forest_stays_where_its_picture_stood(browser, address):
    """Catches a row, a strip or a sentence that pushes the forest away, from the picture until the story is told."""
    visits = {}
    for size, motion in (((390, 844), "reduce"), ((1280, 800), "no-preference")):
        context = browser.new_context(viewport=dict(zip(("width", "height"), size, strict=True)), reduced_motion=motion)
        page = visits[size, motion] = context.new_page()
        page.set_default_timeout(90_000)
        page.add_init_script(WATCH_PLACES)
        page.goto(address, wait_until="commit")
    for (size, motion), page in visits.items():
        page.wait_for_selector("#forest .dsbd-node")
        if motion != "reduce":
            page.wait_for_selector("#forest .dsbd-waiting")  # the story was told
        page.wait_for_timeout(200)
        pictured, drawn, shifted = page.evaluate("[pictured, drawn, shifted]")
        assert len(pictured) == 1, (size, motion)
        assert max(drawn) - min(drawn) < 1, (size, motion, drawn)
        assert abs(pictured[0] - drawn[0]) < 1, (size, motion)
        assert shifted < 0.02, (size, motion)
        page.context.close()


WATCH_PLACES = """
globalThis.shifted = 0;
globalThis.pictured = [];
globalThis.drawn = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifted += entry.value;
}).observe({type: "layout-shift", buffered: true});
const note = (places, name) => {
  const y = document.querySelector(name)?.getBoundingClientRect().top;
  if (y !== undefined && places.at(-1) !== y) places.push(y);
};
const look = () => {
  if (document.querySelector("#first-paint")) note(pictured, "#first-paint .first-light > svg");
  else note(drawn, "#forest .dsbd-scroller");
  requestAnimationFrame(look);
};
addEventListener("DOMContentLoaded", look);
"""
"""Where the forest of the picture stood, then the viewer's, and what moved on the screen."""
