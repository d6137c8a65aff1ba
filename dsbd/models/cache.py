"""Keys and values of one cache row, in a buffer that is moved within, never rebuilt.

The row holds the prompt once, then the slots of the live trie, then the forest being scored. After
an iteration the slots worth keeping move to the front of what follows the settled part.
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
        self.keys = key_states.new_empty(*key_states.shape[:2], 0, key_states.shape[3])
        self.values = value_states.new_empty(*value_states.shape[:2], 0, value_states.shape[3])
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the states of new slots in place; returns views of all slots in use."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[-2]
        self.reserve(end)
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def reserve(self, slots: int) -> None:
        """Grow the buffer to hold at least ``slots`` slots."""
        if self.keys.shape[2] < slots:
            self.keys = _grown(self.keys, self.length, slots + GROWTH_SLOTS)
            self.values = _grown(self.values, self.length, slots + GROWTH_SLOTS)

    def move(self, start: int, sources: torch.Tensor) -> None:
        """Move the slots ``sources`` [n] to start, start + 1, ...; everything behind is free again."""
        end = start + sources.numel()
        self.keys[:, :, start:end] = self.keys.index_select(2, sources)
        self.values[:, :, start:end] = self.values.index_select(2, sources)
        self.length = end

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
    """All layers of one cache row."""

    def __init__(self, layer_count: int) -> None:
        self.rows = [ForestCacheLayer() for _ in range(layer_count)]
        super().__init__(layers=list(self.rows))

    @property
    def length(self) -> int:
        """Slots in use."""
        return self.rows[0].length

    @property
    def slot_bytes(self) -> int:
        """Bytes one slot takes over all layers."""
        return sum(layer.slot_bytes for layer in self.rows)

    def move(self, start: int, sources: list[int]) -> None:
        """Keep the slots ``sources`` behind ``start``, in this order, and free all others behind ``start``."""
        if sources == list(range(start, start + len(sources))):
            for layer in self.rows:
                layer.length = start + len(sources)
            return
        index = torch.tensor(sources, device=self.rows[0].keys.device)
        for layer in self.rows:
            layer.move(start, index)


def _grown(buffer: torch.Tensor, used: int, slots: int) -> torch.Tensor:
    larger = buffer.new_empty(*buffer.shape[:2], slots, buffer.shape[3])
    larger[:, :, :used] = buffer[:, :, :used]
    return larger
