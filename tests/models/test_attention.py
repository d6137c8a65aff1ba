"""Attention of grouped queries against the stock path."""

import pytest
import torch
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from dsbd.models.attention import NAME, pack_groups, packed_attention
from tests.models.tiny import VOCABULARY, tiny_model


class Layer(torch.nn.Module):
    """An attention layer with the attributes that the stock path reads."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.num_key_value_groups = groups
        self.is_causal = True


def inputs(heads: int, groups: int, count: int, slots: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(heads + 10 * groups + 100 * count + slots)
    shapes = [(2, heads, count, 8), (2, groups, slots, 8), (2, groups, slots, 8)]
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def mask_of(count: int, slots: int, kind: torch.dtype) -> torch.Tensor:
    """Make a random mask [2, 1, count, slots] that lets each query see at least its own slot."""
    seen = torch.rand(2, 1, count, slots, generator=torch.Generator().manual_seed(5)) < 0.5
    seen[..., -1] = True
    return seen if kind == torch.bool else torch.zeros(seen.shape, dtype=kind).masked_fill(~seen, torch.finfo(kind).min)


@pytest.mark.parametrize("kind", [torch.float64, torch.bool])
@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (6, 2), (8, 1), (4, 4)])
@pytest.mark.parametrize(("count", "slots"), [(1, 1), (3, 9), (5, 5)])
def test_groups_as_rows_of_one_query_are_the_same_sums(heads, groups, count, slots, kind) -> None:
    """Catches heads that read another group's keys, or a mask that is repeated in another order than the queries."""
    query, key, value = inputs(heads, groups, count, slots)
    layer, mask = Layer(heads // groups), mask_of(count, slots, kind)
    stock, _ = sdpa_attention_forward(layer, query, key, value, mask, scaling=0.3)
    ours, weights = packed_attention(layer, query, key, value, mask, scaling=0.3)
    assert weights is None
    assert ours.shape == (2, count, heads, 8)
    assert float((ours - stock).abs().max()) < 1e-12


def test_without_a_mask_the_stock_path_is_causal() -> None:
    """Catches a prompt whose tokens see what comes after them."""
    query, key, value = inputs(4, 2, 5, 5)
    stock, _ = sdpa_attention_forward(Layer(2), query, key, value, None)
    ours, _ = packed_attention(Layer(2), query, key, value, None)
    assert torch.equal(ours, stock)
    later = value.clone()
    later[:, :, 1:] += 1.0
    assert torch.equal(packed_attention(Layer(2), query, key, later, None)[0][:, 0], ours[:, 0])


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
