"""Traced, fused and captured forwards give the logits of the model's own Python. A plain call replaces the captured
graph, so buckets, padding, slots and masks are tested without a GPU."""

import gc
import warnings
import weakref
from dataclasses import replace

import pytest
import torch
from transformers import AutoModelForCausalLM, MixtralConfig

import dsbd
from dsbd.cache_folder import cache_folder
from dsbd.models import choosing
from dsbd.models.check import check_engine
from dsbd.models.engines import fused, graph, traced
from dsbd.models.engines.graph import GraphRunner
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.new import GraphRow, TracedRow, new_row
from tests.models.driver import CLOSE, Driver, wandered
from tests.models.tiny import CONFIGS, FORESTS, tiny_model
from tests.toy_pair import toy_model, toy_pair, toy_pair_on, toy_tokenizer

ROUNDING = 1e-10
SOFTMAX = 1e-5
"""Of models with the eager attention of transformers: it computes the softmax in float32, in float64 models too, and
such a sum depends on how many slots are masked."""
ROWS = {"traced": TracedRow, "fused": TracedRow, "graph": GraphRow}


@pytest.fixture(autouse=True)
def _plain_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: forward)


def model_on(engine: str, family: str = "llama", dtype: torch.dtype = torch.float64) -> LanguageModel:
    """Return a tiny model with an engine; its norms differ from each other."""
    model = tiny_model(family, dtype=dtype)
    for weight in model.model.parameters():
        if weight.dim() == 1:
            weight.data += torch.rand_like(weight)
    return replace(model, engine=engine)


@pytest.mark.parametrize(
    ("engine", "family"),
    [("fused", "llama"), *((engine, family) for family in CONFIGS for engine in ("traced", "graph"))],
)
def test_a_row_sees_what_each_path_sees(engine: str, family: str) -> None:
    """Catches a wrong rotation, scale or order of the heads, a norm in another precision, a size, position or mask that
    the trace took for a constant, padding that is seen, slots that are overwritten, and masks of an earlier, larger
    forest left behind."""
    model = model_on(engine, family)
    is_eager = model.config._attn_implementation == "eager"
    assert check_engine(model).error < (SOFTMAX if is_eager else ROUNDING)
    for seed in range(2):
        driver = wandered(model, seed)
        assert type(driver.rows[0]) is ROWS[engine]
        assert driver.worst < CLOSE
        assert engine != "graph" or driver.rows[0].cache.buffers is driver.rows[0]._runner.buffers  # never left them
        del driver  # it has the buffers


TRACED_FORWARD = traced._OnBuffers.forward
WRONG = {
    "traced": (traced._OnBuffers, "forward", lambda self, tokens, positions, *rest: TRACED_FORWARD(
        self, tokens, positions * 0 + int(positions[0, 0]), *rest)),
    "fused": (fused, "_rotated", lambda states, cosines, sines: states * cosines),
    "graph": (graph, "cuda_graph", lambda forward: lambda: 0.7 * forward()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("engine", "instead", "told"),
    [("traced", "eager", "runs eagerly"), ("fused", "traced", "is traced"), ("graph", "eager", "runs eagerly")],
)
def test_the_check_sees_a_wrong_forward(engine: str, instead: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a check at load that lets a wrong forward pass; the model takes another engine then."""
    monkeypatch.setattr(*WRONG[engine])
    pair = make_pair(LanguageModel(toy_model(1, 1).float(), "toy"), None, toy_tokenizer(), engine)
    assert pair.target.engine == instead
    assert pair.fallbacks == [f"target model {told}: {engine} and eager forwards differ"]


def test_a_capture_that_fails_leaves_the_model_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a pair that cannot be loaded because its forwards cannot be captured."""
    monkeypatch.undo()
    pair = toy_pair_on("graph")  # CUDA graphs, on a CPU
    assert (pair.target.engine, pair.draft.engine) == ("eager", "eager")
    assert len(pair.fallbacks) == 2


def test_joined_weights_are_in_memory_once() -> None:
    """Catches joined weights beside the model's own, and a second copy where a model is fused twice."""
    model = model_on("fused").model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    for parts in ([attention.q_proj, attention.k_proj, attention.v_proj], [mlp.gate_proj, mlp.up_proj]):
        whole = fused.joined(parts)
        places = {part.weight.untyped_storage().data_ptr() for part in parts}
        assert places == {whole.untyped_storage().data_ptr(), fused.joined(parts).untyped_storage().data_ptr()}
        assert torch.equal(fused.joined(parts), torch.cat([part.weight for part in parts]))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("family", [family for family in FORESTS if family != "llama"])
def test_other_models_are_not_fused(family: str) -> None:
    """Catches another block that is computed as Llama's: biases, windows, other norms."""
    model = model_on("fused", family)
    assert fused.why_not_fused(model)
    assert not check_engine(model).passed


@pytest.mark.parametrize(
    ("dtype", "bias", "times", "engines"),
    [
        (torch.bfloat16, False, None, ("fused", "fused")),
        (torch.bfloat16, True, None, ("traced", "traced")),
        (torch.float64, False, None, ("traced", "traced")),
        (torch.float32, False, {"onnx": (1, 2, 4, 9), "traced": (2, 3, 4, 8), "fused": (1, 3, 4, 5)}, ("onnx", "onnx")),
        (
            torch.float32,
            False,
            {"onnx": (3, 3, 2, 9), "traced": (2, 2, 5, 8), "fused": (2, 2, 5, 5)},
            ("onnx", "fused"),
        ),
        (
            torch.float32,
            False,
            {"onnx": (1, 3, 5, 5), "traced": (2, 3, 4, 8), "fused": (2, 3, 4, 5)},
            ("traced", "onnx"),
        ),
    ],
)
def test_auto_takes_the_fastest_that_there_is(dtype, bias, times, engines, monkeypatch) -> None:
    """Catches ``auto`` that reports a fallback for every model that is not a Llama, an engine where it loses, figures
    of sizes that a model is not fed, and figures that are measured at every start or read from a damaged file."""
    asked = []

    def measured(model, sizes, *_):
        asked.append(model.engine)
        return dict(zip(sizes, times[model.engine], strict=True))

    monkeypatch.setattr(choosing, "forward_milliseconds", measured)
    models = [toy_model(seed, layers, head_size=16).to(dtype) for seed, layers in ((1, 2), (2, 1))]
    for model in models:
        model.config.attention_bias = bias
    each = [] if times is None else ["onnx", "traced", "onnx", "fused"]
    for damaged, expected in ((True, each), (False, each), (False, [])):
        pair = make_pair(*models, toy_tokenizer())
        assert (pair.target.engine, pair.draft.engine) == engines
        assert pair.fallbacks == []
        assert asked == expected
        asked.clear()
        for path in (cache_folder() / choosing.FOLDER).glob("*") if damaged else ():
            path.write_text(path.read_text()[:-9])


def test_one_trace_serves_decodes_side_by_side(capfd: pytest.CaptureFixture) -> None:
    """Catches a trace per shape, two decodes that write into each other's keys, and warnings of tracing at every start
    that do not help a user."""
    model = model_on("traced")
    drivers, traces = [Driver(model, seed, 3 + seed) for seed in range(2)], []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for driver in drivers * 4:
            driver.iterate(depth=2, width=3, keep=2, layerwise=False, gap=0)
            traces.append(model.runner(traced.TracedForward)._forward)
    assert capfd.readouterr() == ("", "")
    assert max(driver.worst for driver in drivers) < CLOSE
    assert len(set(traces)) == 1
    assert isinstance(traces[0], torch.jit.ScriptModule)


def test_routed_models_run_eagerly() -> None:
    """Catches a trace that always takes the experts of the tokens it was traced with."""
    config = MixtralConfig(
        vocab_size=260, hidden_size=16, intermediate_size=24, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, num_local_experts=4, max_position_embeddings=64, bos_token_id=0, eos_token_id=1,
    )  # fmt: skip
    model = LanguageModel(AutoModelForCausalLM.from_config(config, trust_remote_code=False).eval(), "routed")
    pair = make_pair(model, None, toy_pair().tokenizer, "traced")
    assert pair.target.engine == "eager"
    assert type(new_row(pair.target)) is ForestRow
    assert "experts" in pair.fallbacks[0]


def grown(model: LanguageModel, seed: int, iterations: int) -> Driver:
    """Return a driver whose row needs more slots with every iteration."""
    driver = Driver(model, seed, 4)
    for _ in range(iterations):
        driver.iterate(depth=4, width=3, keep=3, layerwise=False, gap=0, deepest=True)
    assert driver.worst < CLOSE
    return driver


def test_a_row_that_outgrows_the_buffers_goes_on_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches keys lost, or written past the end, where the largest buffers are too small."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32))
    row = grown(model_on("graph"), 3, 12).rows[0]
    assert row.cache.buffers is not row._runner.buffers


def test_the_buffers_grow_with_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches buffers for the model's whole context, and keys lost where they grow in the middle of a decode."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32, 64, 128, 256))
    model = model_on("graph")
    assert new_row(model)._runner.capacity == 16
    row = grown(model, 3, 6).rows[0]
    assert 16 < row._runner.capacity < 256
    assert row.cache.buffers is row._runner.buffers
    runner = row._runner
    del row
    assert new_row(model, 100)._runner.capacity == runner.capacity == 128
    assert new_row(model)._runner.capacity == 128  # what is there is kept
    assert grown(model, 5, 1).rows[0]._runner is runner  # nothing replays on the buffers of before


def test_the_buffers_are_no_larger_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches room for what is kept beside the room that was asked for, which holds it."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32, 64, 128))
    runner = GraphRunner(model_on("graph"))
    found = []
    for slots, used in ((10, 0), (16, 10), (31, 16), (32, 31), (20, 0)):
        runner.reserve(slots, used)
        found.append(runner.capacity)
    assert found == [16, 32, 32, 64, 64]
    assert [runner.fits(1, slots) for slots in (63, 64)] == [True, False]  # the last slot is for padding


def test_one_decode_has_the_buffers_and_they_are_freed_with_the_model() -> None:
    """Catches two decodes at a time that write into each other's keys, buffers that are never given back, and those of
    every model that was ever loaded."""
    model = model_on("graph")
    first, second = new_row(model), new_row(model)
    assert isinstance(first, GraphRow)
    assert type(second) is ForestRow
    del first
    third = new_row(model)
    assert isinstance(third, GraphRow)
    seen = weakref.ref(third._runner)
    del second, third, model
    gc.collect()
    assert seen() is None


def test_buckets_are_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a capture per forward."""
    captured = []

    def counting(forward):
        captured.append(forward().shape[1])
        return forward

    monkeypatch.setattr(graph, "cuda_graph", counting)
    pair = toy_pair_on("graph")
    pair.target.runners.clear()
    captured.clear()
    for seed in range(3):
        dsbd.decode(pair, "One day", dsbd.DecodingSettings(method="beam_sampling", seed=seed, max_new_tokens=16))
    assert 1 <= len(captured) == len(set(captured)) <= 3
