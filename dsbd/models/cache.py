"""Keeps the keys and values of one cache row in buffers, and moves them inside these buffers.

The row holds the prompt once, then the slots of the live trie, then the forest that is scored. After
an iteration the slots that are kept move to the place right behind the settled part. Layers of
equal shape on one device share one buffer, so that a move is two operations for all of them. The buffers are made
for as many slots as a decode is expected to need, and grow only if it needs more.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

GROWTH_SLOTS = 64


class LayerShape(NamedTuple):
    """The shape of the keys and values that one slot of an attention layer holds."""

    keys: tuple[int, int]
    """Number of heads, and size of each."""
    values: tuple[int, int]
    dtype: torch.dtype
    device: torch.device | None = None
    """Where the layer computes; None is the device of the cache."""

    @property
    def slot_bytes(self) -> int:
        """Return the bytes of one slot, keys and values."""
        return sum(heads * size for heads, size in (self.keys, self.values)) * self.dtype.itemsize


class _ShapeProbe(CacheLayerMixin):
    """Keeps nothing; notes the shapes of keys and values."""

    is_sliding = False

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Do nothing."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = ((part.shape[1], part.shape[3]) for part in (key_states, value_states))
        self.shape = LayerShape(keys, values, key_states.dtype, key_states.device)
        return key_states, value_states

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return query_length, 0

    def get_seq_length(self) -> int:
        return 0

    def get_max_length(self) -> int:
        return -1


class ShapeProbe(Cache):
    """A cache for one forward; after it, ``shapes`` returns the shapes of the model's layers."""

    def __init__(self, layer_count: int) -> None:
        self._probes = [_ShapeProbe() for _ in range(layer_count)]
        super().__init__(layers=list(self._probes))

    @property
    def shapes(self) -> list[LayerShape]:
        """Return the shape of each layer."""
        return [probe.shape for probe in self._probes]


class ForestCacheLayer(CacheLayerMixin):
    """One attention layer's slots: ``keys`` and ``values`` [1, heads, slots, size], the first ``length`` in use.

    It is never a sliding layer: the mask alone decides which keys a query sees.
    """

    is_sliding = False
    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Do nothing: the buffers exist already."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the states of new slots behind those in use; return views of all slots in use."""
        end = self.length + key_states.shape[-2]
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        return self.length

    def get_max_length(self) -> int:
        return -1


class ForestCache(Cache):
    """All layers of one cache row. Room must be reserved before a forward writes.

    Args:
        shapes: of the layers.
        slots: room made at once.
        device: where the buffers are of layers that name no other.
    """

    def __init__(self, shapes: Sequence[LayerShape], slots: int, device: torch.device) -> None:
        self._shapes, self._device = shapes, device
        self.rows = [ForestCacheLayer() for _ in shapes]
        super().__init__(layers=list(self.rows))
        places: dict[tuple[tuple[int, int], torch.dtype, torch.device], int] = {}
        self.layout: list[tuple[tuple[int, int], tuple[int, int]]] = []
        """For each layer: the buffer and the place in it of the keys, then of the values."""
        kinds = list(
            dict.fromkeys(
                (part, shape.dtype, shape.device or device) for shape in shapes for part in (shape.keys, shape.values)
            )
        )
        for shape in shapes:
            own = []
            for part in (shape.keys, shape.values):
                kind = (part, shape.dtype, shape.device or device)
                places[kind] = places.get(kind, -1) + 1
                own.append((kinds.index(kind), places[kind]))
            self.layout.append((own[0], own[1]))
        self.slot_bytes = sum(shape.slot_bytes for shape in shapes)
        """Bytes of one slot over all layers."""
        self.buffers: list[torch.Tensor] = []
        """[places, 1, heads, slots, size], keys or values of equal shape, dtype and device."""
        self.adopt(
            [
                torch.empty((places[kind] + 1, 1, kind[0][0], slots, kind[0][1]), dtype=kind[1], device=kind[2])
                for kind in kinds
            ]
        )
        self.peak_bytes = self.bytes
        """The most bytes allocated at one time: while the buffers grow, the old and the new ones."""

    @property
    def length(self) -> int:
        """Return the number of slots in use."""
        return self.rows[0].length

    @property
    def capacity(self) -> int:
        """Return the number of slots that there is room for."""
        return int(self.buffers[0].shape[3])

    @property
    def bytes(self) -> int:
        """Return the bytes of all buffers."""
        return self.capacity * self.slot_bytes

    def empty_twin(self, slots: int) -> "ForestCache":
        """Return an empty cache of the same layers with room for ``slots`` slots."""
        return ForestCache(self._shapes, slots, self._device)

    def reserve(self, slots: int) -> None:
        """Make room for at least ``slots`` slots."""
        if slots <= self.capacity:
            return
        before = self.bytes
        grown = [
            buffer.new_empty((*buffer.shape[:3], slots + GROWTH_SLOTS, buffer.shape[4])) for buffer in self.buffers
        ]
        for old, new in zip(self.buffers, grown, strict=True):
            new[:, :, :, : self.length] = old[:, :, :, : self.length]
        self.adopt(grown)
        self.peak_bytes = max(self.peak_bytes, before + self.bytes)

    def adopt(self, buffers: list[torch.Tensor]) -> None:
        """Use these buffers from now on; they must contain the slots in use."""
        self.buffers = buffers
        for row, ((group, place), (other_group, other_place)) in zip(self.rows, self.layout, strict=True):
            row.keys, row.values = buffers[group][place], buffers[other_group][other_place]

    def extend(self, count: int) -> None:
        """Add slots that were written behind the ones in use to the count."""
        for row in self.rows:
            row.length += count

    def move(self, start: int, sources: list[int]) -> None:
        """Keep the slots ``sources`` behind ``start``, in this order, and free all others behind ``start``."""
        end = start + len(sources)
        if sources != list(range(start, end)):
            index = torch.tensor(sources, device=self.buffers[0].device)
            for buffer in self.buffers:
                buffer[:, :, :, start:end] = buffer.index_select(3, index.to(buffer.device))
        for row in self.rows:
            row.length = end
