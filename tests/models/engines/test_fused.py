"""The fused forward of Llama models gives the logits of the model's own Python."""

from dataclasses import replace

import pytest
import torch

from dsbd.models.check import check_engine
from dsbd.models.engines import fused
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.rows.new import TracedRow
from tests.models.driver import CLOSE, wandered
from tests.models.tiny import FORESTS, tiny_model
from tests.toy_pair import toy_model, toy_pair

BFLOAT16 = torch.bfloat16


def fused_model(family: str) -> LanguageModel:
    """Return a tiny model whose norms differ from each other."""
    model = tiny_model(family)
    for weight in model.model.parameters():
        if weight.dim() == 1:
            weight.data += torch.rand_like(weight)
    return replace(model, engine="fused")


def test_fused_row_sees_what_each_path_sees() -> None:
    """Catches a wrong rotation, mask, scale or order of the heads, at any number of tokens and slots."""
    model = fused_model("llama")
    assert check_engine(model).error < 1e-6
    for seed in range(3):
        driver = wandered(model, seed)
        assert isinstance(driver.rows[0], TracedRow)
        assert driver.worst < CLOSE


def test_joined_weights_are_in_memory_once() -> None:
    """Catches joined weights beside the model's own, and a second copy where a model is fused twice."""
    model = fused_model("llama").model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    for parts in ([attention.q_proj, attention.k_proj, attention.v_proj], [mlp.gate_proj, mlp.up_proj]):
        whole = fused.joined(parts)
        places = {part.weight.untyped_storage().data_ptr() for part in parts}
        assert places == {whole.untyped_storage().data_ptr(), fused.joined(parts).untyped_storage().data_ptr()}
        assert torch.equal(fused.joined(parts), torch.cat([part.weight for part in parts]))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_check_sees_a_wrong_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a check at load that lets a wrong fused forward pass; the model's own forward is traced then."""
    monkeypatch.setattr(fused, "_rotated", lambda states, cosines, sines: states * cosines)
    pair = make_pair(toy_model(1, 1).float(), None, toy_pair().tokenizer, "fused")
    assert pair.target.engine == "traced"
    (fallback,) = pair.fallbacks
    assert fallback == "target model is traced: fused and eager forwards differ"


@pytest.mark.parametrize("family", [family for family in FORESTS if family != "llama"])
def test_other_models_are_not_fused(family: str) -> None:
    """Catches another block that is computed as Llama's: biases, windows, other norms."""
    model = fused_model(family)
    assert fused.why_not_fused(model)
    assert not check_engine(model).passed


def test_auto_fuses_what_it_can() -> None:
    """Catches ``auto`` that reports a fallback for every model that is not a Llama, and one fused where it loses."""
    tokenizer = toy_pair().tokenizer
    for dtype, bias, engines in (
        (BFLOAT16, False, ("fused", "fused")),
        (BFLOAT16, True, ("traced", "traced")),
        (torch.float32, False, ("traced", "fused")),
        (torch.float64, False, ("traced", "traced")),
    ):
        models = [toy_model(seed, 1).to(dtype) for seed in (1, 2)]
        for model in models:
            model.config.attention_bias = bias
        pair = make_pair(*models, tokenizer)
        assert (pair.target.engine, pair.draft.engine) == engines
        assert pair.fallbacks == []
