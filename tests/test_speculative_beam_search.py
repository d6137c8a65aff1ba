"""Speculative beam search against beam search: the same hypotheses, id for id, whatever is drafted."""

from dataclasses import replace
from functools import lru_cache
from itertools import product
from types import SimpleNamespace

import pytest
import torch
from transformers import LlamaForCausalLM

import dsbd
from benchmarks.tiny_llama import scattered, tiny_llama
from dsbd.law.laws import Law
from dsbd.methods import READS, resolve
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from tests.toy_pair import toy_pair

VOCABULARY, EOS = 8, 1
PROMPTS = ("352", "5", "0634")
FEW = [(2, 2, 4, 50), (4, 3, 6, 0)]
MANY = list(product((1, 2, 4), (1, 4), (3, 6), (0, 50)))
"""Beams; depth and width of the forest; top_k."""


class Digits:
    """Ids from the digits of a prompt."""

    bos_token_id, eos_token_id, chat_template = 0, EOS, None

    def __call__(self, prompt: str) -> SimpleNamespace:
        return SimpleNamespace(input_ids=[int(digit) for digit in prompt])

    def decode(self, ids, **_: object) -> str:
        return "".join(str(token) for token in ids if token != EOS)


def _model(wobble: float) -> LlamaForCausalLM:
    model = tiny_llama(VOCABULARY, EOS)
    torch.manual_seed(1)
    return scattered(model, 0.3, 2, wobble)


@lru_cache
def pair_of(kind: str) -> Pair:
    """A pair whose draft model is ``near``, ``far`` from or ``equal`` to the target, or whose tokens are ``tied``."""
    target, draft = _model(0.0), _model({"near": 0.02, "far": 0.5, "equal": 0.0, "tied": 0.02}[kind])
    if kind == "tied":  # tokens 2 and 3, 4 and 5, 6 and 7 always tie, in both models
        with torch.no_grad():
            for model in (target, draft):
                model.lm_head.weight[3::2] = model.lm_head.weight[2::2]
    return make_pair(LanguageModel(target, "tiny target"), LanguageModel(draft, "tiny draft"), Digits())


def decoded(pair: Pair, prompt: str, method: str, **values) -> dsbd.DecodingResult:
    return dsbd.decode(pair, prompt, dsbd.DecodingSettings(method=method, max_new_tokens=9, **values))


@lru_cache
def searched(kind: str, prompt: str, beams: int, top_k: int) -> dsbd.DecodingResult:
    """Beam search, once for all forests that are compared with it."""
    return decoded(pair_of(kind), prompt, "beam_search", num_beams=beams, top_k=top_k)


@pytest.mark.parametrize("kind", ["near", "far", "tied"])
@pytest.mark.parametrize("shapes", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_the_hypotheses_of_beam_search(kind, shapes):
    """Catches a hypothesis, a rank or a log-weight that a draft has changed."""
    landed = finished = 0
    for prompt, (beams, depth, width, top_k) in product(PROMPTS, shapes):
        plain = searched(kind, prompt, beams, top_k)
        drafted = decoded(pair_of(kind), prompt, "speculative_beam_search", num_beams=beams, top_k=top_k,
                          draft_depth=depth, draft_width=width)  # fmt: skip
        assert [beam.token_ids for beam in drafted.beams] == [beam.token_ids for beam in plain.beams]
        for ours, theirs in zip(drafted.beams, plain.beams, strict=True):
            assert ours.log_weight == pytest.approx(theirs.log_weight, abs=1e-6)
            assert (ours.finished, ours.multiplicity) == (theirs.finished, theirs.multiplicity)
        landed += drafted.stats.landed
        finished += sum(beam.finished for beam in plain.beams)
    assert landed > 10
    assert finished > 5


def test_a_forest_of_the_same_model_always_lands():
    """Catches a layer that falls short although every best pair was drafted."""
    stats = decoded(pair_of("equal"), "352", "speculative_beam_search", num_beams=3, draft_depth=4, draft_width=8).stats
    assert stats.layers_per_iteration > 4


def test_it_is_a_point_of_dsbd():
    """Catches a rule of its own where the settings of ``dsbd`` would do."""
    named = resolve(dsbd.DecodingSettings(method="speculative_beam_search", num_beams=3, draft_width=5))
    point = resolve(
        dsbd.DecodingSettings(
            temperature=0,
            replacement=False,
            min_width=3,
            max_width=3,
            num_beams=3,
            draft_width=5,
            forest="likely",
            width_threshold=1.0,
        )
    )
    assert vars(named) == vars(point) | {"method": "speculative_beam_search"}
    assert set(READS["speculative_beam_search"]) < set(READS["dsbd"])


def test_the_second_best_pair_is_seen(monkeypatch):
    """Catches a comparison of hypotheses that would not see one wrong pair."""
    ranks = Law.masses

    def second_best(self, removed=()):
        masses = ranks(self, removed)
        return ranks(self, [*removed, int(masses.argmax())]) if not len(removed) and self.support > 1 else masses

    plain = decoded(pair_of("near"), "352", "beam_search", num_beams=1)
    monkeypatch.setattr(Law, "masses", second_best)
    wrong = decoded(pair_of("near"), "352", "speculative_beam_search", num_beams=1)
    assert [beam.token_ids for beam in wrong.beams] != [beam.token_ids for beam in plain.beams]


@pytest.mark.parametrize("top_k", [0, 50])
def test_its_traces_follow(top_k):
    """Catches an audit that takes the method for another."""
    settings = dsbd.DecodingSettings(method="speculative_beam_search", num_beams=3, top_k=top_k, max_new_tokens=12)
    trace = dsbd.decode(toy_pair(), "Once upon", settings, record=True).trace
    assert dsbd.verify_trace(trace).failure is None
    forged = replace(trace, settings=replace(trace.settings, method="beam_search"))
    assert "method beam_search" in dsbd.verify_trace(forged).failure


@pytest.mark.slow
@pytest.mark.parametrize("beams", [2, 4])
def test_the_bundled_pair_gives_the_same(beams):
    """Catches a difference that only real text shows: long beams that share most of their tokens."""
    pair = dsbd.load_pair(dtype="float32")
    for prompt in ("Once upon a time", "One day a small fox"):
        results = [
            dsbd.decode(pair, prompt, dsbd.DecodingSettings(method=method, num_beams=beams, max_new_tokens=48))
            for method in ("beam_search", "speculative_beam_search")
        ]
        plain, drafted = ([beam.token_ids for beam in result.beams] for result in results)
        assert drafted == plain
        assert [beam.log_weight for beam in results[1].beams] == pytest.approx(
            [beam.log_weight for beam in results[0].beams], abs=1e-3
        )
        assert results[1].stats.target_calls < results[0].stats.target_calls
