"""Models that fail while they decode: logits that are not numbers, and memory that runs out."""

from dataclasses import replace

import pytest
import torch

import dsbd
from dsbd.api import planning
from dsbd.models.free_memory import memory_errors
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.settings import AUTO
from tests.toy_pair import read_by_host, toy_model, toy_pair, toy_tokenizer

PROMPT = "Once upon"
SETTINGS = dsbd.DecodingSettings(max_new_tokens=8, draft_depth=2, draft_width=3)


class Spoiled(torch.nn.Module):
    """The last layer of a model, which gives wrong results after ``good`` calls."""

    def __init__(self, layer: torch.nn.Module, good: int, spoil) -> None:
        super().__init__()
        self.layer, self.good, self.spoil = layer, good, spoil

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        self.good -= 1
        return self.layer(states) if self.good >= 0 else self.spoil(self.layer(states))


def one_nan(logits: torch.Tensor) -> torch.Tensor:
    logits[..., 5] = torch.nan
    return logits


def no_memory(logits: torch.Tensor) -> torch.Tensor:
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB.\nMore lines.")


def spoiled_pair(role: str, good: int, spoil) -> Pair:
    """Make the toy pair, with one of its models broken after ``good`` calls."""
    model = toy_model(1, 2)
    model.lm_head = Spoiled(model.lm_head, good, spoil)
    return replace(toy_pair(), **{role: LanguageModel(model, f"toy/{role}")})


@pytest.mark.parametrize("at_hand", [True, False], ids=["on demand", "copied"])
@pytest.mark.parametrize(
    ("role", "asked"),
    [
        ("target", {}),
        ("draft", {}),
        ("draft", {"temperature": 0.0}),
        *(("target", {"method": method}) for method in ("greedy", "beam_search")),
    ],
    ids=str,
)
def test_logits_that_are_no_numbers_are_an_error(role, asked, at_hand, monkeypatch):
    """Catches a text decoded from NaN, and a message that does not say which model and what to do."""
    read_by_host(at_hand, monkeypatch)
    with pytest.raises(dsbd.ModelError, match=rf"the {role} model returns .*NaN.* float32") as caught:
        dsbd.decode(spoiled_pair(role, 4, one_nan), PROMPT, dsbd.DecodingSettings(max_new_tokens=8, **asked))
    assert "\n" not in str(caught.value)


def test_the_check_at_load_says_that_logits_are_no_numbers():
    """Catches a fallback whose reason is that two kinds of NaN differ."""
    model = toy_model(1, 1)
    model.lm_head = Spoiled(model.lm_head, 0, one_nan)
    pair = make_pair(LanguageModel(model, "broken"), None, toy_tokenizer())
    assert "not numbers (NaN)" in pair.checks["target"].reason


@pytest.mark.parametrize("role", ["target", "draft"])
def test_memory_that_runs_out_is_an_error_with_a_remedy(role):
    """Catches torch's own error, of many lines, that says nothing about forests."""
    with pytest.raises(dsbd.ModelError, match=r"out of memory while decoding .*3 GiB.*draft_width") as caught:
        dsbd.decode(spoiled_pair(role, 2, no_memory), PROMPT, SETTINGS)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_measurements_that_need_too_much_memory_say_so():
    """Catches measurements of auto that end with torch's own error."""
    asked = replace(SETTINGS, draft_width=AUTO)
    with pytest.raises(dsbd.ModelError, match="trying out forests"):
        dsbd.stream(spoiled_pair("draft", 9, no_memory), PROMPT, asked)
    with pytest.raises(dsbd.ModelError, match="trying out forests"):
        list(planning(spoiled_pair("draft", 9, no_memory), PROMPT, asked))


CPU = "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (MemoryError(), dsbd.ModelError, "out of memory while testing"),
        (RuntimeError(CPU), dsbd.ModelError, "out of memory while testing"),
        (RuntimeError("size mismatch"), RuntimeError, "^size mismatch"),
    ],
    ids=["Python", "torch", "other"],
)
def test_a_cpu_without_memory_is_recognised(error, kind, said):
    """Catches the ways in which Python and torch say it on a CPU, and a shape error taken for one of them."""
    with pytest.raises(kind, match=said), memory_errors("testing"):
        raise error
