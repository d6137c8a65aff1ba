"""Keys and values of one cache row, in buffers that are moved within, never rebuilt.

The row holds the prompt once, then the slots of the live trie, then the forest being scored. After
an iteration the slots worth keeping move to the front of what follows the settled part. Layers of
equal shape share one buffer, so that a move is two operations for all of them.
"""

import torch
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

GROWTH_SLOTS = 128


class ForestCacheLayer(CacheLayerMixin):
    """One attention layer's slots: ``keys`` and ``values`` [1, heads, slots, size], the first ``length`` in use.

    It is never a sliding layer: which keys a query sees is the mask's business alone.
    """

    is_sliding = False
    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.length = 0

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Take dtype, device and head shapes from the first states seen."""
        self.keys, self.values = torch.empty_like(key_states), torch.empty_like(value_states)
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the states of new slots in place, where room is reserved; returns views of all slots in use."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
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

    @property
    def slot_bytes(self) -> int:
        """Bytes one slot takes in this layer, keys and values."""
        if not self.is_initialized:
            return 0
        return sum(part.shape[1] * part.shape[3] * part.element_size() for part in (self.keys, self.values))


class ForestCache(Cache):
    """All layers of one cache row. The first forward sizes it; before every other, room must be reserved."""

    def __init__(self, layer_count: int) -> None:
        self.rows = [ForestCacheLayer() for _ in range(layer_count)]
        self.buffers: list[torch.Tensor] = []  # [layers, 1, heads, slots, size], keys or values of equal shape
        super().__init__(layers=list(self.rows))

    @property
    def length(self) -> int:
        """Slots in use."""
        return self.rows[0].length

    @property
    def capacity(self) -> int:
        """Slots there is room for."""
        return int(self.rows[0].keys.shape[2]) if self.rows[0].is_initialized else 0

    @property
    def slot_bytes(self) -> int:
        """Bytes one slot takes over all layers."""
        return sum(layer.slot_bytes for layer in self.rows)

    @property
    def bytes(self) -> int:
        """Bytes of all buffers."""
        return self.capacity * self.slot_bytes

    def reserve(self, slots: int, exactly: bool = False) -> None:
        """Make room for at least ``slots`` slots, or for exactly so many."""
        if not self.rows[0].is_initialized or slots <= self.capacity:
            return
        groups: dict[tuple[object, ...], list[tuple[ForestCacheLayer, str]]] = {}
        for layer in self.rows:
            for name in ("keys", "values"):
                part = getattr(layer, name)
                groups.setdefault((part.shape, part.dtype, part.device), []).append((layer, name))
        self.buffers = []
        for members in groups.values():
            first = getattr(*members[0])
            shape = (len(members), *first.shape[:2], slots if exactly else slots + GROWTH_SLOTS, first.shape[3])
            buffer = first.new_empty(shape)
            for place, (layer, name) in zip(buffer, members, strict=True):
                place[:, :, : self.length] = getattr(layer, name)[:, :, : self.length]
                setattr(layer, name, place)
            self.buffers.append(buffer)

    def adopt(self, buffers: list[torch.Tensor], keys: list[torch.Tensor], values: list[torch.Tensor]) -> None:
        """Use these buffers [layers, 1, heads, slots, size], of which ``keys`` and ``values`` are each layer's part."""
        self.buffers = buffers
        for layer, own_keys, own_values in zip(self.rows, keys, values, strict=True):
            layer.keys, layer.values, layer.is_initialized = own_keys, own_values, True

    def extend(self, count: int) -> None:
        """Count slots that were written behind the ones in use."""
        for layer in self.rows:
            layer.length += count

    def move(self, start: int, sources: list[int]) -> None:
        """Keep the slots ``sources`` behind ``start``, in this order, and free all others behind ``start``."""
        end = start + len(sources)
        if sources != list(range(start, end)):
            if not self.buffers:
                self.reserve(self.capacity + 1)
            index = torch.tensor(sources, device=self.buffers[0].device)
            for buffer in self.buffers:
                buffer[:, :, :, start:end] = buffer.index_select(3, index)
        for layer in self.rows:
            layer.length = end
