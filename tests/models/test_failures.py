"""Models that fail while they decode: logits that are not numbers, and memory that runs out."""

from dataclasses import replace

import pytest
import torch

import dsbd
from dsbd.api import planning
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.memory import memory_errors
from dsbd.models.pair import Pair
from dsbd.settings import AUTO
from tests.toy_pair import toy_model, toy_pair, toy_tokenizer

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
@pytest.mark.parametrize("role", ["target", "draft"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_an_error(role, at_hand, temperature, monkeypatch):
    """Catches a text decoded from NaN, and a message that does not say which model and what to do."""
    monkeypatch.setattr("dsbd.score.is_at_hand", lambda logits: at_hand)
    pair = spoiled_pair(role, 4, one_nan)
    with pytest.raises(dsbd.ModelError, match=rf"the {role} model returns .*NaN.* float32") as caught:
        dsbd.decode(pair, PROMPT, replace(SETTINGS, temperature=temperature))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", ["greedy", "sampling", "beam_search", "beam_sampling", "speculative"])
def test_no_method_decodes_from_nan(method):
    """Catches a method that looks at other numbers than the check does."""
    with pytest.raises(dsbd.ModelError, match="the target model"):
        dsbd.decode(spoiled_pair("target", 3, one_nan), PROMPT, dsbd.DecodingSettings(method=method))


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


def memory_error() -> Exception:
    return MemoryError()


def cpu_error() -> Exception:
    return RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")


@pytest.mark.parametrize("error", [memory_error, cpu_error])
def test_a_cpu_without_memory_is_recognised(error):
    """Catches the ways in which Python and torch say it on a CPU."""
    with pytest.raises(dsbd.ModelError, match="out of memory"), memory_errors("testing"):
        raise error()


def test_other_errors_are_left_alone():
    """Catches a shape error that is said to be a lack of memory."""
    with pytest.raises(RuntimeError, match="size mismatch"), memory_errors("testing"):
        raise RuntimeError("size mismatch")
