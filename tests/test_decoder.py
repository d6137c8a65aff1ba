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
    """Catches a last forest that exceeds the limit, and a decode that stops below it with beams alive."""
    result = decode(method=method, max_new_tokens=new_tokens)
    assert all(len(beam.token_ids) <= new_tokens for beam in result.beams)
    assert all(len(beam.token_ids) == new_tokens for beam in result.beams if not beam.finished)
    assert result.stats.layers <= new_tokens
    assert result.stats.new_tokens == len(result.token_ids)


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_same_seed_same_output_and_no_global_randomness(method):
    """Catches randomness from the global state, and sets whose order enters the result."""
    torch.manual_seed(1)
    first = decode(method=method, seed=5, max_new_tokens=20)
    torch.manual_seed(2)
    assert decode(method=method, seed=5, max_new_tokens=20).beams == first.beams
    assert torch.initial_seed() == 2


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    "settings",
    [{}, {"temperature": 0.0}, {"temperature": 0.7, "cover_width": 5}, {"temperature": 0.7, "landing": False}],
    ids=str,
)
def test_beams_carry_their_true_log_weight(replacement, settings):
    """Catches a log-weight that is not the sum of the target's raw log-probabilities, computed again."""
    from dsbd.measure.quality import log_likelihood

    pair = toy_pair()
    result = decode(max_new_tokens=9, draft_depth=3, draft_width=4, replacement=replacement, **settings)
    for beam in result.beams:
        again = log_likelihood(pair.target, pair.encode(PROMPT), beam.token_ids)
        assert beam.log_weight == pytest.approx(again, abs=1e-6)  # norms compute in float32
        assert beam.score == pytest.approx(beam.log_weight / len(beam.token_ids))
        assert beam.finished == (beam.token_ids[-1] == EOS)
        assert EOS not in beam.token_ids[:-1]


def test_stream_settles_monotonically_and_ends_with_the_result():
    """Catches settled text that shrinks, or that the result does not begin with."""
    settled = ""
    updates = list(dsbd.stream(toy_pair(), PROMPT, dsbd.DecodingSettings(max_new_tokens=24, seed=3)))
    for update in updates[:-1]:
        assert update.result is None
        assert update.settled_text.startswith(settled)
        settled = update.settled_text
    assert updates[-1].result is not None
    assert updates[-1].text == updates[-1].result.text
    assert updates[-1].result.text.startswith(settled)
    assert updates[-1].iteration is None


def test_progress_says_what_is_best_and_how_much_of_it_is_settled():
    """Catches progress that cannot travel to another process, or that names another hypothesis than the update."""
    settled = []
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
    assert progress.best == update.result.trace.result.beams[0]
    assert settled == update.result.token_ids


def test_recording_changes_nothing_but_the_trace():
    settings = dsbd.DecodingSettings(max_new_tokens=10)
    plain = dsbd.decode(toy_pair(), PROMPT, settings)
    recorded = dsbd.decode(toy_pair(), PROMPT, settings, record=True)
    assert plain.beams == recorded.beams
    assert plain.trace is None
    assert recorded.trace is not None
    assert recorded.trace.result.token_ids == recorded.token_ids


def test_one_target_forward_per_iteration():
    """Catches a second forward per iteration, which would be a hidden cost."""
    for method in dsbd.METHODS:
        stats = decode(method=method, max_new_tokens=12).stats
        assert stats.target_calls == stats.iterations + 1  # and the prompt's


@pytest.mark.parametrize("prompt", ["<script>alert(1)</script>", "\x00\x01", "é🙂漢字", "‮rtl", "a" * 90, ""])
def test_prompts_of_all_kinds(prompt):
    assert dsbd.decode(toy_pair(), prompt, dsbd.DecodingSettings(max_new_tokens=3)).token_ids


def test_bad_prompts_are_refused():
    with pytest.raises(PromptError, match=r"exceeds the context of 128 tokens of toy/target"):
        dsbd.decode(toy_pair(), "a" * 100)
    with pytest.raises(PromptError, match="give a text"):
        dsbd.decode(toy_pair(), 5)
    for messages in ([{"role": "user", "content": "hi"}], ({"role": "user", "content": "hi"},), {"content": "hi"}):
        with pytest.raises(PromptError, match=r"give the text of the user's turn, and chat=True"):
            dsbd.decode(toy_pair(), messages)
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


def test_errors_surface_before_the_first_update():
    """Catches a stream with a bad prompt that fails only when it is read."""
    with pytest.raises(PromptError):
        dsbd.stream(toy_pair(), "a" * 200)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"settings": {"max_new_tokens": 4}}, r"settings is .*; give dsbd.DecodingSettings.from_dict"),
        ({"settings": {}}, "settings is {}"),
        ({"settings": 4}, r"settings is 4; give dsbd.DecodingSettings\("),
        ({"observers": [1]}, r"observers is \[1\]; give a list"),
        ({"observers": None}, "observers is None"),
        ({"stop": True}, "stop is True; give a function"),
        ({"until": 5}, "until is 5; give a list"),
        ({"until": None}, "until is None"),
        ({"processors": None}, "processors is None; give a list"),
        ({"processors": [3]}, r"processors is \[3\]"),
    ],
    ids=["a dictionary", "an empty one", "a number", "observer", "no observers", "stop", "until", "no until",
         "no processors", "processor"],
)  # fmt: skip
def test_an_argument_of_a_wrong_kind_is_named(given, said):
    """Catches an AttributeError or a TypeError from within, and settings that are silently the defaults."""
    with pytest.raises(dsbd.SettingsError, match=said):
        dsbd.decode(toy_pair(), "One day", **given)


@pytest.mark.parametrize("pair", [None, "x"])
def test_what_is_no_pair_is_named(pair):
    with pytest.raises(dsbd.PairError, match="give what dsbd"):
        dsbd.decode(pair, "One day")


@pytest.mark.parametrize("answer", [None, torch.zeros(1, 5)], ids=["nothing", "another shape"])
def test_a_processor_that_returns_no_logits_is_named(answer):
    """Catches an error from the middle of a decode that names no processor."""

    def mine(ids, logits):
        return answer

    with pytest.raises(dsbd.ModelError, match="the logits processor mine returned"):
        dsbd.decode(toy_pair(), "One day", dsbd.DecodingSettings(max_new_tokens=2), processors=[mine])


def test_a_plan_without_auto_is_refused():
    with pytest.raises(dsbd.SettingsError, match="nothing to plan"):
        plan(toy_pair(), "One day", dsbd.DecodingSettings())
