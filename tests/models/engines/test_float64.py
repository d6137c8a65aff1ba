"""In float64 every engine computes what the model's own Python does, up to the rounding of float64."""

from dataclasses import replace

import pytest
import torch

from dsbd.models.alibi import bias_by_depth
from dsbd.models.check import check_engine, check_forest
from dsbd.models.engines import graph
from tests.models.tiny import ALIBI, CONFIGS, tiny_model

ROUNDING = 1e-10
SOFTMAX = 1e-5
"""Of models with the eager attention of transformers: it computes the softmax in float32, in float64 models too, and
such a sum depends on how many slots are masked."""


@pytest.mark.parametrize(
    ("family", "engine"),
    [*((family, engine) for family in CONFIGS for engine in ("traced", "graph")), ("llama", "fused")],
)
def test_an_engine_rounds_as_the_model_does(monkeypatch: pytest.MonkeyPatch, family: str, engine: str) -> None:
    """Catches a norm in another precision than the model's, and padding that sees nothing: its softmax is no number."""
    monkeypatch.setattr(graph, "cuda_graph", lambda function, arguments: lambda: function(*arguments))
    model = tiny_model(family)
    assert model.dtype == torch.float64
    if family in ALIBI:
        bias_by_depth(model.model)
    bound = SOFTMAX if model.config._attn_implementation == "eager" else ROUNDING
    assert check_forest(model).error < bound
    assert check_engine(replace(model, engine=engine)).error < bound
