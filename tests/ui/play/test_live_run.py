"""A decode in the visitor's own browser: what the server tells about the form, and what the page does without it."""

import json

import pytest
from playwright.sync_api import expect

from ui.asked.form import DEFAULTS, values_of
from ui.pairs.shelf import PAGE
from ui.play.live_run import tell


def told(engine, prompt: str, method: str = "dsbd", pair: str = PAGE) -> dict:
    return json.loads(tell(engine, pair, prompt, method, *values_of(DEFAULTS)))


def test_the_form_is_told_as_settings_that_a_browser_reads(engine):
    """Catches settings that only Python has, and a pair that no browser gets."""
    found = told(engine, "Once", pair="bundled:sql")
    assert (found["prompt"], found["pair"], found["settings"]["method"]) == ("Once", "sql", "dsbd")
    assert found["settings"]["draft_depth"] == DEFAULTS.draft_depth
    assert "branching" not in found["settings"]
    assert told(engine, "Once")["pair"] == ""  # the page's own models are no bundled ones


@pytest.mark.parametrize(
    ("prompt", "method", "said"), [("  ", "dsbd", "blank"), ("Once", "specinfer", "does not run in a browser")]
)
def test_what_a_browser_cannot_decode_is_a_sentence(engine, prompt, method, said):
    assert said in told(engine, prompt, method)["error"]


@pytest.mark.slow
def test_the_page_says_why_its_own_models_stay_on_the_server(visit):
    """Catches a button that does nothing, with the server and without it."""
    said = visit.page.locator("#live [role=status]")
    visit.page.click("#live button")
    expect(said).to_contain_text("A browser decodes with the bundled pairs for stories and for SQL only")
    visit.page.evaluate("document.dispatchEvent(new Event('dsbd-no-place'))")
    expect(said).to_contain_text("Your own browser can decode it")
