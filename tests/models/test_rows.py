"""Every kind of row, on every engine and family, gives the logits of each path alone; a wrong forward is noticed.

A plain call replaces the captured CUDA graph, so buckets, padding, slots and masks are tested without a GPU.
"""

import random
from dataclasses import replace
from functools import cache

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel, GPTNeoConfig, GPTNeoForCausalLM, MixtralConfig

from benchmarks import families
from dsbd.errors import PairError
from dsbd.law.beams import Node
from dsbd.models.cache import GROWTH_SLOTS, PACKED, pack_groups, packed_attention
from dsbd.models.check import check_engine, check_forest, check_states
from dsbd.models.engines import graph, onnx_graph, traced
from dsbd.models.engines.graph import GraphRow
from dsbd.models.engines.onnx import OnnxRow
from dsbd.models.engines.traced import TracedRow
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import KEPT
from dsbd.models.rows import forest, states
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.states import StateRows
from tests.models.driver import CLOSE, Driver, wandered
from tests.models.tiny import FORESTS, VOCABULARY, WINDOW, tiny_model
from tests.toy_pair import toy_model, toy_tokenizer

EAGER_SOFTMAX, FLOAT32 = 1e-5, 1e-3
"""Bounds of rounding: the eager attention of transformers computes its softmax in float32 in any model."""
ROWS = {"eager": ForestRow, "traced": TracedRow, "fused": TracedRow, "graph": GraphRow, "onnx": OnnxRow}
ONNX = ("llama", "qwen2", "qwen3", "mistral windows", "granite", "phi3")
RUNS = [
    *((engine, family) for family in FORESTS for engine in ("eager", "traced", "graph")),
    ("fused", "llama"),
    *(("onnx", family) for family in ONNX),
]
NONE = torch.empty(0, dtype=torch.int64)


@pytest.fixture(autouse=True)
def _plain_capture(monkeypatch):
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: forward)


def model_on(engine: str, family: str = "llama", dtype: torch.dtype | None = None) -> LanguageModel:
    """Return a tiny model with an engine; its norms and biases differ from each other."""
    model = tiny_model(family, dtype=dtype or (torch.float32 if engine == "onnx" else torch.float64))
    for weight in model.model.parameters():
        if weight.dim() == 1:
            weight.data += torch.rand_like(weight)
    return replace(model, engine=engine)


@pytest.mark.parametrize(("engine", "family"), RUNS)
def test_a_row_sees_what_each_path_sees(engine, family):
    """Catches masks, positions, windows, settled slots, moves; a wrong rotation, scale, norm or order of heads; sizes
    that a trace took for constants; padding that is seen and masks of an earlier forest left behind."""
    model, close = model_on(engine, family), FLOAT32 if engine == "onnx" else CLOSE
    is_eager = model.config._attn_implementation == "eager"
    bound = FLOAT32 if engine == "onnx" else EAGER_SOFTMAX if is_eager else 1e-10
    assert engine == "eager" or check_engine(model).error < bound
    for seed in range(2):
        driver = wandered(model, seed)
        assert type(driver.rows[0]) is ROWS[engine]
        assert driver.worst < close
        assert engine != "graph" or driver.rows[0].cache.buffers is driver.rows[0]._runner.cache.buffers
        del driver  # it has the buffers of graph


@pytest.mark.parametrize("seed", range(6))
def test_rare_shapes_of_the_trie(seed):
    """Catches settling with gaps, beams that part at the root, one beam."""
    source = random.Random(100 + seed)
    driver = Driver(cache(tiny_model)(source.choice(["llama", "mistral windows", "gpt2"])), seed, source.randint(1, 12))
    for _ in range(9):
        driver.iterate(source.randint(1, 3), source.randint(1, 4), source.randint(1, 5), seed % 2 == 0, seed % 3)
    assert driver.worst < CLOSE


@pytest.mark.parametrize(
    ("engine", "slots"), [("eager", None), ("onnx", None), ("graph", (16, 32)), ("graph", (16, 32, 64, 128, 256))]
)
def test_a_long_decode_outgrows_its_buffers(engine, slots, monkeypatch):
    """Catches keys lost, or written past the end, where buffers grow or are the largest; a settled part that stops."""
    if slots is not None:
        monkeypatch.setattr(graph, "SLOT_BUCKETS", slots)
    driver = Driver(model_on(engine, "mistral windows"), 5, 2)
    for _ in range(16):
        driver.iterate(depth=6, width=3, keep=2, layerwise=False, gap=0, deepest=True)
    row = driver.rows[0]
    assert driver.worst < (FLOAT32 if engine == "onnx" else CLOSE)
    assert row.slots > GROWTH_SLOTS
    assert row.peak_bytes >= row.peak_slots * row.cache.slot_bytes
    assert len(driver.beams[0].token_ids()) - row._settled_nodes < 20
    if engine == "graph":
        assert (row.cache.buffers is row._runner.cache.buffers) == (slots != (16, 32))


@pytest.mark.parametrize("packed", [False, True], ids=["stock", "packed"])
@pytest.mark.parametrize("family", FORESTS)
def test_a_prompt_in_parts_is_the_prompt_in_one(family, packed, monkeypatch):
    """Catches positions, windows or masks of a later part of a prompt."""
    model, source = tiny_model(family), random.Random(7)
    if packed:
        pack_groups(model.model)
    prompt, found = [source.randrange(VOCABULARY) for _ in range(2 * WINDOW + 4)], []
    for size in (len(prompt), WINDOW - 1, 1):
        monkeypatch.setattr(forest, "PREFILL_TOKENS", size)
        row, root = ForestRow(model), Node(None, -1, 0)
        row.prefill(prompt, root)
        row.open([root], 0)
        with torch.inference_mode():
            found.append((row.feed(NONE, NONE, ()), row.slots, row.forwards))
    for logits, slots, forwards in found[1:]:
        assert float((logits - found[0][0]).abs().max()) < CLOSE
        assert (slots, forwards) == found[0][1:]


@pytest.mark.parametrize("family", FORESTS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_check_passes_families_that_work(family, dtype):
    """Catches a tolerance so tight that a right model is decoded through paths, many times slower."""
    assert check_forest(tiny_model(family, seed=1, dtype=dtype)).passed


SHIPPED_MASKS, TRACED_FORWARD = ForestRow._masks, traced._OnBuffers.forward
EVERYTHING = lambda self, sight, positions: SHIPPED_MASKS(self, torch.zeros_like(sight), positions)  # noqa: E731
NO_WINDOW = lambda self, full, positions, window: full  # noqa: E731


@pytest.mark.parametrize(
    ("family", "name", "wrong"),
    [
        *((family, "_masks", EVERYTHING) for family in ("llama", "mistral windows", "gpt2", "gemma3 windows")),
        *((family, "_windowed", NO_WINDOW) for family in ("mistral windows", "gemma3 windows")),
    ],
)
def test_a_wrong_mask_is_seen(family, name, wrong, monkeypatch):
    """Catches comparisons and a check at load too lax for one token too many or a forgotten window."""
    monkeypatch.setattr(ForestRow, name, wrong)
    driver = Driver(tiny_model(family), 0, WINDOW + 9)
    for _ in range(3):
        driver.iterate(depth=3, width=3, keep=3, layerwise=False, gap=0)
    assert driver.worst > 100 * CLOSE
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        assert not check_forest(tiny_model(family, dtype=dtype)).passed


def twisted(self, tokens, positions, *rest):
    return TRACED_FORWARD(self, tokens, positions * 0 + int(positions[0, 0]), *rest)


def flat(self):
    return [self._weight(name, torch.ones(128, self._size // 2)) for name in ("cosines", "sines")]


WRONG = {
    "traced": (traced._OnBuffers, "forward", twisted, "eager", "runs eagerly"),
    "fused": (traced, "_rotated", lambda states, cosines, sines: states * cosines, "traced", "is traced"),
    "graph": (graph, "cuda_graph", lambda forward: lambda: 0.7 * forward(), "eager", "runs eagerly"),
    "onnx": (onnx_graph.Builder, "_rotations", flat, "traced", "runs on torch"),
}


@pytest.mark.parametrize("engine", WRONG)
def test_the_check_sees_a_wrong_engine(engine, monkeypatch):
    """Catches a check at load that lets a wrong forward pass; the model takes another engine then."""
    *place, instead, told = WRONG[engine]
    monkeypatch.setattr(*place)
    pair = make_pair(LanguageModel(toy_model(1, 1, head_size=16).float(), "toy"), None, toy_tokenizer(), engine)
    assert pair.target.engine == instead
    assert pair.fallbacks == [f"target model {told}: {engine} and eager forwards differ"]


@pytest.mark.parametrize(
    ("engine", "family", "dtype"),
    [
        *(("fused", family, torch.float64) for family in FORESTS if family != "llama"),
        *(("onnx", family, torch.float32) for family in FORESTS if family not in ONNX),
        ("onnx", "llama", torch.float64),
    ],
)
def test_other_models_are_refused(engine, family, dtype):
    """Catches another block that is computed as Llama's, and a float64 model that a graph rounds to float32."""
    assert not check_engine(model_on(engine, family, dtype)).passed


@pytest.mark.parametrize("name", ["bloom", "gpt_neo", "mamba", "mpt", "roberta", "rwkv"])
def test_a_family_decodes_as_transformers_does(name):
    """Catches positions, biases, caches and states that are not those of the family, against ``generate`` at
    temperature 0: one family of each way. ``tests/models/tiny.py`` has the usual ones."""
    found = families.decoded(name)
    assert found.gap > families.CLEAR, "the best two tokens are too close to tell"
    assert found.ids == found.expected
    way = found.pair.target.attention
    assert way == found.pair.draft.attention == families.told_ways()[name]
    assert way == "forest" or all(KEPT[way] in line for line in found.pair.fallbacks)


def test_models_that_no_check_of_logits_would_find():
    """Catches a model that sees later tokens, experts that a trace fixes, and GPT-Neo in the forest: its window of 256
    slots is longer than the check."""
    small = {"vocab_size": 260, "hidden_size": 16, "num_attention_heads": 4, "intermediate_size": 24}
    torch.manual_seed(0)
    bert = BertLMHeadModel(BertConfig(**small, num_hidden_layers=2)).eval()
    with torch.no_grad():
        for weight in bert.parameters():
            weight.normal_(0.0, 0.4)
    with pytest.raises(PairError, match=r"not causal: .* is_decoder=True"):
        make_pair(LanguageModel(bert, "bert"), None, object())
    routed = MixtralConfig(**small, num_hidden_layers=1, num_local_experts=4, num_key_value_heads=2)
    mixed = families.AutoModelForCausalLM.from_config(routed, trust_remote_code=False).eval()
    pair = make_pair(mixed, None, toy_tokenizer(), "traced")
    assert (pair.target.engine, "experts" in pair.fallbacks[0]) == ("eager", True)
    local = GPTNeoConfig(vocab_size=260, hidden_size=16, num_layers=2, num_heads=4, intermediate_size=24,
                         attention_types=[[["global", "local"], 1]], max_position_embeddings=512)  # fmt: skip
    outcome = check_forest(LanguageModel(GPTNeoForCausalLM(local).eval(), "gpt-neo"))
    assert (outcome.passed, "window" in outcome.reason) == (False, True)


def tensors_of(cache):
    parts = [part for layer in cache.layers for part in vars(layer).values()]
    parts += [one for part in parts if isinstance(part, dict) for one in part.values()]
    return [part.clone() for part in parts if isinstance(part, torch.Tensor)]


STATES = {
    "llama": (lambda: tiny_model("llama").model, ("states", "steps")),
    "mamba": (lambda: families.tiny_model("mamba"), ("steps",)),
    "mamba2": (lambda: families.tiny_model("mamba2"), ("states", "steps")),
}
"""Keys and values that grow, and recurrent states of one size; with the ways that are right for each."""


@pytest.mark.parametrize("name", STATES)
def test_caches_for_each_path_see_what_it_sees(name, monkeypatch):
    """Catches a state of another path, a copy that shares its memory, padding that a later token sees, and a check
    that trusts a model which drops its state before several tokens."""
    make, ways = STATES[name]
    model = LanguageModel(make(), name)
    for way in ("states", "steps"):
        worst = wandered(replace(model, attention=way), seed=0).worst
        assert (worst < 100 * CLOSE) == check_states(model, way).passed == (way in ways)
    kept = model.new_states()
    with torch.inference_mode():
        model.forward(torch.tensor([[3, 4, 5]]), cache=kept)
        before, twin = tensors_of(kept), states.copied(kept, torch.tensor([0, 0]))
        model.forward(torch.tensor([[6], [7]]), cache=twin)
    assert all(torch.equal(*pair) for pair in zip(before, tensors_of(kept), strict=True))
    shipped = states.copied
    monkeypatch.setattr(states, "copied", lambda cache, rows: shipped(cache, torch.zeros_like(rows)))
    assert not check_states(model, ways[0]).passed


def test_what_caches_for_each_path_feed_and_take(monkeypatch):
    """Catches paths fed again from their beam in every layer of a draft, and a short path
    that goes on behind the padding of a long one."""
    model, root, prompt = replace(tiny_model("llama"), attention="states"), Node(None, -1, 0), [3, 8, 6, 2]
    row = StateRows(model)
    row.prefill(prompt, root)
    row.open([root], 5)
    row.feed(torch.tensor([4, 5, 9, 7]), torch.tensor([0, 0, 2, 3]), (2, 1, 1))
    below = row.feed(torch.tensor([11, 12]), torch.tensor([1, 4]), (2,))
    for logits, path in zip(below, ([4, 11], [5, 9, 7, 12]), strict=True):
        with torch.inference_mode():
            alone = model.model(torch.tensor([prompt + path])).logits[0, -1]
        assert float((logits - alone).abs().max()) < CLOSE
    seen, forward = [], LanguageModel.forward
    monkeypatch.setattr(LanguageModel, "forward", lambda self, tokens, **how: (
        seen.append(tuple(tokens.shape)), forward(self, tokens, **how))[1])  # fmt: skip
    row.commit([])
    row = StateRows(model)
    row.prefill([3] * 10, root)
    row.open([root], 6)
    row.feed(NONE, NONE, ())
    for first in (0, 1, 3):
        row.feed(torch.tensor([first, 9]), torch.tensor([first, first]), (2,))
    assert seen[1:] == [(1, 1), (2, 1), (2, 1), (2, 1)]


@pytest.mark.parametrize(("heads", "groups", "count", "slots"), [(6, 2, 3, 9), (8, 1, 1, 1), (4, 4, 5, 5)])
@pytest.mark.parametrize("mask", ["additive", "boolean", None])
def test_groups_as_rows_of_one_query_are_the_same_sums(heads, groups, count, slots, mask):
    """Catches heads that read another group's keys, a mask in another order, and a prompt that sees what comes."""
    made = torch.Generator().manual_seed(7)
    slots = slots if mask else count
    shapes = [(2, heads, count, 8), (2, groups, slots, 8), (2, groups, slots, 8)]
    given = [torch.randn(shape, generator=made, dtype=torch.float64) for shape in shapes]
    seen = torch.rand(2, 1, count, slots, generator=made) < 0.5
    seen[..., -1] = True
    added = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -1e300)
    layer = type("Layer", (), {"num_key_value_groups": heads // groups, "is_causal": True})()
    masked = {"additive": added, "boolean": seen, None: None}[mask]
    ours, _ = packed_attention(layer, *given, masked, scaling=0.3)
    keys, values = (part.repeat_interleave(heads // groups, dim=1) for part in given[1:])
    scores = 0.3 * given[0] @ keys.transpose(2, 3)
    hidden = ~seen if mask else torch.ones(count, count, dtype=torch.bool).triu(1)
    plain = scores.masked_fill(hidden, -torch.inf).softmax(-1) @ values
    assert float((ours - plain.transpose(1, 2)).abs().max()) < 1e-12


@pytest.mark.parametrize("family", FORESTS)
def test_models_with_groups_are_packed_and_say_the_same(family):
    """Catches a model that keeps copying its keys, or says something else once it is packed."""
    model, tokens = tiny_model(family).model, torch.arange(9)[None] % VOCABULARY
    with torch.inference_mode():
        before = model(tokens).logits
        pack_groups(model)
        after = model(tokens).logits
    grouped = family not in ("gpt2", "gpt_neox", "opt", "phi", "gemma2 windows")  # no groups, or eager attention
    assert (model.config._attn_implementation == PACKED) == grouped
    assert float((after - before).abs().max()) < CLOSE
