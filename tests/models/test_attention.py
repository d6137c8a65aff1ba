"""Attention of grouped queries against the stock path."""

from types import SimpleNamespace

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from dsbd.models.attention import NAME, pack_groups, packed_attention
from tests.models.tiny import VOCABULARY, tiny_model


def states(heads: int, groups: int, count: int, slots: int) -> list[torch.Tensor]:
    """Make random queries, keys and values."""
    generator = torch.Generator().manual_seed(heads + 10 * groups + 100 * count + slots)
    shapes = [(2, heads, count, 8), (2, groups, slots, 8), (2, groups, slots, 8)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def layer(heads: int, groups: int) -> SimpleNamespace:
    """Return what the stock path reads of an attention layer."""
    return SimpleNamespace(num_key_value_groups=heads // groups, is_causal=True)


@pytest.mark.parametrize("kind", [torch.float64, torch.bool])
@pytest.mark.parametrize(("heads", "groups", "count", "slots"), [(6, 2, 3, 9), (8, 1, 1, 1), (4, 4, 5, 5)])
def test_groups_as_rows_of_one_query_are_the_same_sums(heads, groups, count, slots, kind) -> None:
    """Catches heads that read another group's keys, or a mask that is repeated in another order than the queries."""
    seen = torch.rand(2, 1, count, slots, generator=torch.Generator().manual_seed(5)) < 0.5
    seen[..., -1] = True
    mask = seen if kind == torch.bool else torch.zeros(seen.shape, dtype=kind).masked_fill(~seen, -1e300)
    given = (layer(heads, groups), *states(heads, groups, count, slots), mask)
    ours, weights = packed_attention(*given, scaling=0.3)
    assert weights is None
    assert ours.shape == (2, count, heads, 8)
    assert float((ours - sdpa_attention_forward(*given, scaling=0.3)[0]).abs().max()) < 1e-12


def test_without_a_mask_the_stock_path_is_causal() -> None:
    """Catches a prompt whose tokens see what comes after them."""
    query, key, value = states(4, 2, 5, 5)
    ours, _ = packed_attention(layer(4, 2), query, key, value, None)
    assert torch.equal(ours, sdpa_attention_forward(layer(4, 2), query, key, value, None)[0])
    value[:, :, 1:] += 1.0
    assert torch.equal(packed_attention(layer(4, 2), query, key, value, None)[0][:, 0], ours[:, 0])


@pytest.mark.parametrize(
    ("family", "packed"),
    [("llama", True), ("mistral windows", True), ("gemma3 windows", True),
     ("gpt2", False), ("gpt_neox", False), ("gemma2 windows", False)],
)  # fmt: skip
def test_models_with_groups_are_packed_and_say_the_same(family: str, packed: bool) -> None:
    """Catches a model that keeps copying its keys, one that says something else once it is packed, and one without
    groups, or that must run eagerly, on another path."""
    model = tiny_model(family).model
    path, tokens = model.config._attn_implementation, torch.arange(9)[None] % VOCABULARY
    with torch.inference_mode():
        before = model(tokens).logits
        pack_groups(model)
        after = model(tokens).logits
    assert model.config._attn_implementation == (NAME if packed else path) != (path if packed else NAME)
    assert float((after - before).abs().max()) < 1e-5
