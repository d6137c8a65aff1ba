"""Two traces side by side: the first step at which they part."""

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.visualize.homes import viewer
from tests.visualize.toy import toy_trace
from visualize import diff_scene
from visualize.pages.trace_page import html_page
from visualize.scenes.diff import Divergence

TRACE = toy_trace()


def test_the_first_changed_verdict_is_where_they_part():
    """Ids of nodes do not matter: the same tokens under other ids are the same nodes."""
    iteration = TRACE.iterations[2]
    place, trial = next((at, one) for at, one in enumerate(iteration.trials) if one.verdict == "rejected")
    trials = [*iteration.trials]
    trials[place] = replace(trial, verdict="orphaned", uniform=None, acceptance=None, residual_prob=None)
    iterations = [*TRACE.iterations]
    iterations[2] = replace(iteration, trials=trials)
    found = diff_scene(TRACE, replace(TRACE, iterations=iterations)).divergence
    steps = diff_scene(TRACE, TRACE).left.iterations[2].steps
    step = next(at for at, one in enumerate(steps) if one.phase == "trial" and one.about == (place,))
    assert found == Divergence(2, 2, step, "trial", trial.layer)


def test_another_seed_parts_in_the_first_draft_and_a_shorter_decode_where_it_ends():
    assert diff_scene(TRACE, TRACE).divergence is None
    other = diff_scene(TRACE, toy_trace("other")).divergence
    assert (other.it, other.phase) == (0, "draft")
    shorter = replace(TRACE, iterations=TRACE.iterations[:3], result=None)
    assert diff_scene(TRACE, shorter).divergence == Divergence(3, 3, 0, "draft", 1)


@pytest.mark.slow
def test_the_viewer_shows_both_and_steps_them_together(browser, tmp_path):
    diff = diff_scene(TRACE, toy_trace("wide"))
    path = tmp_path / "diff.html"
    path.write_text(html_page(diff, plotly="inline"), encoding="utf-8")
    with viewer(browser, path, viewport={"width": 1400, "height": 900}) as seen:
        page = seen.page
        expect(page.locator(".dsbd-forest")).to_have_count(2)
        page.click("text=Go to the first difference")
        for side, scene in enumerate((diff.left, diff.right)):
            said = page.locator(".dsbd-told .dsbd-sentence").nth(side).inner_text()
            assert said == scene.iterations[diff.divergence.it].steps[diff.divergence.step].sentence
        expect(page.locator(".dsbd-parting")).to_have_count(2)
        page.locator("[aria-label='First step']").first.click()
        counts = page.locator(".dsbd-count-step").all_inner_texts()
        assert [count.partition(" ")[0] for count in counts] == ["1", "1"]
        page.uncheck(".dsbd-diff-head input[type=checkbox]")
        page.locator("[aria-label='Step forward']").first.click()
        assert page.locator(".dsbd-count-step").all_inner_texts()[1] == counts[1]
        page.wait_for_url(lambda url: "left.step=2" in url and "right.step=1" in url)
        seen.quiet()
