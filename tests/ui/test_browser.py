"""The page in a browser: the recorded trace at once, run and stop, messages, files, zoom."""

import re

import pytest
from playwright.sync_api import expect

from tests.visualize.toy import toy_trace

pytestmark = pytest.mark.slow


def test_the_recorded_trace_is_there_at_once_and_then_a_run(visit):
    """A visitor sees a forest before any model has run, and then text and forest of the run, or what is wrong."""
    assert "once upon a" in visit.page.input_value("#prompt textarea")
    trace, shown = toy_trace(), visit.page.inner_text(".running-line").removesuffix("∎")
    assert "".join(shown.split()) == "".join((trace.prompt.text + trace.result.text).split())
    assert "recorded" in visit.page.inner_text("#note")
    assert visit.page.locator("#forest .dsbd-node:not([hidden])").count() > 3
    visit.page.click("#forest button[aria-label='First step']")
    visit.wait_for("#forest .dsbd-count-step", "^1 of")
    for name, value, words in (("seed", "", "Seed is empty"), ("max_new_tokens", "2.5", "max_new_tokens is 2.5")):
        visit.open_drawer()
        visit.page.fill(f"#field-{name} input[type=number]", value)
        visit.run("Once upon")
        visit.wait_for("#problem", words)
        visit.set_field(name, "12")
    visit.run("<script>alert(1)</script> ${x} {{y}}")
    visit.wait_for("#note", "Decoded just now")
    expect(visit.page.locator("#problem")).to_have_text("")
    assert visit.page.inner_text(".running-line").startswith("<script>alert(1)</script> ${x} {{y}}")
    assert visit.page.locator(".running-line .mark").count() > 0
    expect(visit.page.locator(".running-line script")).to_have_count(0)
    visit.page.wait_for_selector("#run")
    assert not visit.page.is_visible("#stop")


def test_stop_keeps_the_page_and_the_trace(visit, engine):
    engine.hold(at=4)
    visit.choose("method", "One text: Sampling")
    visit.run("Once upon")
    visit.wait_for("#note", r"pass \d")
    visit.page.click("#stop")
    said = visit.wait_for("#note", r"Stopped\. What was recorded stays")
    engine.release()
    count = visit.page.inner_text("#forest .dsbd-count-iteration")
    assert int(count.split()[-1]) <= int(re.search(r"\d+", said).group()) + 1
    visit.page.wait_for_function("document.querySelector('#shown input').value.startsWith('Your run 1: Sampling')")
    visit.run("Once more")
    visit.wait_for("#note", "Decoded just now")
    visit.page.wait_for_function("document.querySelector('#shown input').value.includes('“Once more”')")
    expect(visit.page.locator("#problem")).to_have_text("")
    visit.open_drawer()
    visit.page.click("#shown input")
    listed = visit.page.locator("li[role=option]").all_inner_texts()
    assert [one.strip(" ✓\n").partition(":")[0] for one in listed] == ["Your run 2", "Your run 1", "Toy story"]


def test_a_visitor_who_waits_sees_its_place_and_then_its_own_run(visits, engine):
    """Catches a place in the queue that is said once and then stays as it was, a note that fades, and a text or a list
    of decodes that goes to another visitor."""
    visit, second = visits(), visits()
    engine.hold(at=2)
    visit.run("Once upon")
    visit.wait_for("#note", r"pass \d")
    second.run("Another prompt")
    first_said = second.wait_for("#note", r"queue: 1/1 \|\s*\d")
    second.page.wait_for_function("said => document.querySelector('#note').innerText !== said", arg=first_said)
    assert "Waiting for the model" in second.page.inner_text("#note")
    faded = "document.querySelectorAll('.html-container.pending')"
    assert second.page.evaluate(f"[...{faded}].map(part => getComputedStyle(part).opacity)") == ["1"]
    assert visit.page.evaluate(f"{faded}.length") == 0
    assert "queue" not in visit.page.inner_text("#note")
    engine.release()
    assert "queue" not in second.wait_for("#note", "Decoded just now")
    visit.wait_for("#note", "Decoded just now")
    for one, prompt in ((visit, "Once upon"), (second, "Another prompt")):
        one.page.wait_for_function("document.querySelector('#shown input').value.startsWith('Your run 1')")
        assert prompt in one.page.input_value("#shown input")
        assert one.page.inner_text(".running-line").startswith(prompt)


def test_stop_ends_what_waits_in_its_own_tab_and_nothing_else(visit, engine):
    """Catches Stop in one tab that ends the run of another, and a page that is stopped and waits on."""
    engine.hold(at=2)
    visit.run("Once upon")
    visit.wait_for("#note", r"pass \d")
    visit.page.get_by_role("tab", name="Race").click()
    visit.page.click("#race-run")
    visit.wait_for("#race-note", "queue: 1/1")
    visit.page.click("#race-stop")
    visit.page.wait_for_function("document.querySelector('#race-note').innerText.trim() === 'Stopped before it began.'")
    assert visit.page.is_visible("#race-run")
    expect(visit.page.locator("#race-problem")).to_have_text("")
    engine.release()
    visit.page.get_by_role("tab", name="Play").click()
    visit.wait_for("#note", "Decoded just now")


def test_a_run_that_a_refresh_breaks_off_begins_again(visit, engine):
    """Catches a visitor whose run is lost; the page must not show another decode meanwhile either."""
    engine.hold(2)
    visit.run("Twice upon")
    visit.wait_for("#note", "Decoding")
    visit.page.reload()
    expect(visit.page.locator("#prompt textarea")).to_have_value("Twice upon")
    visit.wait_for("#note", "Decoding|Waiting|starts")
    engine.release()
    visit.wait_for("#note", "Decoded just now")
    expect(visit.page.locator("#text .text-prompt")).to_have_text("Twice upon")
    visit.page.reload()
    visit.wait_for("#note", "A recorded decode")
    visit.errors[:] = [error for error in visit.errors if "abort" not in error.lower() and "Connection" not in error]


def test_the_charts_of_the_viewer_are_drawn_at_their_first_look(visit):
    """Catches a sentence that Plotly did not load where it is only on its way."""
    visit.page.click("#forest .dsbd-more > summary")
    visit.page.select_option("#forest .dsbd-view", "charts")
    expect(visit.page.locator("#forest .dsbd-chart .main-svg").first).to_be_visible()
    expect(visit.page.locator("#forest .dsbd-panel-charts .dsbd-hint")).to_have_count(0)
