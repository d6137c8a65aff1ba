"""A cache for each path gives the logits of every path computed from its first token."""

import random
from dataclasses import replace

import pytest
import torch

from benchmarks.families import tiny_model
from dsbd.law.beams import Node
from dsbd.models.check import check_states
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows import states
from dsbd.models.rows.new import new_row
from dsbd.models.rows.states import StateRows, copied, state_bytes
from tests.models import tiny
from tests.models.driver import CLOSE, Driver, wandered

MODELS = {
    "llama": lambda: tiny.tiny_model("llama").model,
    "mamba": lambda: tiny_model("mamba"),
    "mamba2": lambda: tiny_model("mamba2"),
}
"""Keys and values that grow, and recurrent states of one size."""
WAYS = {"llama": ("states", "steps"), "mamba": ("steps",), "mamba2": ("states", "steps")}
"""What is right for each: Mamba goes on from a state one token at a time."""
STATES_CLOSE = 100 * CLOSE
"""Largest difference of a logit: recurrences compute in float32. A wrong state changes logits by more than 1."""


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> LanguageModel:
    return LanguageModel(MODELS[request.param](), request.param)


@pytest.mark.parametrize("attention", ["states", "steps"])
def test_states_see_what_each_path_sees(model: LanguageModel, attention: str) -> None:
    """Catches a state of another path, a copy that shares its memory, padding that a later token sees, and a check at
    load that trusts a model which drops its state before several tokens."""
    worst = wandered(replace(model, attention=attention), seed=0).worst
    assert (worst < STATES_CLOSE) == (attention in WAYS[model.id])
    assert check_states(model, attention).passed == (attention in WAYS[model.id])


def test_a_shared_state_is_seen(model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a comparison too lax to notice the state of another path, and a check at load that lets it pass."""

    def first_row(cache, rows):
        return copied(cache, torch.zeros_like(rows))

    monkeypatch.setattr(states, "copied", first_row)
    driver = Driver(replace(model, attention=WAYS[model.id][0]), 0, 9)
    for _ in range(3):
        driver.iterate(depth=3, width=3, keep=3, layerwise=False, gap=0)
    assert driver.worst > 100 * STATES_CLOSE
    assert not check_states(model, WAYS[model.id][0]).passed


def test_a_copy_leaves_the_cache_as_it_is(model: LanguageModel) -> None:
    """Catches states that are updated in place in two caches at once."""
    cache = model.new_states()
    with torch.inference_mode():
        model.forward(torch.tensor([[3, 4, 5]]), cache=cache)
        before = state_bytes(cache)
        twin = copied(cache, torch.tensor([0, 0]))
        assert state_bytes(twin) == 2 * before
        again = copied(cache, torch.tensor([0]))
        model.forward(torch.tensor([[6], [7]]), cache=twin)
        here, there = (
            model.forward(torch.tensor([[8]]), cache=one) for one in (again, copied(cache, torch.tensor([0])))
        )
    assert state_bytes(cache) == before
    assert torch.equal(here, there)


def test_the_memory_is_that_of_all_paths() -> None:
    """Catches bytes that leave out the copies: a cache of the context for each beam and for each path of the forest."""
    llama = replace(tiny.tiny_model("llama"), attention="states")
    row, root = new_row(llama), Node(None, -1, 0)
    assert isinstance(row, StateRows)
    slot = 2 * 2 * 2 * 16 * 8  # keys and values, layers, heads, size, bytes of float64
    row.prefill([3] * 10, root)
    assert row.peak_bytes == 9 * slot
    row.open([root], 6)
    row.feed(torch.tensor([4, 5, 6, 7, 8, 9]), torch.tensor([0, 0, 0, 1, 2, 3]), (3, 3))
    assert row.peak_bytes == (10 + 3 * 12) * slot
    assert row.forwards == 3  # the prompt, the beams, the forest
    row.commit([root.child(4).child(7)])
    assert row.peak_bytes == (10 + 3 * 12) * slot


def test_drafts_are_fed_one_layer_at_a_time() -> None:
    """Catches paths that are fed again from their beam in every layer of a draft."""
    llama = replace(tiny.tiny_model("llama"), attention="states")
    row, root, source = StateRows(llama), Node(None, -1, 0), random.Random(0)
    seen = []
    row.prefill([3] * 10, root)
    row.open([root], 6)
    forward = LanguageModel.forward
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            LanguageModel,
            "forward",
            lambda self, tokens, **how: seen.append(tokens.shape) or forward(self, tokens, **how),
        )
        none = torch.empty(0, dtype=torch.int64)
        row.feed(none, none, ())
        for first in (0, 1, 3):
            tokens = torch.tensor([source.randrange(tiny.VOCABULARY) for _ in range(2)])
            row.feed(tokens, torch.tensor([first, first]), (2,))
    assert seen == [(1, 1), (2, 1), (2, 1), (2, 1)]


def test_a_short_path_goes_on_without_the_padding_of_a_long_one() -> None:
    """Catches a state that is kept at the end of the padding: what is fed below it sees tokens that are not there."""
    llama = replace(tiny.tiny_model("llama"), attention="states")
    row, root, prompt = StateRows(llama), Node(None, -1, 0), [3, 8, 6, 2]
    row.prefill(prompt, root)
    row.open([root], 5)
    row.feed(torch.tensor([4, 5, 9, 7]), torch.tensor([0, 0, 2, 3]), (2, 1, 1))
    below = row.feed(torch.tensor([11, 12]), torch.tensor([1, 4]), (2,))
    for logits, path in zip(below, ([4, 11], [5, 9, 7, 12]), strict=True):
        with torch.inference_mode():
            alone = llama.model(torch.tensor([prompt + path])).logits[0, -1]
        assert float((logits - alone).abs().max()) < CLOSE
