"""Eight visitors at once: each gets the text of its own prompt, and nobody an error."""

import re
import time
from dataclasses import replace

import pytest

import dsbd
from tests.toy_pair import toy_pair
from tests.ui.visit import PATIENCE, Visit
from tests.visualize.toy import toy_trace
from ui.asked.form import settings_of, values_of
from ui.decodes.recording import Recording
from ui.decodes.running_text import running_text

pytestmark = pytest.mark.slow

VISITORS = 8
PROMPTS = [f"Visitor {place} asks" for place in range(VISITORS)]
TOKENS = 12
HERE = re.compile(r"(http://(127\.0\.0\.1|localhost):|data:|blob:)")


def alone(prompt: str) -> str:
    """What the decode of this prompt writes where nobody else is, without spaces."""
    settings = replace(settings_of(toy_trace().settings.method, values_of(toy_trace().settings)), max_new_tokens=TOKENS)
    shown = running_text(Recording(dsbd.decode(toy_pair(), prompt, settings, record=True).trace))
    return "".join(f"{shown.prompt}{''.join(token.text for token in shown.tokens)}".split())


def text_of(visit: Visit, expected: str) -> str:
    """The text that the visitor sees, without spaces, as soon as it is the expected one; else what it is at the end."""
    end = time.monotonic() + PATIENCE / 1000
    while True:
        shown = "".join(visit.page.text_content(".running-line").removesuffix("∎").split())
        if shown == expected or time.monotonic() > end:
            return shown
        visit.page.wait_for_timeout(100)


def test_each_of_eight_visitors_ends_with_its_own_text(browser, address, engine):
    """Catches decodes, frames or lists of decodes that go to another visitor."""
    visits: list[Visit] = []
    for place in range(VISITORS):
        visits.append(Visit(browser, address, reduced_motion="reduce", beside=visits[-1] if place % 2 else None))
    try:
        for visit in visits:
            visit.set_field("max_new_tokens", str(TOKENS))
        engine.hold(at=2)
        for place, (visit, prompt) in enumerate(zip(visits, PROMPTS, strict=True)):
            visit.run(prompt)
            visit.wait_for("#note", rf"{place} runs? (is|are) before yours" if place else r"iteration \d")
        engine.release()
        engine.pace_seconds = 0.05
        texts = [alone(prompt) for prompt in PROMPTS]
        for visit, prompt, text in zip(visits, PROMPTS, texts, strict=True):
            assert "queue" not in visit.wait_for("#note", "Decoded in")
            visit.page.wait_for_function("document.querySelector('#shown input').value.startsWith('Your run 1')")
            assert prompt in visit.page.input_value("#shown input")
            assert text_of(visit, text) == text
            assert visit.page.inner_text("#problem") == ""
            visit.page.wait_for_selector("#run")
        assert [visit.errors for visit in visits] == [[]] * VISITORS
        assert [url for visit in visits for url in visit.asked if not HERE.match(url)] == []
    finally:
        engine.release()
        for visit in reversed(visits):
            visit.leave()
