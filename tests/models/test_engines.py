"""States and engines: every kind, on every family, gives the logits of each path alone; a wrong forward is noticed.

A plain call replaces the captured CUDA graph, so buckets, padding, slots and masks are tested without a GPU.
"""

import gc
import pickle
import random
import re
import warnings
import weakref
from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import onnxruntime
import pytest
import torch

import dsbd
from benchmarks import families
from dsbd import decoder
from dsbd.errors import PairError
from dsbd.machine import SMALL, torch_threads
from dsbd.models import check, language_model
from dsbd.models.cache import GROWTH_SLOTS, PACKED, ForestCache, LayerShape, pack_groups
from dsbd.models.check import check_engine, check_forest, check_states
from dsbd.models.engines import choice, graph, onnx, onnx_graph, traced
from dsbd.models.engines.choice import engine_for, new_state
from dsbd.models.engines.graph import GraphRunner, GraphState
from dsbd.models.engines.onnx import OnnxForward, OnnxState
from dsbd.models.engines.traced import TracedState
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.states import forest, recurrent
from dsbd.models.states.forest import ForestState
from dsbd.models.states.recurrent import RecurrentState
from dsbd.verification.beams import Node
from dsbd.verification.verify import verify
from tests.models.tiny import CLOSE, FORESTS, VOCABULARY, WINDOW, Driver, tiny_model, wandered
from tests.toy_pair import toy_model, toy_pair_on, toy_tokenizer

EAGER_SOFTMAX, FLOAT32 = 1e-5, 1e-3
"""Bounds of rounding: the eager attention of transformers computes its softmax in float32 in any model."""
STATES = {"eager": ForestState, "traced": TracedState, "graph": GraphState} | dict.fromkeys(("onnx", "int8"), OnnxState)
FLIPPED = 1.0
"""In int8 a rounding that falls the other way changes logits of tiny models by less; a wrong mask by more than 6."""
ONNX = ("llama", "qwen2", "qwen3", "mistral windows", "phi3")
CPU = torch.device("cpu")
RUNS = [
    *((engine, family) for family in FORESTS for engine in ("eager", "traced", "graph")),
    *((engine, family) for family in ONNX for engine in ("onnx", "int8")),
]
NONE = torch.empty(0, dtype=torch.int64)


@pytest.fixture(autouse=True)
def _plain_capture(monkeypatch):
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: forward)


def model_on(engine: str, family: str = "llama", dtype: torch.dtype | None = None) -> LanguageModel:
    """Return a tiny model with an engine, or in int8; its norms and biases differ from each other."""
    model = tiny_model(family, dtype=dtype or (torch.float32 if engine in ("onnx", "int8") else torch.float64))
    for weight in model.model.parameters():
        if weight.dim() == 1:
            weight.data += torch.rand_like(weight)
    if engine == "int8":
        return replace(model, engine="onnx", weights="int8")
    return replace(model, engine=engine)


@pytest.mark.parametrize(("engine", "family"), RUNS)
def test_a_state_sees_what_each_path_sees(engine, family):
    """Catches masks, positions, windows, committed slots, moves; a wrong rotation, scale, norm or order of heads;
    sizes that a trace took for constants; padding that is seen and masks of an earlier forest left behind."""
    model, close = model_on(engine, family), {"onnx": FLOAT32, "int8": FLIPPED}.get(engine, CLOSE)
    own = EAGER_SOFTMAX if model.config._attn_implementation == "eager" else 1e-10
    bound = FLOAT32 if engine == "onnx" else own
    assert engine in ("eager", "int8") or check_engine(model).error < bound
    for seed in range(2):
        driver = wandered(model, seed)
        assert type(driver.states[0]) is STATES[engine]
        assert driver.worst < close
        assert engine != "graph" or driver.states[0].cache.buffers is driver.states[0]._runner.cache.buffers
        del driver  # it has the buffers of graph


@pytest.mark.parametrize(
    ("engine", "slots"), [("eager", None), ("onnx", None), ("graph", (16, 32)), ("graph", (16, 32, 64, 128, 256))]
)
def test_a_long_decode_outgrows_its_buffers(engine, slots, monkeypatch):
    """Catches keys lost, or written past the end, where buffers grow or are the largest; a prefix that never grows."""
    if slots is not None:
        monkeypatch.setattr(graph, "SLOT_BUCKETS", slots)
    driver = Driver(model_on(engine, "mistral windows"), 5, 2)
    for _ in range(16):
        driver.iterate(depth=6, width=3, keep=2, layerwise=False, gap=0, deepest=True)
    state = driver.states[0]
    assert driver.worst < (FLOAT32 if engine == "onnx" else CLOSE)
    assert state.slots > GROWTH_SLOTS
    assert state.peak_bytes >= state.peak_slots * state.cache.slot_bytes
    assert len(driver.beams[0].token_ids()) - state._prefix_nodes < 20
    assert engine != "graph" or (state.cache.buffers is state._runner.cache.buffers) == (slots != (16, 32))


@pytest.mark.parametrize("family", FORESTS)
def test_a_prompt_in_parts_is_the_prompt_in_one(family, monkeypatch):
    """Catches positions, windows or masks of a later part of a prompt; a model that keeps copying its keys, or says
    something else, once its groups are packed."""
    model, source = tiny_model(family), random.Random(7)
    prompt, results = [source.randrange(VOCABULARY) for _ in range(2 * WINDOW + 4)], []
    for packed, size in product((False, True), (len(prompt), WINDOW - 1, 1)):
        if packed:
            pack_groups(model.model)
        monkeypatch.setattr(forest, "PREFILL_TOKENS", size)
        state, root = ForestState(model), Node(None, -1, 0)
        state.prefill(prompt, root)
        state.begin([root], 0)
        with torch.inference_mode():
            results.append((state.forward(NONE, NONE, ()), state.slots, state.forwards))
    for logits, *counts in results[1:]:
        assert float((logits - results[0][0]).abs().max()) < CLOSE
        assert tuple(counts) == results[0][1:]
    grouped = family not in ("gpt2", "gpt_neox", "opt", "gemma2 windows")  # no groups, or eager attention
    assert (model.config._attn_implementation == PACKED) == grouped


@pytest.mark.parametrize("family", FORESTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_check_passes_families_that_work(family, dtype):
    """Catches a tolerance so tight that a right model is decoded through paths, many times slower."""
    assert check_forest(tiny_model(family, seed=1, dtype=dtype)).passed


SHIPPED_MASKS, TRACED_FORWARD = ForestState._masks, traced._OnBuffers.forward
EVERYTHING = lambda self, attention, positions: SHIPPED_MASKS(self, torch.zeros_like(attention), positions)  # noqa: E731
NO_WINDOW = lambda self, full, positions, window: full  # noqa: E731


@pytest.mark.parametrize(
    ("family", "name", "wrong"),
    [
        *((family, "_masks", EVERYTHING) for family in ("llama", "mistral windows", "gpt2", "gemma3_text windows")),
        *((family, "_windowed", NO_WINDOW) for family in ("mistral windows", "gemma3_text windows")),
    ],
)
def test_a_wrong_mask_is_seen(family, name, wrong, monkeypatch):
    """Catches a check at load too lax for one token too many or a forgotten window."""
    monkeypatch.setattr(ForestState, name, wrong)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        assert not check_forest(tiny_model(family, dtype=dtype)).passed


def twisted(self, tokens, positions, *rest):
    return TRACED_FORWARD(self, tokens, positions * 0 + int(positions[0, 0]), *rest)


def flat(self):
    return [self._weight(name, torch.ones(128, self._size // 2)) for name in ("cosines", "sines")]


WRONG = {
    "traced": (traced._OnBuffers, "forward", twisted, "eager", "runs eagerly"),
    "graph": (graph, "cuda_graph", lambda forward: lambda: 0.7 * forward(), "eager", "runs eagerly"),
    "onnx": (onnx_graph.Builder, "_rotations", flat, "traced", "runs on torch"),
}


@pytest.mark.parametrize("engine", WRONG)
def test_the_check_sees_a_wrong_engine(engine, monkeypatch):
    """Catches a check at load that lets a wrong forward pass; the model takes another engine then."""
    *patch, fallback, message = WRONG[engine]
    monkeypatch.setattr(*patch)
    pair = make_pair(LanguageModel(toy_model(1, 1, head_size=16).float(), "toy"), None, toy_tokenizer(), engine)
    assert pair.target.engine == fallback
    assert pair.fallbacks == [f"target model {message}: {engine} and eager forwards differ"]


@pytest.mark.parametrize(("factor", "engine"), [(1.0, "own"), (0.7, "traced")])
def test_an_engine_is_a_class_with_an_entry(factor, engine, monkeypatch):
    """Catches an engine that needs more than docs/architecture.md says, and one that no check holds."""

    class OwnState(ForestState):
        def _logits(self, *inputs):
            return factor * super()._logits(*inputs)

    own = SimpleNamespace(fallback="traced", why_not=lambda model: None, new_state=OwnState)
    monkeypatch.setitem(choice.ENGINES, "own", own)
    pair = make_pair(toy_model(1, 1), None, toy_tokenizer(), "own")
    assert (pair.target.engine, len(pair.fallbacks)) == (engine, factor != 1.0)


@pytest.mark.parametrize(
    ("family", "dtype"), [*((name, torch.float32) for name in FORESTS if name not in ONNX), ("llama", torch.float64)]
)
def test_other_models_are_refused(family, dtype):
    """Catches another block that is computed as Llama's, and a float64 model that a graph rounds to float32."""
    assert not check_engine(model_on("onnx", family, dtype)).passed


def leaking(self, name, states, layers, outputs=None, own=onnx_graph._Int8Builder._linear):
    """Return what int8 matrices make of states, and a little of what they make of those of all tokens."""
    product = own(self, name, states, layers)
    (mean,) = self._add("ReduceMean", [product])
    (little,) = self._add("Mul", [mean, self._weight(f"{name}_little", torch.tensor(1e-3))])
    return self._add("Add", [product, little], outputs or 1)[0]


@pytest.mark.parametrize(
    ("settings", "suits", "becomes"),
    [
        (("auto", "auto", "auto", CPU), True, ("int8", "onnx", "float32")),
        (("auto", "onnx", "auto", CPU), True, ("int8", "onnx", "float32")),
        (("auto", "auto", "auto", CPU), False, ("float", "auto", "auto")),
        (("auto", "eager", "auto", CPU), True, ("float", "eager", "auto")),
        (("auto", "auto", "float32", CPU), True, ("float", "auto", "float32")),
        (("auto", "auto", "auto", torch.device("cuda")), True, ("float", "auto", "auto")),
        (("float", "auto", "auto", CPU), True, ("float", "auto", "auto")),
        (("int8", "auto", "auto", CPU), False, ("int8", "onnx", "float32")),
    ],
)
@pytest.mark.parametrize("capability", ["AVX512", "DEFAULT"])
def test_weights_are_rounded_by_themselves_where_it_suits(settings, suits, becomes, capability, monkeypatch):
    """Catches eight bits on a processor without quick products, on a GPU, for other models, and against a choice."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    plain = ("float", *settings[1:3]) if settings[0] == "auto" and capability == "DEFAULT" else becomes
    assert choice.resolve_weights(*settings, suits) == plain


INT8 = {
    "leak": (onnx_graph._Int8Builder, "_linear", leaking, "depends on which tokens its forest has"),
    "mask": (ForestState, "_masks", EVERYTHING, "forests and single paths differ"),
    "rotations": (onnx_graph.Builder, "_rotations", flat, "int8 and float distributions differ"),
}


@pytest.mark.parametrize("fault", INT8)
def test_an_int8_model_is_checked_against_itself_and_its_float_model(fault, monkeypatch):
    """Catches distributions that depend on the rest of the forest, by less than a tolerance sees; and a wrong graph."""
    model = LanguageModel(toy_model(1, 2, head_size=16).float(), "toy", engine="onnx", weights="int8")
    pair = make_pair(model, None, toy_tokenizer())
    assert (pair.checks["target"].passed, pair.target.numbers, len(pair.fallbacks)) == (True, "int8", 1)
    overlap = re.search(r"int8: its distribution overlaps the float model's by (\S+)% in", pair.fallbacks[0])[1]
    assert 90 < float(overlap) < 100
    *patch, message = INT8[fault]
    monkeypatch.setattr(*patch)
    with pytest.raises(PairError, match=f"toy does not run in int8: .*{message}; leave weights at float"):
        make_pair(replace(model), None, toy_tokenizer())


def test_the_int8_check_says_how_near_and_how_far(monkeypatch):
    """Catches float and single paths taken for each other, and a mean for the largest move."""
    ours, alone, eager = (
        torch.tensor(rows).double().log()
        for rows in ([[0.5, 0.5], [0.2, 0.8]], [[0.5, 0.5], [0.3, 0.7]], [[0.6, 0.4], [0.4, 0.6]])
    )
    for name, logits in {"_states_of": ours, "_paths_of": alone}.items():
        monkeypatch.setattr(check, name, lambda model, logits=logits: lambda: logits)
    monkeypatch.setattr(check, "_two_iterations", lambda state, shift: ours)
    monkeypatch.setattr(check, "ROUGH", 9.0)
    model = LanguageModel(toy_model(1, 2, head_size=16).float(), "toy", engine="onnx", weights="int8")
    assert check.check_int8(model, lambda: eager)[1:] == pytest.approx((0.85, 0.1))


def tensors_of(cache):
    parts = [part for layer in cache.layers for part in vars(layer).values()]
    parts += [one for part in parts if isinstance(part, dict) for one in part.values()]
    return [part.clone() for part in parts if isinstance(part, torch.Tensor)]


WAYS = {
    "llama": (lambda: tiny_model("llama").model, ("states", "steps")),
    "mamba": (lambda: families.tiny_model("mamba"), ("steps",)),
    "mamba2": (lambda: families.tiny_model("mamba2"), ("states", "steps")),
}
"""Keys and values that grow, and recurrent states of one size; with the ways that are right for each."""


@pytest.mark.parametrize("name", WAYS)
def test_caches_for_each_path_see_what_it_sees(name, monkeypatch):
    """Catches a state of another path, a copy that shares its memory, padding that a later token sees, and a check
    that trusts a model which drops its state before several tokens."""
    make, ways = WAYS[name]
    model = LanguageModel(make(), name)
    for way in ("states", "steps"):
        worst = wandered(replace(model, attention=way), seed=0).worst
        assert (worst < 100 * CLOSE) == check_states(model, way).passed == (way in ways)
    cache = model.new_states()
    with torch.inference_mode():
        model.forward(torch.tensor([[3, 4, 5]]), cache=cache)
        before, twin = tensors_of(cache), recurrent.copied(cache, torch.tensor([0, 0]))
        model.forward(torch.tensor([[6], [7]]), cache=twin)
    assert all(map(torch.equal, before, tensors_of(cache)))
    shipped = recurrent.copied
    monkeypatch.setattr(recurrent, "copied", lambda cache, rows: shipped(cache, torch.zeros_like(rows)))
    assert not check_states(model, ways[0]).passed


def test_a_short_path_goes_on_where_it_ended():
    """Catches a short path that goes on behind the padding of a long one, and a row for a path within another."""
    model, root, prompt = replace(tiny_model("llama"), attention="states"), Node(None, -1, 0), [3, 8, 6, 2]
    state, rows = RecurrentState(model), list[int]()
    state.prefill(prompt, root)
    state.begin([root], 5)
    count = lambda _, __, inputs: rows.append(len(inputs["input_ids"]))  # noqa: E731
    hook = model.model.register_forward_pre_hook(count, with_kwargs=True)
    state.forward(torch.tensor([4, 5, 9, 7]), torch.tensor([0, 0, 2, 3]), (2, 1, 1))
    hook.remove()
    assert rows == [1, 2]
    below = state.forward(torch.tensor([11, 12]), torch.tensor([1, 4]), (2,))
    for logits, path in zip(below, ([4, 11], [5, 9, 7, 12]), strict=True):
        with torch.inference_mode():
            alone = model.model(torch.tensor([prompt + path])).logits[0, -1]
        assert float((logits - alone).abs().max()) < CLOSE


class Cuda(LanguageModel):
    device = torch.device("cuda")


@pytest.mark.parametrize(
    ("kind", "dtype", "free", "engine"),
    [
        (LanguageModel, torch.float32, 1e12, "onnx"),
        (LanguageModel, torch.float32, 1e3, "traced"),
        (LanguageModel, torch.bfloat16, 1e12, "traced"),
        (LanguageModel, torch.float64, 1e12, "traced"),
        (Cuda, torch.bfloat16, 1e12, "graph"),
        (Cuda, torch.bfloat16, 0, "eager"),
    ],
)
def test_auto_is_an_engine_by_rule(kind, dtype, free, engine, monkeypatch):
    """Catches an engine where it loses, weights a second time that do not fit, graphs on a GPU lent for seconds."""
    monkeypatch.setattr(choice, "free_bytes", lambda device: free)
    monkeypatch.setenv("SPACES_ZERO_GPU", "" if free else "1")
    model = toy_model(1, 1, head_size=16).to(dtype)
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
    """Catches joined weights beside the model's own, and a second copy where a model gets a graph twice."""
    model = model_on("onnx").model
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attention, mlp = model.model.layers[0].self_attn, model.model.layers[0].mlp
    for parts in ([attention.q_proj, attention.k_proj, attention.v_proj], [mlp.gate_proj, mlp.up_proj]):
        whole = onnx_graph.joined(parts)
        storages = {part.weight.untyped_storage().data_ptr() for part in parts}
        assert storages == {whole.untyped_storage().data_ptr(), onnx_graph.joined(parts).untyped_storage().data_ptr()}
        assert torch.equal(onnx_graph.joined(parts), torch.cat([part.weight for part in parts]))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(("engine", "kind"), [("traced", traced.TracedForward), ("onnx", OnnxForward)])
def test_one_forward_serves_decodes_side_by_side(engine, kind, capfd):
    """Catches a trace or a session per decode, decodes that write into each other's keys, warnings of tracing, and a
    model that no other process can be given."""
    model = model_on(engine)
    drivers, forward = [Driver(model, seed, 3 + seed) for seed in range(2)], model.runner(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for driver in drivers * 4:
            driver.iterate(depth=2, width=3, keep=2, layerwise=False, gap=0)
    assert capfd.readouterr() == ("", "")
    assert max(driver.worst for driver in drivers) < (CLOSE if engine == "traced" else FLOAT32)
    assert model.runner(kind) is forward
    copy = Driver(pickle.loads(pickle.dumps(model)), 0, 3)
    copy.iterate(depth=2, width=3, keep=2, layerwise=False, gap=0)
    assert copy.worst < (CLOSE if engine == "traced" else FLOAT32)


def test_the_buffers_of_graphs_grow_as_asked_and_are_reused(monkeypatch):
    """Catches buffers for the whole context, room beside the room asked for, buffers that two decodes share, that are
    never given back, or those of every model that was ever loaded."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32, 64, 128))
    runner = GraphRunner(model_on("graph"))
    for slots, used, capacity in ((10, 0, 16), (16, 10, 32), (31, 16, 32), (32, 31, 64), (20, 0, 64)):
        runner.reserve(slots, used)
        assert runner.cache.capacity == capacity
    assert [runner.fits(1, slots) for slots in (63, 64)] == [True, False]  # the last slot is for padding
    model = model_on("graph")
    first, second = new_state(model), new_state(model)
    assert (type(first), type(second)) == (GraphState, ForestState)
    del first
    third = new_state(model, 100)
    assert (type(third), third._runner.cache.capacity) == (GraphState, 128)
    alive = weakref.ref(third._runner)
    del second, third, model
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(("small", "forwards"), [(0, 3), (SMALL, 1)], ids=["large", "small"])
def test_forwards_take_all_threads_and_the_rest_one(monkeypatch, small, forwards):
    """Catches operations on small tensors that wait for each other's threads, a large model on one thread, and a
    program that is left with one thread while it reads the stream."""
    monkeypatch.setattr(language_model, "SMALL", small)
    pair, seen = toy_pair_on("eager"), {"forward": set(), "between": set()}
    for model in (pair.target, pair.draft):
        model.model.register_forward_pre_hook(lambda *_: seen["forward"].add(torch.get_num_threads()))
        model.new_cache()  # its shapes are found by a forward, once
    note = lambda *inputs: seen["between"].add(torch.get_num_threads()) or verify(*inputs)  # noqa: E731
    monkeypatch.setattr(decoder, "verify", note)
    seen["forward"].clear()
    with torch_threads(3):
        for _ in dsbd.stream(pair, "Once", dsbd.DecodingSettings(max_new_tokens=4)):
            assert torch.get_num_threads() == 3
    assert seen == {"forward": {forwards}, "between": {1}}


def test_a_cache_grows_moves_and_counts_its_peak():
    """Catches a copy of the whole buffer at every append, growth that loses slots, moves that reach only the layers
    shaped like the first or overwrite a source before it is read, and a peak that forgets that the old and the new
    buffer exist together while one is copied into the other."""
    shapes = [LayerShape((2, 3), (2, 3), torch.float64), LayerShape((1, 3), (2, 2), torch.float64)]
    numbers, cache, sizes = torch.rand(1, 2, 6 + GROWTH_SLOTS, 3, dtype=torch.float64), ForestCache(shapes, 5), []
    for start, end in ((0, 5), (5, 6), (6, 6 + GROWTH_SLOTS)):
        cache.reserve(end)
        for number, shape in enumerate(shapes):
            new = numbers[:, :, start:end]
            cache.update(new[:, : shape.keys[0]], -new[..., : shape.values[1]], number)
        sizes.append((cache.layers[0].keys.data_ptr(), cache.capacity, cache.peak_bytes // cache.slot_bytes))
    assert sizes[0][1:] == (5, 5)
    assert sizes[1] == sizes[2] == (sizes[1][0], 6 + GROWTH_SLOTS, 11 + GROWTH_SLOTS)
    cache.move(1, [9, 2, 40, 8, 1])
    whole = numbers[:, :, [0, 9, 2, 40, 8, 1]]
    for layer, shape in zip(cache.layers, shapes, strict=True):
        assert layer.get_seq_length() == cache.length == 6
        assert torch.equal(layer.keys[:, :, :6], whole[:, : shape.keys[0]])
        assert torch.equal(layer.values[:, :, :6], -whole[..., : shape.values[1]])
