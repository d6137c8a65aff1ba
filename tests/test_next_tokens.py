"""The likeliest next tokens of rows of logits, on a CPU and as an accelerator copies them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dsbd.next_tokens
from dsbd.errors import ModelError
from dsbd.law.laws import TopTokens, joint_law
from dsbd.next_tokens import copied_rows, host_rows, likeliest_pairs, read_keys, token_log_probs, top_keys
from dsbd.settings import ResolvedSettings


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("top_k", [0, 1, 7, 50, 199, 300])
def test_copied_rows_break_ties_to_the_lowest_token(dtype: torch.dtype, top_k: int) -> None:
    """Catches an unstable top-k: coarse logits tie often, and verification must not depend on which came first."""
    logits = (torch.randn(5, 200, generator=torch.Generator().manual_seed(3)) * 4).round().to(dtype) + 0.0
    logits[0] = 0.0
    logits[1, ::3] = -torch.inf
    parents, tokens = torch.tensor([4, 0, 1]), torch.tensor([7, 199, 3])
    rows, own = copied_rows(logits, top_k, "target", parents, tokens)
    exact = logits.double().log_softmax(1).numpy()
    for row, (found, log_probs) in enumerate(rows):
        order = np.argsort(-logits[row].double().numpy(), kind="stable")[: top_k or None]
        assert found.tolist() == sorted(order.tolist())
        assert np.allclose(log_probs, exact[row][found], atol=1e-5)
    assert np.allclose(own, exact[parents, tokens], atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 2000), st.integers(1, 9), st.integers(0, 2**31))
def test_long_rows_are_searched_as_short_ones(rows: int, size: int, count: int, seed: int) -> None:
    """Catches blocks that hide a better entry, a tie broken away from the lowest place, and zeros of two signs that
    do not tie; minus infinity comes last and is kept apart from the padding of the last block."""
    values = torch.randint(-4, 4, (rows, size), generator=torch.Generator().manual_seed(seed)).float()
    values[values == 3] = -torch.inf
    values[:, ::5] *= -1.0  # some zeros become -0.0
    values[values == torch.inf] = -3e38
    count = min(count, size)
    order = values.sort(dim=1, descending=True, stable=True)
    for block in (64, 4):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dsbd.next_tokens, "_BLOCK", block)
            places, best = read_keys(top_keys(values, count).numpy())
        assert places.tolist() == order.indices[:, :count].tolist()
        assert best.tolist() == order.values[:, :count].tolist()


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 4), st.integers(2, 1500), st.integers(1, 60), st.sampled_from([2, 5, 1000]), st.integers(0, 2**31)
)
def test_a_few_tokens_more_than_asked_for_change_no_joint_law(
    rows: int, size: int, top_k: int, levels: int, seed: int
) -> None:
    """Catches groups that hide a likelier token, a tie broken away from the lowest id, and rows cut wrongly."""
    source, top_k = np.random.default_rng(seed), min(top_k, size - 1)
    logits = torch.from_numpy(source.integers(0, levels, (rows, size)).astype(np.float32))
    logits[logits == 1] = -torch.inf
    logits[:, source.integers(size)] = 0.0
    log_probs = token_log_probs(logits).numpy()
    orders = [np.argsort(-row, kind="stable")[:top_k] for row in log_probs]
    exact = [TopTokens(order, row[order].astype(np.float64)) for order, row in zip(orders, log_probs, strict=True)]
    weights, counts = [-0.25 * place for place in range(rows)], [1 + place % 2 for place in range(rows)]
    several = [
        host_rows(logits, top_k, "target"),
        copied_rows(logits, top_k, "target")[0],
        likeliest_pairs(logits, np.array(weights) + np.log(counts), top_k, "draft"),
    ]
    for row, more, order in zip(log_probs, several[0], orders, strict=True):
        assert set(order[row[order] > -np.inf].tolist()) <= set(more.tokens.tolist())
    twin = joint_law(exact, weights, counts, ResolvedSettings(top_k=top_k))
    for found in several:
        assert all((np.diff(row.tokens) > 0).all() for row in found)
        law = joint_law(found, weights, counts, ResolvedSettings(top_k=top_k))
        assert np.array_equal(law.keys, twin.keys)
        assert np.array_equal(law.probs, twin.probs)
        assert np.array_equal(law.log_weights, twin.log_weights)


def test_few_tokens_more_than_asked_for_are_returned() -> None:
    """Catches a bound that lets a whole row through: then every layer would sort the vocabulary."""
    logits = torch.randn(4, 5000, generator=torch.Generator().manual_seed(1))
    assert all(50 <= row.tokens.size < 100 for row in host_rows(logits, 50, "target"))
    pairs = likeliest_pairs(logits, np.array([0.0, -0.5, -1.0, -30.0]), 50, "draft")
    assert 50 <= sum(row.tokens.size for row in pairs) < 100
    assert pairs[3].tokens.size == 0


@pytest.mark.parametrize("rows_of", [host_rows, lambda *given: copied_rows(*given)[0]])
@pytest.mark.parametrize("top_k", [0, 1])
def test_nan_is_refused(rows_of, top_k) -> None:
    """Catches a row without tokens where the model failed; minus infinity is a number here."""
    rows_of(torch.tensor([[-torch.inf, 1.0, 2.0]]), top_k, "draft")
    with pytest.raises(ModelError, match="the draft model returns logits that are not numbers"):
        rows_of(torch.tensor([[0.0, 1.0, 2.0], [0.0, torch.nan, 1.0]]), top_k, "draft")
