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


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [7, 64, 4 * 64 * 2, 4 * 64 * 9 + 5])
def test_zeros_of_either_sign_tie(dtype: torch.dtype, size: int) -> None:
    """Catches an integer order of floats that puts -0.0 below 0.0: ties go to the lowest place, whatever the sign."""
    values = torch.full((2, size), -1.0, dtype=dtype)
    values[0, [1, size // 2, size - 1]] = torch.tensor([-0.0, 0.0, -0.0], dtype=dtype)
    values[1, [0, size // 2, size - 2]] = torch.tensor([-0.0, -0.0, 0.0], dtype=dtype)
    places, best = dsbd.topk.distinct_top(values, 2)
    assert places.tolist() == [[1, size // 2], [0, size // 2]]
    assert best.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    for count in (1, 3):
        assert dsbd.topk.distinct_top(values, count)[0][0].tolist() == [1, size // 2, size - 1][:count]


def test_what_is_impossible_comes_last_and_is_kept_apart() -> None:
    """Catches minus infinity in padding of the last block taken for an entry, or sorted above a number."""
    values = torch.full((1, 4 * 64 * 3 + 1), -torch.inf)
    values[0, 5], values[0, -1] = -3e38, 1.5
    places, best = dsbd.topk.distinct_top(values, 3)
    assert places.tolist() == [[values.shape[1] - 1, 5, 0]]
    assert best.tolist() == [[1.5, pytest.approx(-3e38), -torch.inf]]
