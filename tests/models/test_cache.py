"""The buffer of one cache row."""

import random

import pytest
import torch

from dsbd.models.cache import GROWTH_SLOTS, ForestCache, LayerShape


def _states(first: int, count: int) -> torch.Tensor:
    """Make states [1, 2 heads, count, 3] that contain the number of their slot: slot + 0.1 head + 0.01 place."""
    slots = torch.arange(first, first + count, dtype=torch.float64)[:, None]
    heads = torch.arange(2, dtype=torch.float64)[:, None, None]
    return (slots + 0.1 * heads + 0.01 * torch.arange(3, dtype=torch.float64))[None]


def _cache(layers: int, slots: int = 0) -> ForestCache:
    return ForestCache([LayerShape((2, 3), (2, 3), torch.float64)] * layers, slots)


def _append(cache: ForestCache, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    cache.reserve(cache.length + count)
    for layer in range(len(cache.layers)):
        keys, values = cache.update(_states(first, count) + 1000 * layer, -_states(first, count), layer)
    return keys, values


def _held(cache: ForestCache) -> list[int]:
    """Return the slots in use, read back from every layer, head and component."""
    held = cache.layers[0].keys[0, 0, : cache.length, 0].round().int().tolist()
    for number, layer in enumerate(cache.layers):
        expected = torch.cat([_states(slot, 1) for slot in held], dim=2) if held else _states(0, 0)
        assert layer.length == cache.length == cache.get_seq_length(number)
        assert torch.equal(layer.keys[:, :, : layer.length], expected + 1000 * number)
        assert torch.equal(layer.values[:, :, : layer.length], -expected)
    return held


@pytest.mark.parametrize("seed", range(5))
def test_move_keeps_the_named_slots_in_order(seed: int) -> None:
    """Catches moves that overwrite a source before it is read, lose the settled part, or keep a freed slot."""
    source, cache, given, expected = random.Random(seed), _cache(3), 0, []
    for _ in range(12):
        count = source.randint(1, 60)
        keys, _ = _append(cache, given, count)
        expected += range(given, given + count)
        given += count
        assert keys.shape[2] == cache.length == len(expected)
        assert _held(cache) == expected
        start = source.randint(0, len(expected))
        behind = range(start, len(expected))
        sources = source.sample(behind, source.randint(0, len(behind)))
        if source.random() < 0.5:
            sources.sort()
        expected = expected[:start] + [expected[place] for place in sources]
        cache.move(start, sources)
        assert _held(cache) == expected


def test_buffer_grows_and_is_written_in_place() -> None:
    """Catches growth that loses slots in use, a copy of the whole buffer at every append, and a peak that forgets
    that the old and the new buffer exist together while one is copied into the other."""
    cache = _cache(1, 5)
    slot = 2 * 2 * 3 * 8  # keys and values, heads, size, bytes
    _append(cache, 0, 5)
    assert (cache.capacity, cache.peak_bytes) == (5, 5 * slot)
    _append(cache, 5, 1)
    buffer = cache.layers[0].keys.data_ptr()
    _append(cache, 6, GROWTH_SLOTS)
    assert cache.layers[0].keys.data_ptr() == buffer
    assert cache.capacity == 6 + GROWTH_SLOTS
    assert (cache.bytes, cache.peak_bytes) == ((6 + GROWTH_SLOTS) * slot, (11 + GROWTH_SLOTS) * slot)
    _append(cache, cache.capacity, 1)
    assert cache.capacity > 6 + GROWTH_SLOTS
    assert _held(cache) == list(range(7 + GROWTH_SLOTS))


def test_layers_of_unequal_shape_have_buffers_of_their_own() -> None:
    """Catches a move that reaches only the layers shaped like the first."""
    shapes = [LayerShape((2, 3), (2, 3), torch.float64), LayerShape((1, 3), (2, 2), torch.float64)]
    cache = ForestCache(shapes, 0)
    assert len(cache.buffers) == 3
    for first, count in ((0, 3), (3, 4)):
        cache.reserve(cache.length + count)
        cache.update(_states(first, count), -_states(first, count), 0)
        cache.update(_states(first, count)[:, :1], _states(first, count)[..., :2], 1)
    cache.move(1, [5, 2])
    assert cache.layers[0].keys[0, 0, :3, 0].tolist() == [0, 5, 2]
    assert cache.layers[1].keys[0, 0, :3, 0].tolist() == [0, 5, 2]
    assert cache.layers[1].values[0, 1, :3, 1].tolist() == pytest.approx([0.11, 5.11, 2.11])
