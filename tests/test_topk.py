"""The likeliest entries of rows, against a stable sort."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dsbd.topk


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 2000), st.integers(1, 9), st.integers(0, 2**31))
def test_long_rows_are_searched_as_short_ones(rows: int, size: int, count: int, seed: int) -> None:
    """Catches blocks that hide a better entry, or a tie broken away from the lowest place."""
    values = torch.randint(-4, 4, (rows, size), generator=torch.Generator().manual_seed(seed)).float()
    values[values == 3] = -torch.inf
    count = min(count, size)
    order = values.sort(dim=1, descending=True, stable=True)
    for block in (64, 4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dsbd.topk, "_BLOCK", block)
            places, best = dsbd.topk.distinct_top(values, count)
        assert torch.equal(places, order.indices[:, :count])
        assert torch.equal(best, order.values[:, :count])


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([1, 7, 96, 1000, 4096, 8192 + 64]), st.integers(1, 60), st.integers(0, 2**31))
def test_one_row_is_searched_by_groups(size: int, count: int, seed: int) -> None:
    """Catches groups that hide a better entry, and places that are another entry's."""
    values = torch.randint(-40, 40, (size,), generator=torch.Generator().manual_seed(seed)).double() / 3
    best, places = dsbd.topk.top_of_row(values, count)
    assert torch.equal(best, values.sort(descending=True).values[:count])
    assert torch.equal(values[places], best)
    assert places.unique().numel() == min(count, size)
