"""The plan: sizes from configurations, and what a decode needs, by hand."""

import json
from dataclasses import replace

import pytest
from transformers import MambaConfig, T5Config

import dsbd
from dsbd.assets import asset_path
from dsbd.errors import PairError, PlanError
from dsbd.measure.model_sizes import ModelSizes, model_sizes
from dsbd.measure.planner import RESERVED, largest_context, memory_needs, plan_memory
from dsbd.methods import resolve
from tests.models.tiny import CONFIGS, VOCABULARY, tiny_model
from tests.toy_pair import toy_pair

BUNDLED = asset_path("models/stories")


def sizes(**changes) -> ModelSizes:
    """Return the sizes of a made-up model, easy to compute with."""
    plain = {"id": "made-up", "parameters": 1200, "weight_bytes": 2400, "slot_bytes": 10, "number_bytes": 2,
             "vocabulary_size": 100, "context_size": 1000, "masks": 1}  # fmt: skip
    return ModelSizes(**(plain | changes))


def size_of(tensor) -> int:
    return tensor.numel() * tensor.element_size()


SETTINGS = resolve(dsbd.DecodingSettings(min_width=2, max_width=2, draft_width=3, draft_depth=2, max_new_tokens=8))


@pytest.mark.parametrize("family", ["qwen2", "gemma3 windows", "gpt2"])
def test_sizes_are_those_of_the_loaded_model(family, tmp_path):
    """Catches values that are forgotten, query heads that count as cached ones, and windows that shrink the cache."""
    model = tiny_model(family)
    CONFIGS[family]().save_pretrained(tmp_path)
    found = model_sizes(tmp_path, "float64")
    weights = list(model.model.parameters())
    assert found.parameters == sum(weight.numel() for weight in weights)
    least, most = (sum(map(size_of, tensors)) for tensors in (weights, [*weights, *model.model.buffers()]))
    assert least <= found.weight_bytes <= most, "buffers that no file holds may be left out"
    assert found.slot_bytes == model.new_cache(5).bytes / 5
    assert (found.vocabulary_size, found.masks) == (VOCABULARY, len(model.windows))
    half = model_sizes(tmp_path, "float16")
    assert half.slot_bytes == found.slot_bytes / 4
    assert half.weight_bytes < found.weight_bytes / 3


def test_memory_by_hand():
    """Catches a part that is left out of the total, a prompt that is kept per beam, and logits of one role only."""
    target, draft = sizes(), sizes(slot_bytes=4, vocabulary_size=50, number_bytes=4)
    needs = memory_needs(target, draft, SETTINGS, 20, "eager")
    slots = 20 + 8 + 2 * 3 + 2 + 64
    assert (needs.slot, needs.prompt, needs.beam, needs.forest) == (14, 280, 112, 84)
    assert (needs.cache, needs.cache_per_beam, needs.graphs) == (slots * 14, 2 * 28 * 14, 0)
    assert needs.logits == 8 * 100 * (2 + 4 + 4) + 3 * 50 * (4 + 4)
    assert needs.total == 2 * 2400 + needs.cache + needs.logits
    covered = memory_needs(target, draft, replace(SETTINGS, cover_width=5), 20, "eager")
    assert covered.forest == 2 * (3 + 5) * 14
    captured = memory_needs(target, draft, SETTINGS, 20, "graph")
    assert captured.cache == 256 * 14, "the next bucket after 100 slots"
    assert captured.graphs == 8 * (100 + 256) * 2 + 4 * (50 + 256) * 4


def test_the_cache_is_what_a_decode_allocates():
    """Catches a plan that no longer follows the engine."""
    pair = toy_pair()
    settings = dsbd.DecodingSettings(min_width=3, max_width=3, max_new_tokens=12)
    stats = dsbd.decode(pair, "One day", settings).stats
    target, draft = (sizes(slot_bytes=model.new_cache(5).bytes // 5) for model in (pair.target, pair.draft))
    needs = memory_needs(target, draft, resolve(settings), len(pair.encode("One day")), "eager")
    assert stats.kv_peak_bytes == needs.cache


def test_the_largest_context_is_the_last_that_fits():
    """Catches a limit that is off by one, and a share of the memory that is not kept free."""
    models = sizes(context_size=100), sizes(context_size=100, slot_bytes=4)
    most = largest_context(*models, SETTINGS, "graph", 100_000.0)
    needed = [memory_needs(*models, SETTINGS, most + more - 8, "graph").total for more in (0, 1)]
    assert needed[0] <= (1 - RESERVED) * 100_000 < needed[1]
    assert largest_context(*models, SETTINGS, "graph", 5000.0) == 0, "the weights alone take 4,800"


def test_a_plan_fits_the_memory_and_both_models():
    """Catches a context that the models were not made for, a pair that leaves nothing for activations, and a plan that
    is no plain data, or that seems to know the speed."""
    assert plan_memory(memory=16e9).largest_context == 2048
    assert plan_memory(memory=0.05e9).largest_context < 2048
    plan = plan_memory()
    assert (plan.fits, plan.largest_context) == (None, None)
    just_enough = plan.needs.total / (1 - RESERVED)
    assert [plan_memory(memory=just_enough * share).fits for share in (0.999, 1.001)] == [False, True]
    assert any("bench" in line for line in json.loads(json.dumps(plan.to_dict(), allow_nan=False))["unknown"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"dtype": "int8"}, "'int8'"),
        ({"engine": "auto"}, "'auto'"),
        ({"memory": float("nan")}, "memory is nan"),
        ({"prompt_tokens": 0}, "prompt_tokens is 0"),
        ({"settings": dsbd.DecodingSettings(draft_depth="auto")}, "draft_depth"),
        ({"target": str(BUNDLED / "target")}, "no draft model"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_refusals(arguments, named):
    """Catches input that ends in a figure that means nothing."""
    with pytest.raises(PlanError, match=named):
        plan_memory(**arguments)


QUANTISED = json.loads((BUNDLED / "draft" / "config.json").read_text(encoding="utf-8"))
QUANTISED["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_4bit": True}


@pytest.mark.parametrize(
    ("config", "named"),
    [
        (MambaConfig(vocab_size=23, hidden_size=16, num_hidden_layers=1, state_size=4), r"\(mamba\) has recurrent"),
        (T5Config(vocab_size=23, d_model=16, num_layers=1), "encoder-decoder"),
        (QUANTISED, "quantised"),
        (None, r"no config\.json"),
    ],
    ids=["recurrent", "encoder-decoder", "four bits", "no configuration"],
)
def test_models_that_cannot_be_planned(config, named, tmp_path):
    """Catches a plan by the rules of attention, or at two bytes a weight, for a model that follows others."""
    if isinstance(config, dict):
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    elif config is not None:
        config.save_pretrained(tmp_path)
    with pytest.raises(PairError, match=named):
        model_sizes(tmp_path, "bfloat16")
