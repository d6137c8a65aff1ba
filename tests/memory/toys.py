"""Memories with random weights for the tiny models of the tests."""

import torch

from dsbd.memory.reading import MemoryNetwork, MemorySettings


def random_network(hidden_size: int, seed: int = 0, **sizes) -> MemoryNetwork:
    """Make a network whose recall depends on what it reads."""
    network = MemoryNetwork(MemorySettings(hidden_size, **{"segment_tokens": 8, "sensory_tokens": 3, **sizes}))
    made = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            weight.copy_(torch.randn(weight.shape, generator=made) * 0.5)
    return network.eval().requires_grad_(False)
