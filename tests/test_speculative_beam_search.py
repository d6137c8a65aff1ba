"""Speculative beam search against beam search: the same hypotheses, id for id, whatever is drafted."""

from functools import lru_cache
from itertools import product

import pytest
import torch
from transformers import LlamaForCausalLM

import dsbd
from benchmarks.tiny_llama import scattered, tiny_llama
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from tests.toy_pair import Digits

VOCABULARY, EOS = 8, 1
PROMPTS = ("352", "5", "0634")
FEW = [(2, 2, 4, 50), (4, 3, 6, 0)]
MANY = list(product((1, 2, 4), (1, 4), (3, 6), (0, 50)))
"""Beams; depth and width of the forest; top_k."""


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
    return make_pair(LanguageModel(target, "tiny target"), LanguageModel(draft, "tiny draft"), Digits(0, EOS))


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
