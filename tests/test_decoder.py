"""The decoder from the outside: limits, streams, observers, cancelling, every method."""

import pickle

import pytest
import torch

import dsbd
from dsbd.api import plan
from dsbd.errors import PairError, PromptError
from dsbd.models.making import make_pair
from tests.toy_pair import EOS, toy_pair

PROMPT = "Once upon"


def decode(**settings):
    return dsbd.decode(toy_pair(), PROMPT, dsbd.DecodingSettings(**settings))


@pytest.mark.parametrize("method", dsbd.METHODS)
@pytest.mark.parametrize("new_tokens", [1, 2, 7])
def test_the_limit_is_exact(method, new_tokens):
    """Catches a last forest that exceeds the limit, a decode that stops below it with beams alive, and a second target
    forward in an iteration."""
    result = decode(method=method, max_new_tokens=new_tokens)
    assert all(len(beam.token_ids) <= new_tokens for beam in result.beams)
    assert all(len(beam.token_ids) == new_tokens for beam in result.beams if not beam.finished)
    assert result.stats.layers <= new_tokens
    assert result.stats.new_tokens == len(result.token_ids)
    assert result.stats.target_calls == result.stats.iterations + 1  # and the prompt's


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_same_seed_same_output_and_no_global_randomness(method):
    """Catches randomness from the global state, sets whose order enters the result, and a recording that changes it."""
    settings = dsbd.DecodingSettings(method=method, seed=5, max_new_tokens=20)
    torch.manual_seed(1)
    first = dsbd.decode(toy_pair(), PROMPT, settings)
    torch.manual_seed(2)
    again = dsbd.decode(toy_pair(), PROMPT, settings, record=True)
    assert torch.initial_seed() == 2
    assert (again.beams, again.trace.result.token_ids) == (first.beams, first.token_ids)
    assert first.trace is None


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    "settings",
    [{}, {"temperature": 0.0}, {"temperature": 0.7, "cover_width": 5}, {"temperature": 0.7, "landing": False}],
    ids=str,
)
def test_beams_carry_their_true_log_weight(replacement, settings):
    """Catches a log-weight that is not the sum of the target's raw log-probabilities, computed again."""
    from dsbd.contest.measure import log_likelihood

    pair = toy_pair()
    result = decode(max_new_tokens=9, draft_depth=3, draft_width=4, replacement=replacement, **settings)
    for beam in result.beams:
        again = log_likelihood(pair.target, pair.encode(PROMPT), beam.token_ids)
        assert beam.log_weight == pytest.approx(again, abs=1e-6)  # norms compute in float32
        assert beam.score == pytest.approx(beam.log_weight / len(beam.token_ids))
        assert beam.finished == (beam.token_ids[-1] == EOS)
        assert EOS not in beam.token_ids[:-1]


def test_a_stream_says_what_is_best_and_how_much_of_it_is_settled():
    """Catches settled text that shrinks, or that the result does not begin with, and progress that cannot travel to
    another process, or that names another hypothesis than the update."""
    settled, text = [], ""
    for update in dsbd.stream(toy_pair(), PROMPT, dsbd.DecodingSettings(max_new_tokens=24, seed=3), record=True):
        progress = pickle.loads(pickle.dumps(update.progress))
        assert progress.iteration == update.trace.iterations[-1]
        parents = {node.id: node for iteration in update.trace.iterations for node in iteration.nodes}
        ids, node = [], progress.best.node
        while node in parents:
            ids.insert(0, parents[node].token_id)
            node = parents[node].parent
        assert progress.best.token_ids == ids == update.candidates[0].node.token_ids()
        assert progress.best.text == update.text
        assert ids[: len(settled)] == settled
        settled = ids[: progress.settled]
        assert update.settled_text.startswith(text)
        text = update.settled_text
    assert progress.best == update.result.trace.result.beams[0]
    assert (settled, text) == (update.result.token_ids, update.result.text)


def test_bad_prompts_are_refused():
    with pytest.raises(PromptError, match=r"exceeds the context of 128 tokens of toy/target"):
        dsbd.stream(toy_pair(), "a" * 100)  # before it is read
    with pytest.raises(PromptError, match="give a text"):
        dsbd.decode(toy_pair(), 5)
    with pytest.raises(PromptError, match=r"give the text of the user's turn, and chat=True"):
        dsbd.decode(toy_pair(), [{"role": "user", "content": "hi"}])
    with pytest.raises(PromptError, match="not valid Unicode at character 1"):
        dsbd.decode(toy_pair(), "a\ud800")
    with pytest.raises(PromptError, match="no chat template"):
        dsbd.decode(toy_pair(), "hi", chat=True)


def test_a_method_that_drafts_needs_a_draft_model():
    pair = toy_pair()
    alone = make_pair(pair.target, None, pair.tokenizer)
    with pytest.raises(PairError, match="needs a draft model"):
        dsbd.decode(alone, PROMPT)
    assert dsbd.decode(alone, PROMPT, dsbd.DecodingSettings(method="beam_sampling", max_new_tokens=3)).token_ids


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"settings": {"max_new_tokens": 4}}, r"settings is .*; give dsbd.DecodingSettings.from_dict"),
        ({"settings": 4}, r"settings is 4; give dsbd.DecodingSettings\("),
        ({"observers": [1]}, r"observers is \[1\]; give a list"),
        ({"stop": True}, "stop is True; give a function"),
        ({"until": "\n"}, "until is"),
        ({"until": ["\n", ""]}, "until is"),
        ({"until": ["\n"], "record": True}, "leave out until or record"),
        ({"processors": [3]}, r"processors is \[3\]"),
    ],
    ids=str,
)
def test_an_argument_of_a_wrong_kind_is_named(given, said):
    """Catches an AttributeError or a TypeError from within, and settings that are silently the defaults."""
    with pytest.raises(dsbd.SettingsError, match=said):
        dsbd.decode(toy_pair(), "One day", **given)


def test_what_is_no_pair_is_named():
    with pytest.raises(dsbd.PairError, match="give what dsbd"):
        dsbd.decode("x", "One day")


def test_a_processor_that_returns_no_logits_is_named():
    """Catches an error from the middle of a decode that names no processor."""

    def mine(ids, logits):
        return torch.zeros(1, 5)

    with pytest.raises(dsbd.ModelError, match="the logits processor mine returned"):
        dsbd.decode(toy_pair(), "One day", dsbd.DecodingSettings(max_new_tokens=2), processors=[mine])


def test_a_plan_without_auto_is_refused():
    with pytest.raises(dsbd.SettingsError, match="nothing to plan"):
        plan(toy_pair(), "One day", dsbd.DecodingSettings())
