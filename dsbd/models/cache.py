"""Keeps the keys and values of one decode in buffers, moves them there, and attends to them without a copy.

The cache holds the prompt once, then the slots of the tree, then the forest that is scored. After an iteration the kept
slots move right behind the committed prefix. Layers of equal shape on one device share a buffer, so that a move is two
operations for all of them. The buffers start with the slots that a decode probably needs, and grow if it needs more.

*Source:* ``AttentionInterface`` of transformers; docs/algorithm.md, *The engine*.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from transformers import AttentionInterface, Cache
from transformers.cache_utils import DynamicLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

GROWTH_SLOTS = 64


class LayerShape(NamedTuple):
    """The shape of the keys and values in one slot of an attention layer."""

    keys: tuple[int, int]
    """Heads, and the size of each."""
    values: tuple[int, int]
    dtype: torch.dtype
    device: torch.device = torch.device("cpu")
    """Where the layer computes."""

    @property
    def slot_bytes(self) -> int:
        return sum(heads * size for heads, size in (self.keys, self.values)) * self.dtype.itemsize


class ForestCacheLayer(DynamicLayer):
    """One attention layer's slots: ``keys`` and ``values`` [1, heads, slots, size], the first ``length`` in use.

    It is never a sliding layer: the mask alone decides which keys a query sees.
    """

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.length = 0
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the states of new slots behind those in use; return views of all slots in use."""
        end = self.length + key_states.shape[-2]
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]

    def get_seq_length(self) -> int:
        return self.length


class _FixedLayer(DynamicLayer):
    """A cache layer that writes to ``slots`` [n] and shows the first ``span`` slots."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, span: int) -> None:
        super().__init__()
        self.keys, self.values, self._slots, self._span = keys, values, slots, span
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.keys.index_copy_(2, self._slots, key_states)
        self.values.index_copy_(2, self._slots, value_states)
        return self.keys[:, :, : self._span], self.values[:, :, : self._span]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self._span, 0

    def get_seq_length(self) -> int:
        return 0


def fixed_cache(keys: list[torch.Tensor], values: list[torch.Tensor], slots: torch.Tensor, span: int) -> Cache:
    """Return a cache on buffers [1, heads, slots, size] of each layer, of which the first ``span`` slots are visible.

    New keys and values go to ``slots`` [n], int64.
    """
    return Cache(layers=[_FixedLayer(*pair, slots, span) for pair in zip(keys, values, strict=True)])


class ForestCache(Cache):
    """The keys and values of all layers, for one decode. Room must be reserved before a forward writes."""

    def __init__(self, shapes: Sequence[LayerShape], slots: int) -> None:
        self.kv_layers = [ForestCacheLayer() for _ in shapes]
        super().__init__(layers=list(self.kv_layers))
        members: dict[tuple[tuple[int, int], torch.dtype, torch.device], int] = {}  # how many share a buffer
        self.layout: list[tuple[tuple[int, int], tuple[int, int]]] = []
        """For each layer: the buffer of the keys and their index in it, then those of the values."""
        for shape in shapes:
            addresses = []
            for part in (shape.keys, shape.values):
                kind = (part, shape.dtype, shape.device)
                index = members.setdefault(kind, 0)
                addresses.append((list(members).index(kind), index))
                members[kind] = index + 1
            self.layout.append((addresses[0], addresses[1]))
        self.slot_bytes = sum(shape.slot_bytes for shape in shapes)
        """Bytes of one slot over all layers."""
        self.adopt(
            [
                torch.empty((count, 1, heads, slots, size), dtype=dtype, device=device)
                for ((heads, size), dtype, device), count in members.items()
            ]
        )
        self.peak_bytes = self.bytes
        """The most bytes allocated at one time: old and new buffers together while they grow."""

    @property
    def length(self) -> int:
        """Return the number of slots in use."""
        return self.kv_layers[0].length

    @property
    def capacity(self) -> int:
        """Return the number of slots in the buffers."""
        return int(self.buffers[0].shape[3])

    @property
    def bytes(self) -> int:
        return self.capacity * self.slot_bytes

    def reserve(self, slots: int) -> None:
        """Make room for at least ``slots`` slots."""
        if slots <= self.capacity:
            return
        before, grown = self.bytes, list[torch.Tensor]()
        for old in self.buffers:
            new = old.new_empty((*old.shape[:3], slots + GROWTH_SLOTS, old.shape[4]))
            new[:, :, :, : self.length] = old[:, :, :, : self.length]
            grown.append(new)
        self.adopt(grown)
        self.peak_bytes = max(self.peak_bytes, before + self.bytes)

    def adopt(self, buffers: list[torch.Tensor]) -> None:
        """Use these buffers from now on, [layers, 1, heads, slots, size] each; they contain the slots in use."""
        self.buffers = buffers
        for layer, ((keys, key_index), (values, value_index)) in zip(self.kv_layers, self.layout, strict=True):
            layer.keys, layer.values = buffers[keys][key_index], buffers[values][value_index]

    def extend(self, count: int) -> None:
        """Count slots that were written behind those in use."""
        for layer in self.kv_layers:
            layer.length += count

    def move(self, start: int, sources: list[int]) -> None:
        """Move the slots ``sources`` right behind ``start``, in this order, and free all others behind it."""
        end = start + len(sources)
        if sources != list(range(start, end)):
            index = torch.tensor(sources, device=self.buffers[0].device)
            for buffer in self.buffers:
                buffer[:, :, :, start:end] = buffer.index_select(3, index.to(buffer.device))
        for layer in self.kv_layers:
            layer.length = end


PACKED = "dsbd_packed"
"""The name of :func:`packed_attention` among the attention implementations of transformers."""


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **extra: Any,
) -> tuple[torch.Tensor, None]:
    """Compute scaled dot-product attention under a mask, without copying the keys and values of grouped queries.

    The stock path repeats keys and values for every query head of a group, in every layer of every forward. Here the
    heads of a group are stacked into one longer query: the sums are the same. Without an additive mask
    [batch, 1, n, slots] the stock path is used.

    Args:
        module: the attention layer.
        query: [batch, heads, n, size].
        key: [batch, groups, slots, size], and ``value`` alike.
        attention_mask: what the stock path takes, like ``scaling`` and ``extra``.

    Returns:
        [batch, n, heads, size], and None for the attention weights.
    """
    batch, heads, count, size = query.shape
    groups = key.shape[1]
    packs = heads != groups and extra.get("position_bias") is None
    if attention_mask is None or attention_mask.shape[1] != 1 or not packs:  # dimension 1: some models mask each head
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **extra)
    packed = query.reshape(batch, groups, heads // groups * count, size)
    mask = torch.cat([attention_mask] * (heads // groups), dim=2)  # repeat() costs several times as much
    attended = torch.nn.functional.scaled_dot_product_attention(packed, key, value, attn_mask=mask, scale=scaling)
    return attended.reshape(batch, heads, count, -1).transpose(1, 2).contiguous(), None


def pack_groups(model: Any) -> None:
    """Make a model with grouped queries on ``sdpa`` use :func:`packed_attention`."""
    config = model.config.get_text_config(decoder=True)
    heads = getattr(config, "num_attention_heads", None)
    grouped = heads is not None and getattr(config, "num_key_value_heads", heads) != heads
    if grouped and config._attn_implementation == "sdpa" and model._can_set_attn_implementation():
        model.set_attn_implementation(PACKED)


AttentionInterface.register(PACKED, packed_attention)
AttentionMaskInterface.register(PACKED, sdpa_mask)
