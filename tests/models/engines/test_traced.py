"""Traced forwards run the operations of eager ones: the logits are equal for any number of tokens and slots."""

import warnings
from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForCausalLM, MixtralConfig

from dsbd.models.check import check_engine
from dsbd.models.engines import traced
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.new import TracedRow, new_row
from tests.models.driver import CLOSE, Driver, wandered
from tests.models.tiny import FORESTS, tiny_model
from tests.toy_pair import toy_pair


def traced_model(family: str, dtype: torch.dtype = torch.float64) -> LanguageModel:
    return replace(tiny_model(family, dtype=dtype), engine="traced")


@pytest.mark.parametrize("family", FORESTS)
def test_traced_row_sees_what_each_path_sees(family: str) -> None:
    """Catches a size, a position or a mask that the trace took for a constant."""
    model = traced_model(family)
    assert check_engine(model).passed
    for seed in range(2):
        driver = wandered(model, seed)
        assert isinstance(driver.rows[0], TracedRow)
        assert driver.worst < CLOSE


def test_one_trace_serves_decodes_side_by_side() -> None:
    """Catches a trace per shape, and two decodes that write into each other's keys."""
    model = traced_model("llama")
    drivers, traces = [Driver(model, seed, 3 + seed) for seed in range(2)], []
    for _ in range(4):
        for driver in drivers:
            driver.iterate(depth=2, width=3, keep=2, layerwise=False, gap=0)
            traces.append(model.runner(traced.TracedForward)._forward)
    assert max(driver.worst for driver in drivers) < CLOSE
    assert len(set(traces)) == 1
    assert isinstance(traces[0], torch.jit.ScriptModule)


def test_check_sees_a_wrong_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a check at load that lets a trace with a baked-in constant pass."""
    shipped = traced._OnBuffers.forward

    def first_position_for_all(self, tokens, positions, *rest):
        return shipped(self, tokens, positions * 0 + int(positions[0, 0]), *rest)

    monkeypatch.setattr(traced._OnBuffers, "forward", first_position_for_all)
    assert not check_engine(traced_model("llama", torch.float32)).passed


def test_tracing_says_nothing(capfd: pytest.CaptureFixture) -> None:
    """Catches warnings at every start that do not help a user."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_engine(traced_model("llama", torch.float32)).passed
    assert capfd.readouterr() == ("", "")


def test_routed_models_run_eagerly() -> None:
    """Catches a trace that always takes the experts of the tokens it was traced with."""
    torch.manual_seed(0)
    config = MixtralConfig(
        vocab_size=260, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, max_position_embeddings=64, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = LanguageModel(AutoModelForCausalLM.from_config(config, trust_remote_code=False).eval(), "routed")
    pair = make_pair(model, None, toy_pair().tokenizer, "traced")
    assert pair.target.engine == "eager"
    assert type(new_row(pair.target)) is ForestRow
    assert "experts" in pair.fallbacks[0]
