"""A memory: the formulas of the paper, reading a prompt segment by segment, and its folder."""

import json
import math
import shutil
from itertools import pairwise

import pytest
import torch
from safetensors.torch import load_file, save_file

from dsbd.errors import PairError, PromptError, StoppedError
from dsbd.memory.files import CONFIG, WEIGHTS, LowRank, load_memory, save_memory
from dsbd.memory.reading import Memory, MemorySettings, segments_of
from dsbd.util import value_of
from tests.memory.toys import random_network
from tests.toy_pair import toy_model, toy_pair

SIZE = 6
LAYER = "model.layers.1.mlp.up_proj"


def states(embedded: torch.Tensor) -> torch.Tensor:
    """A model that is causal and knows the order: each state is a mean of what came before, with a turn."""
    counts = torch.arange(1, embedded.shape[1] + 1)[:, None]
    return torch.tanh(embedded.cumsum(1) / counts + embedded.roll(1, dims=2) * counts**0.5)


def written_out(network, segments, kept):
    """Return the last segment's memory and weights, for one row, as the paper has them."""
    first, summary = network.first, network.summary
    query, key = network.query, network.key
    memories, weights = [], []
    for number, segment in enumerate(segments):
        recalled = first
        if memories:
            half = segment[: network.settings.segment_tokens // 2]
            asked = states(torch.stack([summary, *half, summary])[None])[0, -1]
            cached = memories[-network.settings.cached_memories :]
            scores = [float((asked @ query) @ (memory @ key)) / math.sqrt(SIZE) for memory in cached]
            odds = [math.exp(score) for score in scores]
            weights = [odd / sum(odds) for odd in odds]
            recalled = sum(weight * memory for weight, memory in zip(weights, cached, strict=True))
        sensory = segments[number - 1][-kept:] if number else []
        memories.append(states(torch.stack([recalled, *sensory, *segment, recalled])[None])[0, -1])
    return recalled, weights


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("cached", [100, 2])
def test_recall_is_what_the_paper_writes(count: int, cached: int) -> None:
    """Catches a wrong scale, a value matrix, a summary of the whole segment, sensory tokens of another segment, and a
    cache that forgets the wrong end."""
    network = random_network(SIZE, cached_memories=cached).double()
    segments = torch.randn(1, count, 8, SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(count))
    memories = []
    for number in range(count):
        past = torch.stack(memories, dim=1) if memories else segments[:, 0, :0]
        found = network.recalled(states, segments[:, number], past)
        sensory = segments[:, number - 1, -3:] if number else segments[:, 0, :0]
        memories.append(network.remember(states, found.memory, sensory, segments[:, number]))
    recalled, weights = written_out(network, segments[0], 3)
    assert found.weights.shape == (1, min(count - 1, cached))
    torch.testing.assert_close(found.memory[0], recalled, rtol=1e-5, atol=1e-6)  # scores are float32
    torch.testing.assert_close(found.weights[0].double(), torch.tensor(weights).double(), rtol=1e-5, atol=1e-6)


def test_a_flat_memory_is_the_one_before() -> None:
    """Catches a baseline (RMT) that recalls."""
    network = random_network(SIZE, recall=False)
    assert {name for name, _ in network.named_parameters()} == {"first"}
    memories = torch.randn(2, 4, SIZE)
    found = network.recalled(states, torch.randn(2, 8, SIZE), memories)
    assert torch.equal(found.memory, memories[:, -1])
    assert found.weights.tolist() == [[0.0, 0.0, 0.0, 1.0]] * 2


@pytest.mark.parametrize("tokens", [1, 7, 8, 9, 16, 17, 40])
def test_segments_are_the_whole_prompt_and_the_last_is_full(tokens: int) -> None:
    """Catches a token that is lost or read twice, an empty segment, and a short segment in the window."""
    found = segments_of(tokens, 8)
    assert [place for span in found for place in span] == list(range(tokens))
    assert all(len(span) == 8 for span in found[1:])
    assert 1 <= len(found[0]) <= 8


@pytest.mark.parametrize("tokens", [17, 24, 61])
def test_reading_equals_the_steps_one_by_one(tokens: int) -> None:
    """Catches sensory tokens or recalled memories of another segment, and ids that are not the end of the prompt."""
    model, network = toy_pair().target, random_network(32)
    ids = [(37 * place + 5) % 250 for place in range(tokens)]
    steps = list(Memory("toy", network).reading(model, ids))
    found = value_of(Memory("toy", network).reading(model, ids))
    starts = [span.start for span in segments_of(tokens, 8)] + [tokens]
    assert [(step.done, step.total) for step in steps] == [(n + 1, len(starts) - 1) for n in range(len(starts) - 1)]
    with torch.inference_mode():
        memories = []
        for start, end in pairwise(starts):
            past = torch.stack(memories, dim=1) if memories else model.embed([])
            recalled = network.recalled(model.hidden_states, model.embed(ids[start:end]), past)
            sensory = model.embed(ids[max(0, start - 3) : start])
            memories.append(
                network.remember(model.hidden_states, recalled.memory, sensory, model.embed(ids[start:end]))
            )
    assert torch.equal(found.embedding, recalled.memory[0])
    assert found.segments[-1].weights == tuple(recalled.weights[0].tolist())
    assert sum(found.segments[-1].weights) == pytest.approx(1.0, abs=1e-5)
    assert (found.ids, found.sensory) == (ids[starts[-2] - 3 :], 3)
    assert [token for segment in found.segments for token in segment.ids] == ids
    assert [segment.first_memory for segment in found.segments] == [0] * len(found.segments)


def test_a_short_first_segment_gives_few_sensory_tokens() -> None:
    """Catches sensory tokens counted from before the prompt."""
    found = value_of(Memory("toy", random_network(32)).reading(toy_pair().target, list(range(10))))
    assert (found.ids, found.sensory) == (list(range(10)), 2)
    assert Memory("toy", random_network(32)).window_of(10) == 1 + 10


@pytest.mark.parametrize("tokens", [0, 8])
def test_a_prompt_with_nothing_to_read_is_refused(tokens: int) -> None:
    """Catches an empty segment, and a traceback for one."""
    with pytest.raises(PromptError, match=f"a prompt of {tokens} tokens has nothing before its last segment of 8"):
        value_of(Memory("toy", random_network(32)).reading(toy_pair().target, range(tokens)))


def test_the_last_prompt_is_read_once() -> None:
    """Catches a race that reads the prompt again for every method, and a memory of an earlier prompt."""
    memory, model = Memory("toy", random_network(32)), toy_pair().target
    first = value_of(memory.reading(model, range(30)))
    assert value_of(memory.reading(model, range(30))) is first
    assert value_of(memory.reading(model, range(31))).digest != first.digest


def test_reading_can_be_stopped() -> None:
    """Catches a stop that waits for the end of a long prompt, and half a memory that is kept."""
    memory, calls = Memory("toy", random_network(32)), []

    def check() -> None:
        calls.append(None)
        if len(calls) == 3:
            raise StoppedError("stopped")

    with pytest.raises(StoppedError):
        value_of(memory.reading(toy_pair().target, range(60), check))
    assert len(calls) == 3
    assert len(value_of(memory.reading(toy_pair().target, range(60))).segments) == 8


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ({"segment_tokens": 1}, "segment_tokens of the memory is 1; it must be from 2 to"),
        ({"segment_tokens": 2**40}, "segment_tokens of the memory is 1099511627776"),
        ({"sensory_tokens": -1}, "sensory_tokens of the memory is -1"),
        ({"sensory_tokens": 9}, "sensory_tokens of the memory is 9, more than a segment's 8"),
        ({"cached_memories": 0}, "cached_memories of the memory is 0"),
        ({"cached_memories": 2.5}, r"cached_memories of the memory is 2\.5; it must be a whole number"),
        ({"recall": 1}, "recall of the memory is 1; it must be true or false"),
        ({"hidden_size": True}, "hidden_size of the memory is True"),
    ],
)
def test_impossible_sizes_are_named(sizes: dict, said: str) -> None:
    with pytest.raises(PairError, match=said):
        MemorySettings(**{"hidden_size": 32, "segment_tokens": 8, "sensory_tokens": 2, **sizes})


def low_rank(outputs: int = 48) -> LowRank:
    made = torch.Generator().manual_seed(3)
    return LowRank(torch.randn(outputs, 2, generator=made), torch.randn(2, 32, generator=made))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memories") / "toy"
    save_memory(folder, random_network(32), {LAYER: low_rank()}, toy_model(1, 2), "toy/target")
    return folder


def test_what_is_saved_comes_back(saved) -> None:
    """Catches weights that are lost, and adapters that are added wrongly or to another layer."""
    model, before = toy_model(1, 2), toy_model(1, 2)
    memory = load_memory(saved, model, "toy/target")
    assert (memory.name, memory.settings) == ("toy", random_network(32).settings)
    for name, weight in random_network(32).named_parameters():
        assert torch.equal(memory.network.get_parameter(name), weight.bfloat16().float())
    changed = [name for name, weight in before.named_parameters() if not torch.equal(weight, model.get_parameter(name))]
    assert changed == [f"{LAYER}.weight"]
    up, down = (half.bfloat16().float() for half in low_rank())
    expected = before.get_parameter(f"{LAYER}.weight") + (up @ down)
    torch.testing.assert_close(model.get_parameter(f"{LAYER}.weight"), expected, rtol=1e-5, atol=1e-6)


def test_a_memory_of_another_model_is_refused(saved) -> None:
    """Catches a memory added to a model of other weights or another size, and one not known again in another dtype."""
    other = toy_model(2, 2)
    before = {name: weight.clone() for name, weight in other.state_dict().items()}
    with pytest.raises(PairError, match=r"was made for 'toy/target', and mine is another model \(weights: others\)"):
        load_memory(saved, other, "mine")
    assert all(torch.equal(weight, before[name]) for name, weight in other.state_dict().items())
    with pytest.raises(PairError, match=r"is another model \(layers: 2, not 3\); load it with the model"):
        load_memory(saved, toy_model(1, 3), "mine")
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        assert load_memory(saved, toy_model(1, 2).to(dtype), "toy/target").name == "toy"


def _config(change):
    def spoil(folder) -> None:
        config = json.loads((folder / CONFIG).read_text())
        change(config)
        (folder / CONFIG).write_text(json.dumps(config))

    return spoil


def _tensors(change):
    def spoil(folder) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS)

    return spoil


SPOILED = {
    "no config": (lambda folder: (folder / CONFIG).unlink(), "is not a folder with a config.json"),
    "no json": (lambda folder: (folder / CONFIG).write_text("{"), "is damaged: config.json is not JSON"),
    "deep json": (lambda folder: (folder / CONFIG).write_text("[" * 100_000), "is damaged: config.json is not JSON"),
    "a list": (lambda folder: (folder / CONFIG).write_text("[]"), "has the format 'list', expected 'dsbd-memory/1'"),
    "another format": (_config(lambda config: config.update(format="x")), "has the format 'x'"),
    "no sizes": (_config(lambda config: config.pop("memory")), "the sizes in config.json are missing or unknown"),
    "unknown size": (_config(lambda config: config["memory"].update(more=1)), "the sizes in config.json are missing"),
    "no model": (_config(lambda config: config.pop("model")), "does not say which model it was made for"),
    "odd sample": (_config(lambda config: config["model"].update(sample="x")), "the sample in config.json is not"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "memory.safetensors cannot be read"),
    "half a file": (
        lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:200]),
        "memory.safetensors cannot be read",
    ),
    "a pickle": (lambda folder: (folder / WEIGHTS).write_bytes(b"\x80\x04."), "memory.safetensors cannot be read"),
    "no query": (_tensors(lambda tensors: tensors.pop("query")), "query in memory.safetensors is missing"),
    "small key": (_tensors(lambda tensors: tensors.update(key=torch.eye(3))), "key in memory.safetensors is missing"),
    "not a number": (_tensors(lambda tensors: tensors["first"].fill_(torch.nan)), "first in memory.safetensors"),
    "half an adapter": (
        _tensors(lambda tensors: tensors.pop(f"adapters.{LAYER}.down")),
        "does not fit its other half",
    ),
    "an adapter of another shape": (
        _tensors(lambda tensors: tensors.update({f"adapters.{LAYER}.up": torch.zeros(9, 2)})),
        "of another shape; it was made for another model",
    ),
    "an adapter of no layer": (
        _tensors(
            lambda tensors: tensors.update({"adapters.x.up": torch.zeros(9, 2), "adapters.x.down": torch.zeros(2, 9)})
        ),
        "adds to a layer 'x', which the model does not have",
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_damaged_memory_is_one_sentence(saved, tmp_path, name) -> None:
    """Catches a traceback, code that runs, and a model that is half changed."""
    spoil, said = SPOILED[name]
    folder = tmp_path / "toy"
    shutil.copytree(saved, folder)
    spoil(folder)
    model = toy_model(1, 2)
    with pytest.raises(PairError, match=said) as caught:
        load_memory(folder, model, "toy/target")
    assert "\n" not in str(caught.value)
    before = toy_model(1, 2).state_dict()
    assert all(torch.equal(weight, before[key]) for key, weight in model.state_dict().items())


@pytest.mark.parametrize("given", ["", "nowhere", 5, None])
def test_a_name_that_is_no_folder_is_named(given) -> None:
    with pytest.raises(PairError, match="give the folder of a memory, or"):
        load_memory(given, toy_model(1, 2), "toy/target")
