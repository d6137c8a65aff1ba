"""Engines: which one is taken, what they keep in memory, and decodes side by side; threads; buffers of a cache row."""

import gc
import random
import warnings
import weakref
from dataclasses import replace

import onnxruntime
import pytest
import torch

import dsbd
from dsbd import decoder, machine
from dsbd.law.verify import verify
from dsbd.machine import SMALL, cpu_quota, limit_threads
from dsbd.models import language_model
from dsbd.models.cache import GROWTH_SLOTS, ForestCache, LayerShape
from dsbd.models.engines import choice, graph, onnx, traced
from dsbd.models.engines.choice import engine_for, new_row
from dsbd.models.engines.graph import GraphRow, GraphRunner
from dsbd.models.engines.onnx import OnnxForward
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.rows.forest import ForestRow
from tests.models.driver import CLOSE, Driver
from tests.models.test_rows import FLOAT32, _plain_capture, model_on
from tests.toy_pair import toy_model, toy_pair_on, toy_tokenizer

assert _plain_capture, "used by every test here, too"


class Cuda(LanguageModel):
    device = torch.device("cuda")


@pytest.mark.parametrize(
    ("kind", "dtype", "bias", "free", "engine"),
    [
        (LanguageModel, torch.float32, False, 1e12, "onnx"),
        (LanguageModel, torch.float32, False, 1e3, "traced"),
        (LanguageModel, torch.bfloat16, False, 1e12, "fused"),
        (LanguageModel, torch.bfloat16, True, 1e12, "traced"),
        (LanguageModel, torch.float64, False, 1e12, "traced"),
        (Cuda, torch.bfloat16, False, 1e12, "graph"),
        (Cuda, torch.bfloat16, False, 0, "eager"),
    ],
)
def test_auto_is_an_engine_by_rule(kind, dtype, bias, free, engine, monkeypatch):
    """Catches an engine where it loses, weights a second time that do not fit, graphs on a GPU lent for seconds."""
    monkeypatch.setattr(choice, "free_bytes", lambda device: free)
    monkeypatch.setenv("SPACES_ZERO_GPU", "" if free else "1")
    model = toy_model(1, 1, head_size=16).to(dtype)
    model.config.attention_bias = bias
    assert engine_for(kind(model, "toy")) == engine
    if kind is LanguageModel:
        pair = make_pair(model, None, toy_tokenizer())
        assert (pair.target.engine, pair.fallbacks) == (engine, [])


def test_a_runtime_that_fails_leaves_the_model_another_engine(monkeypatch):
    """Catches a pair that cannot be loaded where ONNX Runtime is missing, too old, or refuses the graph, or where
    forwards cannot be captured."""
    models = [LanguageModel(toy_model(1, 1, head_size=16).float(), "toy")]
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *_, **__: 1 / 0)
    pair = make_pair(*models, tokenizer=toy_tokenizer(), engine="onnx")
    assert (pair.target.engine, "division by zero" in pair.fallbacks[0]) == ("traced", True)
    monkeypatch.setattr(onnx, "find_spec", lambda name: None)
    assert "onnx and onnxruntime not installed" in make_pair(*models, None, toy_tokenizer(), "onnx").fallbacks[0]
    monkeypatch.undo()
    pair = toy_pair_on("graph")  # CUDA graphs, on a CPU
    assert (pair.target.engine, pair.draft.engine, len(pair.fallbacks)) == ("eager", "eager", 2)


def test_joined_weights_are_in_memory_once():
    """Catches joined weights beside the model's own, and a second copy where a model is fused twice."""
    model = model_on("fused").model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    for parts in ([attention.q_proj, attention.k_proj, attention.v_proj], [mlp.gate_proj, mlp.up_proj]):
        whole = traced.joined(parts)
        places = {part.weight.untyped_storage().data_ptr() for part in parts}
        assert places == {whole.untyped_storage().data_ptr(), traced.joined(parts).untyped_storage().data_ptr()}
        assert torch.equal(traced.joined(parts), torch.cat([part.weight for part in parts]))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(("engine", "kind"), [("traced", traced.TracedForward), ("onnx", OnnxForward)])
def test_one_forward_serves_decodes_side_by_side(engine, kind, capfd):
    """Catches a trace or a session per row, decodes that write into each other's keys, and warnings of tracing."""
    model = model_on(engine)
    drivers, forward = [Driver(model, seed, 3 + seed) for seed in range(2)], model.runner(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for driver in drivers * 4:
            driver.iterate(depth=2, width=3, keep=2, layerwise=False, gap=0)
    assert capfd.readouterr() == ("", "")
    assert max(driver.worst for driver in drivers) < (CLOSE if engine == "traced" else FLOAT32)
    assert model.runner(kind) is forward


def test_onnx_takes_a_prompt_that_is_empty_or_fills_the_context():
    """Catches a forest without a prompt, whose positions the operator counts itself, and one that has more slots than
    the context has positions, which it refuses."""
    models = [toy_model(1, 1, head_size=16).float() for _ in range(2)]  # every draft is accepted
    ours, theirs = (make_pair(*models, toy_tokenizer(), engine) for engine in ("onnx", "eager"))
    settings = dsbd.DecodingSettings(max_new_tokens=4, draft_depth=3, draft_width=6)
    prompt = "a b " * 31
    assert ours.room_after(len(ours.encode(prompt))) == settings.max_new_tokens
    for text in ("", prompt):
        found, expected = (dsbd.decode(pair, text, settings).beams for pair in (ours, theirs))
        assert [beam.token_ids for beam in found] == [beam.token_ids for beam in expected]


def test_the_buffers_of_graphs_grow_as_asked_and_are_reused(monkeypatch):
    """Catches buffers for the whole context, room beside the room asked for, a capture per forward, buffers that two
    decodes share, that are never given back, or those of every model that was ever loaded."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32, 64, 128))
    runner, found, captured = GraphRunner(model_on("graph")), [], []
    for slots, used in ((10, 0), (16, 10), (31, 16), (32, 31), (20, 0)):
        runner.reserve(slots, used)
        found.append(runner.cache.capacity)
    assert found == [16, 32, 32, 64, 64]
    assert [runner.fits(1, slots) for slots in (63, 64)] == [True, False]  # the last slot is for padding
    model = model_on("graph")
    first, second = new_row(model), new_row(model)
    assert (type(first), type(second)) == (GraphRow, ForestRow)
    del first
    third = new_row(model, 100)
    assert (type(third), third._runner.cache.capacity) == (GraphRow, 128)
    seen = weakref.ref(third._runner)
    del second, third, model
    gc.collect()
    assert seen() is None
    monkeypatch.undo()
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: captured.append(forward().shape[1]) or forward)
    pair = toy_pair_on("graph")
    pair.target.runners.clear()
    captured.clear()
    for seed in range(3):
        dsbd.decode(pair, "One day", dsbd.DecodingSettings(method="beam_sampling", seed=seed, max_new_tokens=16))
    assert 1 <= len(captured) == len(set(captured)) <= 3


@pytest.mark.parametrize(
    ("files", "share"),
    [
        ({"cpu.max": "200000 100000\n"}, 2.0),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({"cpu.max": "rubbish"}, None),
        ({}, None),
    ],
    ids=str,
)
def test_a_quota_is_read(tmp_path, files, share):
    """Catches a quota of one of the two versions that is missed, and "no limit" that becomes a limit."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu_quota(tmp_path) == share


@pytest.fixture
def _threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_threads")
def test_threads_follow_the_quota(monkeypatch):
    """Catches sixty-four threads on two cores' worth of time, and a user's choice overridden."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    torch.set_num_threads(6)
    for quota, left in ((None, 6), (8.0, 6), (2.5, 3), (0.2, 1)):
        monkeypatch.setattr(machine, "cpu_quota", lambda quota=quota: quota)
        assert limit_threads() == left
    torch.set_num_threads(6)
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    assert limit_threads() == 6


@pytest.mark.usefixtures("_threads")
@pytest.mark.parametrize(("small", "forwards"), [(0, 3), (SMALL, 1)], ids=["large", "small"])
def test_forwards_take_all_threads_and_the_rest_one(monkeypatch, small, forwards):
    """Catches operations on small tensors that wait for each other's threads, a large model on one thread, and a
    program that is left with one thread while it reads the stream."""
    monkeypatch.setattr(language_model, "SMALL", small)
    pair, seen = toy_pair_on("eager"), {"forward": set(), "between": set()}
    for model in (pair.target, pair.draft):
        model.model.register_forward_pre_hook(lambda *_: seen["forward"].add(torch.get_num_threads()))
        model.new_cache()  # its shapes are found by a forward, once
    monkeypatch.setattr(
        decoder, "verify", lambda *given: seen["between"].add(torch.get_num_threads()) or verify(*given)
    )
    seen["forward"].clear()
    torch.set_num_threads(3)
    for _ in dsbd.stream(pair, "Once", dsbd.DecodingSettings(max_new_tokens=4)):
        assert torch.get_num_threads() == 3
    assert seen == {"forward": {forwards}, "between": {1}}


def states_of(first: int, count: int) -> torch.Tensor:
    """Make states [1, 2 heads, count, 3] that contain the number of their slot: slot + 0.1 head + 0.01 place."""
    slots = torch.arange(first, first + count, dtype=torch.float64)[:, None]
    heads = torch.arange(2, dtype=torch.float64)[:, None, None]
    return (slots + 0.1 * heads + 0.01 * torch.arange(3, dtype=torch.float64))[None]


def appended(cache: ForestCache, first: int, count: int) -> None:
    """Append slots; the second layer may have other shapes."""
    cache.reserve(cache.length + count)
    for number, shape in enumerate(cache._shapes):
        keys, values = states_of(first, count), -states_of(first, count)
        cache.update(keys[:, : shape.keys[0]], values[..., : shape.values[1]], number)


@pytest.mark.parametrize("second", [((2, 3), (2, 3)), ((1, 3), (2, 2))], ids=["alike", "unequal"])
@pytest.mark.parametrize("seed", range(3))
def test_a_cache_keeps_the_named_slots_in_order(seed, second):
    """Catches moves that overwrite a source before it is read, reach only the layers shaped like the first, lose the
    settled part, or keep a freed slot; and growth that loses slots."""
    shapes = [LayerShape((2, 3), (2, 3), torch.float64), LayerShape(*second, torch.float64)]
    source, cache, given, expected = random.Random(seed), ForestCache(shapes, 0), 0, []
    for _ in range(12):
        count = source.randint(1, 60)
        appended(cache, given, count)
        expected += range(given, given + count)
        given += count
        start = source.randint(0, len(expected))
        behind = range(start, len(expected))
        kept = source.sample(behind, source.randint(0, len(behind)))
        expected = expected[:start] + [expected[place] for place in kept]
        cache.move(start, kept)
        whole = torch.cat([states_of(slot, 1) for slot in expected], dim=2) if expected else states_of(0, 0)
        for layer, shape in zip(cache.layers, shapes, strict=True):
            assert layer.get_seq_length() == cache.length == len(expected)
            assert torch.equal(layer.keys[:, :, : layer.length], whole[:, : shape.keys[0]])
            assert torch.equal(layer.values[:, :, : layer.length], -whole[..., : shape.values[1]])


def test_a_cache_is_written_in_place_and_counts_its_peak():
    """Catches a copy of the whole buffer at every append, and a peak that forgets that the old and the new buffer
    exist together while one is copied into the other."""
    cache, slot = ForestCache([LayerShape((2, 3), (2, 3), torch.float64)], 5), 2 * 2 * 3 * 8
    appended(cache, 0, 5)
    assert (cache.capacity, cache.peak_bytes) == (5, 5 * slot)
    appended(cache, 5, 1)
    buffer = cache.layers[0].keys.data_ptr()
    appended(cache, 6, GROWTH_SLOTS)
    assert cache.layers[0].keys.data_ptr() == buffer
    assert (cache.bytes, cache.peak_bytes) == ((6 + GROWTH_SLOTS) * slot, (11 + GROWTH_SLOTS) * slot)


def test_the_checks_of_a_model_share_their_eager_forwards(monkeypatch):
    """Catches a load that runs the same forests again for every engine that it tries."""
    runs = []
    monkeypatch.setattr("dsbd.models.check.ForestRow", lambda model: runs.append(model.id) or ForestRow(model))
    monkeypatch.setattr(traced, "_rotated", lambda states, cosines, sines: states)
    pair = make_pair(replace(LanguageModel(toy_model(1, 1).float(), "toy"), engine="fused"), None, toy_tokenizer())
    assert list(pair.checks) == ["target", "target fused", "target traced"]
    assert len(runs) == 1
