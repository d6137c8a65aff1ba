"""The formulas of the paper, against the same written out number by number."""

import math

import pytest
import torch

from tests.memory.toys import random_network

SIZE = 6


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
