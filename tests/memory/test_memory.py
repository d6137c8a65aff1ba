"""A memory: the formulas of the paper, reading segment by segment, its folder; and decoding behind it."""

import json
import math
import os
import shutil
from dataclasses import replace
from unittest.mock import Mock

import pytest
import torch
from safetensors.torch import load_file, save_file

import dsbd
from dsbd.api import DecodeRequest
from dsbd.bench.measure import log_likelihood
from dsbd.errors import PairError, PromptError, StoppedError
from dsbd.memory.files import CONFIG, WEIGHTS, LowRank, load_memory, save_memory
from dsbd.memory.reading import Memory, MemoryNetwork, MemorySettings, segments_of
from dsbd.models.making import make_pair
from dsbd.tracing.trace import Trace, canonical_digest
from dsbd.util import value_of
from tests.toy_pair import EOS, read_settings, toy_model, toy_pair


def random_network(hidden_size: int, seed: int = 0, **sizes) -> MemoryNetwork:
    """Make a network whose recall depends on what it reads."""
    network = MemoryNetwork(MemorySettings(hidden_size, **{"segment_tokens": 8, "sensory_tokens": 3, **sizes}))
    noise = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=noise) * 0.5)
    return network.eval().requires_grad_(False)


LAYER = "model.layers.1.mlp.up_proj"


def written_out(model, network, ids, spans):
    """Return what the last segment remembers and with which weights, as the paper has it."""
    first, summary, query, key = network.first, network.summary, network.query, network.key
    memories, weights = [], []

    def last_state(embeddings):
        return model.hidden_states(torch.stack(embeddings)[None])[0, -1]

    for span in spans:
        segment, recalled = [*model.embed(ids[span.start : span.stop])[0]], first
        if memories:
            about = last_state([summary, *segment[: network.settings.segment_tokens // 2], summary])
            cached = memories[-network.settings.cached_memories :]
            odds = [math.exp(float((about @ query) @ (memory @ key)) / math.sqrt(32)) for memory in cached]
            weights = [odd / sum(odds) for odd in odds]
            recalled = sum(weight * memory for weight, memory in zip(weights, cached, strict=True))
        sensory = [*model.embed(ids[max(0, span.start - 3) : span.start])[0]]
        memories.append(last_state([recalled, *sensory, *segment, recalled]))
    return recalled, weights


@pytest.mark.parametrize("tokens", [1, 7, 8, 9, 24, 61])
@pytest.mark.parametrize("cached", [100, 2])
def test_reading_is_what_the_paper_writes(tokens: int, cached: int) -> None:
    """Catches a wrong scale, a value matrix, a summary of the whole segment, sensory tokens of another segment or from
    before the prompt, a cache that forgets the wrong end, weights of other segments than they are told to be, ids that
    are not the end of the prompt, and a short segment in the window."""
    model, network = toy_pair().target, random_network(32, cached_memories=cached).double()
    ids, spans = [(37 * index + 5) % 250 for index in range(tokens)], segments_of(tokens, 8)
    memory, steps = Memory("toy", network), []
    read = value_of(memory.reading(model, ids), steps.append)
    assert [(step.done, step.total) for step in steps] == [(n + 1, len(spans)) for n in range(len(spans))]
    with torch.inference_mode():
        recalled, weights = written_out(model, network, ids, spans)
    torch.testing.assert_close(read.embedding, recalled, rtol=1e-4, atol=1e-5)  # scores are float32
    assert read.segments[-1].weights == pytest.approx(weights, abs=1e-5)
    sensory = min(3, spans[-1].start)
    assert (read.ids, read.sensory) == (ids[spans[-1].start - sensory :], sensory)
    assert memory.window_of(tokens) == 1 + len(read.ids)
    assert [token for segment in read.segments for token in segment.ids] == ids
    assert all(len(span) == 8 for span in spans[1:])
    assert 1 <= len(spans[0]) <= 8
    kept = [range(segment.first_memory, segment.first_memory + len(segment.weights)) for segment in read.segments]
    assert kept == [range(max(0, number - cached), number) for number in range(len(spans))]


def test_the_last_prompt_is_read_once() -> None:
    """Catches a race that reads the prompt again for every method, and a memory of an earlier prompt or model."""
    memory, model = Memory("toy", random_network(32)), toy_pair().target
    first = value_of(memory.reading(model, range(30)))
    assert value_of(memory.reading(model, range(30))) is first
    assert value_of(memory.reading(model, range(31))).digest != first.digest
    value_of(memory.reading(model, range(30)))
    last = (model, tuple(range(30)), first)
    overtaken = type("", (Memory,), {"_latest": property(lambda _: last, lambda *_: None)})("toy", memory.network)
    assert value_of(overtaken.reading(model, range(31))).digest != first.digest  # another decode was quicker
    own = value_of(memory.reading(toy_pair().draft, range(30)))
    assert own.digest == value_of(Memory("toy", memory.network).reading(toy_pair().draft, range(30))).digest


def low_rank() -> LowRank:
    noise = torch.Generator().manual_seed(3)
    return LowRank(torch.randn(48, 2, generator=noise), torch.randn(2, 32, generator=noise))


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


def written(name: str, content: bytes):
    return lambda folder: (folder / name).write_bytes(content)


def config(change):
    def spoil(folder) -> None:
        content = json.loads((folder / CONFIG).read_text())
        change(content)
        (folder / CONFIG).write_text(json.dumps(content))

    return spoil


def tensors(**fields: torch.Tensor | None):
    """Set tensors by their names, or leave them out."""

    def spoil(folder) -> None:
        content = load_file(folder / WEIGHTS) | fields
        save_file({name: tensor for name, tensor in content.items() if tensor is not None}, folder / WEIGHTS)

    return spoil


UP, DOWN = f"adapters.{LAYER}.up", f"adapters.{LAYER}.down"
OTHER = {"adapters.x.up": torch.zeros(9, 2), "adapters.x.down": torch.zeros(2, 9)}
SIZES, UNREADABLE = "the sizes in config.json are missing or unknown", "memory.safetensors cannot be read"
SPOILED = {
    "no config": (lambda folder: (folder / CONFIG).unlink(), "is not a folder with a config.json"),
    "no json": (written(CONFIG, b"{"), "is damaged: config.json is not JSON"),
    "a list": (written(CONFIG, b"[]"), "has the format 'list', expected 'dsbd-memory/1'"),
    "another format": (config(lambda content: content.update(format="x")), "has the format 'x'"),
    "no sizes": (config(lambda content: content.pop("memory")), SIZES),
    "unknown size": (config(lambda content: content["memory"].update(more=1)), SIZES),
    "no model": (config(lambda content: content.pop("model")), "does not say which model it was made for"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), UNREADABLE),
    "half a file": (lambda folder: os.truncate(folder / WEIGHTS, 200), UNREADABLE),
    "a pickle": (written(WEIGHTS, b"\x80\x04."), UNREADABLE),
    "no query": (tensors(query=None), "query in memory.safetensors is missing"),
    "small key": (tensors(key=torch.eye(3)), "key in memory.safetensors is missing"),
    "half an adapter": (tensors(**{DOWN: None}), "does not fit its other half"),
    "another shape": (tensors(**{UP: torch.zeros(9, 2)}), "of another shape; it was made for another model"),
    "no layer": (tensors(**OTHER), "adds to a layer 'x', which the model does not have"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_damaged_memory_is_one_sentence(saved, tmp_path, name) -> None:
    """Catches a traceback, code that runs, and a model that is half changed."""
    spoil, message = SPOILED[name]
    folder = shutil.copytree(saved, tmp_path / "toy")
    spoil(folder)
    model = toy_model(1, 2)
    with pytest.raises(PairError, match=message) as caught:
        load_memory(folder, model, "toy/target")
    assert "\n" not in str(caught.value)
    before = toy_model(1, 2).state_dict()
    assert all(torch.equal(weight, before[key]) for key, weight in model.state_dict().items())


LONG = "In a big wood there lived a small bear who did not like honey at all. " * 3
CONTEXT = 128


def remembering(pair: dsbd.Pair, **sizes) -> dsbd.Pair:
    """Return a pair whose target has a random memory."""
    network = random_network(pair.target.config.hidden_size, **sizes).double()
    target = replace(pair.target, memory=Memory("toy", network))
    return make_pair(target, pair.draft, pair.tokenizer, engine="eager")


@pytest.fixture(scope="module")
def pair() -> dsbd.Pair:
    return remembering(toy_pair(), segment_tokens=24)


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_log_weights_are_those_behind_the_memory(pair, method) -> None:
    """Catches a method whose target reads the window without its memory."""
    window = value_of(pair.fitting(pair.encode(LONG), 6))
    for beam in dsbd.decode(pair, LONG, read_settings(method, max_new_tokens=6, block=1)).beams:
        again = log_likelihood(pair.target, window.ids, beam.token_ids, window.memory.embedding)
        assert beam.log_weight == pytest.approx(again, abs=1e-6)


def test_guesses_change_nothing_behind_a_memory(pair) -> None:
    """Catches noise of another prompt, or a target that reads another memory, where guesses are made without it."""
    for seed in range(6):
        asked = {"max_new_tokens": 8, "seed": seed, "temperature": 1.5}
        ours = dsbd.decode(pair, LONG, read_settings(**asked, min_width=3, max_width=3))
        plain = dsbd.decode(pair, LONG, read_settings("beam_sampling", **asked, num_beams=3))
        assert [beam.token_ids for beam in ours.beams] == [beam.token_ids for beam in plain.beams]
        assert ours.settings.forest == "coupled"


def test_a_prompt_that_fits_is_not_read(pair) -> None:
    """Catches a memory that changes the distribution of short prompts."""
    settings = dsbd.DecodingSettings(max_new_tokens=12, seed=3)
    result = dsbd.decode(pair, "One day", settings, record=True)
    assert result.beams == dsbd.decode(toy_pair(), "One day", settings).beams
    assert "memory" not in result.trace.to_dict()["prompt"]
    assert result.trace.digest == canonical_digest(result.trace)


def test_a_trace_holds_the_segments_and_passes_the_audit(pair) -> None:
    """Catches segments, sensory tokens or a digest that are not those that were used, and a trace that cannot be
    decided again."""
    settings = dsbd.DecodingSettings(max_new_tokens=12, seed=3)
    trace = dsbd.decode(pair, LONG, settings, record=True).trace
    ids, record = pair.encode(LONG), trace.prompt.memory
    window = value_of(pair.fitting(ids, 12))
    assert dsbd.verify_trace(trace).passed
    assert Trace.loads(trace.dumps()) == trace
    assert (record.name, record.digest) == ("toy", window.memory.digest)
    assert "".join(segment.text for segment in record.segments) == LONG
    assert [segment.tokens for segment in record.segments] == [len(ids) % 24, *[24] * (len(ids) // 24)]
    assert [piece.token_id for piece in trace.prompt.pieces] == ids[-24 - record.sensory :]
    assert all(sum(segment.weights) == pytest.approx(1, abs=1e-5) for segment in record.segments[1:])
    assert trace.iterations[0].kept.prompt_slots == len(trace.prompt.pieces)  # the memory, and all ids but the last


def test_what_does_not_fit_behind_the_memory_is_refused(pair) -> None:
    """Catches a window that leaves no room for the new tokens, and a prompt read before it is refused."""
    room = CONTEXT - (1 + 3 + 24)
    settings = dsbd.DecodingSettings(max_new_tokens=room + 1)
    message = rf"prompt of 210 tokens is read .* last segment stays, 28 tokens .*; lower max_new_tokens to {room} or"
    with pytest.raises(PromptError, match=message):
        dsbd.stream(pair, LONG, settings)
    crowded = remembering(toy_pair(), segment_tokens=CONTEXT)
    with pytest.raises(PromptError, match=r"last segment stays, 132 tokens .*; take a memory with shorter segments"):
        dsbd.stream(crowded, LONG, dsbd.DecodingSettings(max_new_tokens=1))
    result = dsbd.decode(pair, LONG, dsbd.DecodingSettings(method="greedy", max_new_tokens=room))
    assert len(result.token_ids) == room or result.token_ids[-1] == EOS


def test_reading_tells_how_far_it_is_and_stops(pair) -> None:
    """Catches a long prompt that cannot be cancelled while it is read."""
    steps = list(DecodeRequest(pair, LONG + "!", dsbd.DecodingSettings(max_new_tokens=4, draft_depth=2)).planning())
    assert [step.done for step in steps] == list(range(1, steps[0].total + 1))
    stop = Mock(side_effect=[False, False, True])
    with pytest.raises(StoppedError):
        dsbd.decode(pair, LONG + "?", dsbd.DecodingSettings(max_new_tokens=4), cancel=stop)
    assert stop.call_count == 3
