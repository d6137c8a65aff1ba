"""Be the large model: the reader decides each guess; the score says how often as the rule does."""

import pytest
from playwright.sync_api import expect

from tests.visualize.homes import viewer
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of

pytestmark = pytest.mark.slow

ITERATION = toy_trace().iterations[1]
DECIDED = [trial for trial in ITERATION.trials if trial.uniform is not None]
PLACES = [at for at, trial in enumerate(ITERATION.trials) if trial.uniform is not None]
TRIED = [at for at, step in enumerate(scene_of("toy").iterations[1].steps, 1) if step.phase == "trial"]
STEPS = [TRIED[place] for place in PLACES]
"""Where each verdict is shown, as addresses count."""


def test_right_answers_bring_what_was_recorded(page):
    """Catches a verdict that the forest shows before it is asked, and a game that a keyboard cannot play."""
    page.focus(".dsbd-turn")
    page.keyboard.press("Enter")
    said = page.locator(".dsbd-game-said")
    expect(page.locator(".dsbd-game").get_by_role("button", name="Play", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    for trial, step in zip(DECIDED, STEPS, strict=True):
        expect(page.locator(".dsbd-game-guess")).to_be_visible()
        page.wait_for_url(f"**&step={step - 1}*")
        page.get_by_role("button", name="Accept" if trial.verdict == "accepted" else "Reject", exact=True).focus()
        page.keyboard.press("Enter")
        expect(said).to_contain_text(f"Right: {trial.verdict}")
        page.wait_for_url(f"**&step={step}*")
        expect(page.get_by_role("button", name="Next", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
    expect(said.first).to_have_text(f"You decided {len(DECIDED)} of {len(DECIDED)} guesses as the rule does.")
    scores = page.locator(".dsbd-game .dsbd-bar b").all_inner_texts()
    assert scores[0] == str(len(ITERATION.layers))
    page.keyboard.press("Escape")
    expect(page.locator(".dsbd-game")).to_be_hidden()
    expect(page.locator(".dsbd-turn")).to_be_focused()


def test_a_wrong_answer_is_explained(page):
    page.click(".dsbd-turn")
    panel, said = page.locator(".dsbd-game"), page.locator(".dsbd-game-said")
    panel.get_by_role("button", name="Play", exact=True).click()
    for trial in DECIDED:
        panel.get_by_role("button", name="Accept", exact=True).click()
        if trial.verdict == "rejected":
            expect(said).to_contain_text("would no longer follow the large model")
        panel.get_by_role("button", name="Next", exact=True).click()
    expect(said.first).to_contain_text(f" of {len(DECIDED)} guesses")


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_forest_and_the_question_are_seen_together(browser, exported, size):
    """Catches a question that stands below the forest, covers the guess it asks about, or outlives its pass."""
    with viewer(browser, exported, "#iteration=2", viewport=dict(zip(("width", "height"), size, strict=True))) as seen:
        page = seen.page
        page.click(".dsbd-turn")
        page.keyboard.press("Enter")
        for name in ("Accept", "Next"):
            asked, shown = page.get_by_role("button", name=name, exact=True), page.locator(".dsbd-scroller")
            expect(asked).to_be_in_viewport(ratio=1)
            expect(shown).to_be_in_viewport(ratio=0.9)
            forest, game = shown.bounding_box(), page.locator(".dsbd-game").bounding_box()
            assert game["x"] >= forest["x"] + forest["width"] or game["y"] >= forest["y"] + forest["height"]
            asked.click()
        page.keyboard.press("PageUp")
        expect(page.locator(".dsbd-game")).to_be_hidden()
        seen.quiet()
