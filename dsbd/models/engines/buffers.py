"""Runs a model's forward on given buffers; the forward is captured on a GPU and traced on a CPU."""

from typing import Any

import torch
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

Masks = dict[str, torch.Tensor]


class _BufferLayer(CacheLayerMixin):
    """A cache layer for one forward: it writes to ``slots`` and shows the first ``span`` slots."""

    is_sliding = False
    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, slots: torch.Tensor, span: int) -> None:
        super().__init__()
        self.keys, self.values, self._slots, self._span = keys, values, slots, span
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Do nothing: the buffers exist already."""

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

    def get_max_length(self) -> int:
        return -1


def forward_on_buffers(
    model: Any,
    tokens: torch.Tensor,
    positions: torch.Tensor,
    masks: Masks,
    slots: torch.Tensor,
    keys: list[torch.Tensor],
    values: list[torch.Tensor],
    span: int,
) -> torch.Tensor:
    """Return the logits after each token of one row.

    Args:
        model: a causal language model that takes ``position_ids``.
        tokens: ids [1, n], int64.
        positions: [1, n], int64.
        masks: additive [1, 1, n, span], one per attention window.
        slots: [n] int64, where the tokens' keys and values are written.
        keys: per layer [1, heads, slots, size].
        values: per layer [1, heads, slots, size].
        span: how many slots, from the first, can be seen.

    Returns:
        [1, n, vocabulary].
    """
    layers = [_BufferLayer(*pair, slots, span) for pair in zip(keys, values, strict=True)]
    mask = masks if len(masks) > 1 else next(iter(masks.values()))
    logits: torch.Tensor = model(
        input_ids=tokens,
        position_ids=positions,
        attention_mask=mask,
        past_key_values=Cache(layers=list(layers)),
        use_cache=True,
    ).logits
    return logits
