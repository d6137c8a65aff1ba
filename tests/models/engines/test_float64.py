"""In float64 every engine computes what the model's Python does, up to the rounding of float64."""

from dataclasses import replace

import pytest
import torch

from dsbd.models.alibi import bias_by_depth
from dsbd.models.check import check_engine, check_forest
from dsbd.models.engines import graph
from tests.models.tiny import ALIBI, CONFIGS, tiny_model
from tests.toy_pair import eager_beams, toy_beams, toy_pair_on

ROUNDING = 1e-10
SOFTMAX = 1e-5
"""Of models with the eager attention of transformers: it computes the softmax in float32, in float64 models too, and
such a sum depends on how many slots are masked."""


@pytest.mark.parametrize(
    ("family", "engine"),
    [*((family, engine) for family in CONFIGS for engine in ("traced", "graph")), ("llama", "fused")],
)
def test_an_engine_rounds_as_the_model_does(monkeypatch: pytest.MonkeyPatch, family: str, engine: str) -> None:
    """Catches a norm in another precision than the model's, and padding that sees nothing: its softmax is NaN."""
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: forward)
    model = tiny_model(family)
    assert model.dtype == torch.float64
    if family in ALIBI:
        bias_by_depth(model.model)
    bound = SOFTMAX if model.config._attn_implementation == "eager" else ROUNDING
    assert check_forest(model).error < bound
    assert check_engine(replace(model, engine=engine)).error < bound


@pytest.mark.parametrize("forest", ["sampled", "likely"])
@pytest.mark.parametrize("engine", ["traced", "fused", "graph"])
def test_an_engine_decodes_the_eager_ids(monkeypatch: pytest.MonkeyPatch, engine: str, forest: str) -> None:
    """Catches a decode that is not the eager one, run after run."""
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: forward)
    pair = toy_pair_on(engine)
    assert pair.target.engine == pair.draft.engine == engine
    assert not pair.fallbacks
    ours, theirs = [*toy_beams(pair, forest)], eager_beams(forest)
    assert [beam.token_ids for beam in ours] == [beam.token_ids for beam in theirs]
    assert [beam.log_weight for beam in ours] == pytest.approx([beam.log_weight for beam in theirs], abs=1e-6)
