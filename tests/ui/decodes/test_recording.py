"""A growing trace on the page: the text, what is settled of it, and the messages to the browser."""

import json
from dataclasses import replace

import pytest
from ui.decodes.recording import Recording
from ui.decodes.running_text import running_text
from ui.decodes.stat_strip import stat_strip

import dsbd
from dsbd.law.beams import common_prefix
from dsbd.tracing.audit import verify_trace
from dsbd.tracing.records import Prompt
from tests.toy_pair import toy_pair
from tests.ui.served import unpacked
from tests.visualize.toy import toy_trace
from ui.decodes import messages

SETTINGS = dsbd.DecodingSettings(max_new_tokens=24, draft_depth=2, draft_width=4, cover_width=2, seed=3)


@pytest.fixture(scope="module")
def updates():
    """Every update of one decode, and the recording as it stood then."""
    steps, recording = [], None
    for update in dsbd.stream(toy_pair(), "Once <b>", SETTINGS, record=True):
        recording = recording or Recording(replace(update.trace, iterations=[]))
        recording.add(update.progress)
        if update.result is not None:
            recording.finish(update.result.trace)
        steps.append((update, running_text(recording), recording.trace, len(recording)))
    assert len(steps) > 3, "the decode must have a middle"
    return steps


def test_the_text_is_the_decoders(updates):
    """Catches a page that shows another hypothesis than the decoder's best, or promises more than is settled."""
    for update, text, _, _ in updates:
        best = update.candidates[0].node
        settled = best if update.result is not None else common_prefix(one.node for one in update.candidates)
        assert len(text.tokens) == len(best.token_ids())
        assert sum(token.settled for token in text.tokens) == len(settled.token_ids())
        assert text.prompt == "Once <b>"


def test_what_was_stopped_is_a_trace_that_verifies(updates):
    """A stopped run can be saved, and audited like any other."""
    _, _, partial, iterations = updates[2]
    assert partial.result is None
    assert len(partial.iterations) == iterations
    assert verify_trace(partial).passed
    opened = running_text(Recording(partial))
    assert opened.tokens, "of a file without a result the likeliest beam is shown"
    assert not any(token.settled for token in opened.tokens)


def test_news_add_up_to_the_whole():
    """The browser joins news to what it has; at the end it must hold the whole trace."""
    trace = toy_trace()
    recording = Recording(trace)
    grown = unpacked(messages.more_scene(recording, 0))[:3]
    news = messages.more_scene(recording, 3)
    assert json.loads(news)["since"] == 3
    whole = unpacked(messages.whole_scene(recording))
    assert grown + unpacked(news) == whole["iterations"]


def test_hostile_text_is_packed_whole():
    """Nothing of a token is readable as markup on its way, and nothing of it is lost."""
    message = messages.text(Recording(replace(toy_trace(), prompt=Prompt("</script>", []))))
    assert "<" not in message
    assert unpacked(message)["prompt"] == "</script>"


def test_a_figure_of_a_file_that_is_no_number_is_missing():
    trace = toy_trace()
    stats = trace.result.stats | {"kv_peak_bytes": 2_500_000, "mean_width": "<b>"}
    html = stat_strip(Recording(replace(trace, result=replace(trace.result, stats=stats))))
    assert html.count("<dt>") == 7
    assert "2.5 <small>MB" in html
    assert "Mean width</dt><dd>–" in html
