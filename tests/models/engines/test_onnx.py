"""ONNX Runtime gives the logits of the model's own Python, in float32, or the model takes another engine."""

from dataclasses import replace

import onnxruntime
import pytest
import torch

from dsbd import DecodingSettings, decode
from dsbd.models.check import check_engine
from dsbd.models.engines import onnx, onnx_graph
from dsbd.models.engines.onnx import OnnxForward
from dsbd.models.making import make_pair
from dsbd.models.rows.new import OnnxRow, new_row
from tests.models.driver import Driver, wandered
from tests.models.tiny import FORESTS, tiny_model
from tests.toy_pair import toy_model, toy_tokenizer

ROUNDING = 1e-3
PLAIN = ("llama", "qwen2", "qwen3", "mistral windows", "granite", "phi3")


def onnx_model(family: str = "llama", dtype: torch.dtype = torch.float32):
    """Return a tiny model on ONNX Runtime; its norms and biases differ from each other."""
    model = tiny_model(family, dtype=dtype)
    for weight in model.model.parameters():
        if weight.dim() == 1:
            weight.data += torch.rand_like(weight)
    return replace(model, engine="onnx")


@pytest.mark.parametrize("family", PLAIN)
def test_a_row_sees_what_each_path_sees(family):
    """Catches a wrong rotation, scale, order of the heads or norm, a mask of another head, keys of another slot, and
    what a family has more than Llama: biases, norms of queries and keys, factors, windows, joined weights."""
    model = onnx_model(family)
    assert type(new_row(model)) is OnnxRow
    assert check_engine(model).error < ROUNDING
    for seed in range(2):
        assert wandered(model, seed).worst < ROUNDING


def test_the_cache_may_grow_and_serve_decodes_side_by_side():
    """Catches keys lost where buffers are replaced, a session for each row, and rows that share keys."""
    model = onnx_model()
    drivers, forward = [Driver(model, seed, 3 + seed) for seed in range(2)], model.runner(OnnxForward)
    slots = [driver.rows[0].cache.capacity for driver in drivers]
    for driver in drivers * 12:
        driver.iterate(depth=4, width=3, keep=3, layerwise=False, gap=0, deepest=True)
    assert max(driver.worst for driver in drivers) < ROUNDING
    assert all(driver.rows[0].cache.capacity > before for driver, before in zip(drivers, slots, strict=True))
    assert model.runner(OnnxForward) is forward


def loaded(engine="onnx", *more):
    """A pair whose heads have a size that ONNX Runtime takes."""
    models = [toy_model(seed, 1, head_size=16).float() for seed in (1, *more)]
    return make_pair(*models, tokenizer=toy_tokenizer(), engine=engine)


def test_a_prompt_may_be_empty_or_fill_the_context():
    """Catches a forest without a prompt, whose positions the operator counts itself, and one that has more slots than
    the context has positions, which it refuses."""
    ours, theirs = (loaded(engine, 1) for engine in ("onnx", "eager"))  # every draft is accepted
    settings = DecodingSettings(max_new_tokens=4, draft_depth=3, draft_width=6)
    prompt = "a b " * 31
    assert ours.room_after(len(ours.encode(prompt))) == settings.max_new_tokens
    for text in ("", prompt):
        found, expected = (decode(pair, text, settings).beams for pair in (ours, theirs))
        assert [beam.token_ids for beam in found] == [beam.token_ids for beam in expected]
        weights = [beam.log_weight for beam in expected]
        assert [beam.log_weight for beam in found] == pytest.approx(weights, abs=ROUNDING)


def test_the_check_sees_a_wrong_forward(monkeypatch):
    """Catches a check at load that lets a wrong forward pass; the model is traced then."""
    monkeypatch.setattr(onnx_graph.Builder, "_rotations", lambda self: [
        self._weight(name, torch.ones(128, self._size // 2)) for name in ("cosines", "sines")])  # fmt: skip
    pair = loaded()
    assert pair.target.engine == "traced"
    assert pair.fallbacks == ["target model runs on torch: onnx and eager forwards differ"]


def test_a_missing_or_refusing_runtime_is_a_sentence(monkeypatch):
    """Catches a pair that cannot be loaded where ONNX Runtime is missing, too old, or refuses the graph."""
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *_, **__: 1 / 0)
    pair = loaded()
    assert pair.target.engine == "traced"
    assert "division by zero" in pair.fallbacks[0]
    monkeypatch.setattr(onnx, "find_spec", lambda name: None)
    assert "onnx and onnxruntime not installed" in loaded().fallbacks[0]


@pytest.mark.parametrize(
    ("family", "dtype"),
    [*((family, torch.float32) for family in FORESTS if family not in PLAIN), ("llama", torch.float64)],
)
def test_other_models_and_numbers_are_refused(family, dtype):
    """Catches another block that is computed as Llama's, and a graph that rounds a float64 model to float32."""
    assert not check_engine(onnx_model(family, dtype)).passed
