"""Reading a long prompt: the segments, what is kept, and a stop in between."""

from itertools import pairwise

import pytest
import torch

from dsbd.errors import PairError, PromptError, StoppedError
from dsbd.memory.network import MemorySettings
from dsbd.memory.reading import Memory, segments_of
from dsbd.steps import value_of
from tests.memory.toys import random_network
from tests.toy_pair import toy_pair


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


@pytest.mark.parametrize("tokens", [0, 1, 8])
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
