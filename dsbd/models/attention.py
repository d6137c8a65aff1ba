"""Computes attention under a mask without copying the keys and values of grouped queries.

With a mask, the stock path repeats keys and values for every query head of a group, in every layer of every forward.
Here the heads of a group become rows of one longer query: the sums are the same, and nothing is copied.

*Source:* ``AttentionInterface`` of transformers; docs/algorithm.md, *The engine*.
"""

from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "dsbd_packed"


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **extra: Any,
) -> tuple[torch.Tensor, None]:
    """Compute scaled dot-product attention of grouped queries.

    Args:
        module: the attention layer.
        query: [rows, heads, n, size].
        key: [rows, groups, slots, size].
        value: [rows, groups, slots, size].
        attention_mask: additive [rows, 1, n, slots]; for None or another shape the stock path is used.
        scaling: factor of the scores; None is 1 / sqrt(size).
        extra: for the stock path.

    Returns:
        [rows, n, heads, size], and None for the attention weights.
    """
    rows, heads, count, size = query.shape
    groups = key.shape[1]
    packs = heads != groups and extra.get("position_bias") is None
    if attention_mask is None or attention_mask.shape[1] != 1 or not packs:  # dimension 1: some models mask each head
        outcome: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **extra
        )
        return outcome
    packed = query.reshape(rows, groups, heads // groups * count, size)
    mask = torch.cat([attention_mask] * (heads // groups), dim=2)  # repeat() costs several times as much
    attended = torch.nn.functional.scaled_dot_product_attention(packed, key, value, attn_mask=mask, scale=scaling)
    return attended.reshape(rows, heads, count, -1).transpose(1, 2).contiguous(), None


def pack_groups(model: Any) -> None:
    """Make a model with grouped queries on ``sdpa`` use :func:`packed_attention`."""
    config = model.config.get_text_config(decoder=True)
    heads = getattr(config, "num_attention_heads", None)
    grouped = heads is not None and getattr(config, "num_key_value_heads", heads) != heads
    if grouped and config._attn_implementation == "sdpa" and model._can_set_attn_implementation():
        model.set_attn_implementation(NAME)


AttentionInterface.register(NAME, packed_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
