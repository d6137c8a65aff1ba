"""The rows of the likeliest next tokens under the target."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dsbd.errors import ModelError
from dsbd.law.laws import TopTokens, joint_law
from dsbd.next_tokens import (
    likeliest_pairs,
    likeliest_tokens,
    next_token_rows,
    require_numbers,
    token_log_probs,
)
from dsbd.settings import ResolvedSettings


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("top_k", [0, 1, 7, 50, 199, 300])
def test_next_token_rows_break_ties_to_the_lowest_token(dtype: torch.dtype, top_k: int) -> None:
    """Catches an unstable top-k: coarse logits tie often, and verification must not depend on which came first."""
    logits = (torch.randn(5, 200, generator=torch.Generator().manual_seed(3)) * 4).round().to(dtype) + 0.0
    logits[0] = 0.0
    logits[1, ::3] = -torch.inf
    tokens, log_probs, whole = next_token_rows(logits, top_k)
    wide = logits.double().numpy()
    for row in range(5):
        order = np.argsort(-wide[row], kind="stable")[:top_k] if 0 < top_k < 200 else np.arange(200)
        assert tokens[row].tolist() == order.tolist()
        expected = torch.log_softmax(logits[row].double(), 0)[torch.from_numpy(order.copy())]
        assert torch.allclose(log_probs[row].double(), expected, atol=1e-5, rtol=0, equal_nan=False)
    assert torch.allclose(whole.double(), torch.log_softmax(logits.double(), 1), atol=1e-5)


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
    found = likeliest_tokens(log_probs, top_k, "target")
    orders = [np.argsort(-row, kind="stable")[:top_k] for row in log_probs]
    exact = [TopTokens(order, row[order].astype(np.float64)) for order, row in zip(orders, log_probs, strict=True)]
    for row, more, order in zip(log_probs, found, orders, strict=True):
        assert set(order[row[order] > -np.inf].tolist()) <= set(more.tokens.tolist())
        assert np.array_equal(more.log_probs, row[more.tokens].astype(np.float64))
        assert (np.diff(more.tokens) > 0).all()
    chosen = ResolvedSettings(top_k=top_k)
    weights, counts = [-0.25 * place for place in range(rows)], [1 + place % 2 for place in range(rows)]
    pairs = likeliest_pairs(logits, np.array(weights) + np.log(counts), top_k, "draft")
    law, joint, twin = (joint_law(tops, weights, counts, chosen) for tops in (found, pairs, exact))
    for one in (law, joint):
        assert np.array_equal(one.keys, twin.keys)
        assert np.array_equal(one.probs, twin.probs)
        assert np.array_equal(one.log_weights, twin.log_weights)


def test_few_tokens_more_than_asked_for_are_returned() -> None:
    """Catches a bound that lets a whole row through: then every layer would sort the vocabulary."""
    log_probs = token_log_probs(torch.randn(4, 5000, generator=torch.Generator().manual_seed(1))).numpy()
    assert all(50 <= row.tokens.size < 100 for row in likeliest_tokens(log_probs, 50, "target"))
    pairs = likeliest_pairs(torch.from_numpy(log_probs), np.array([0.0, -0.5, -1.0, -30.0]), 50, "draft")
    assert 50 <= sum(row.tokens.size for row in pairs) < 100
    assert pairs[3].tokens.size == 0


def test_nan_is_refused() -> None:
    """Catches a row without tokens where the model failed, and a check that wants every row to be NaN; minus infinity
    is a number here."""
    log_probs = token_log_probs(torch.tensor([[0.0, 1.0, 2.0], [0.0, torch.nan, 1.0]])).numpy()
    with pytest.raises(ModelError, match="the target model returns logits that are not numbers"):
        likeliest_tokens(log_probs, 1, "target")
    require_numbers(np.array([[-1.0, -np.inf], [-2.0, -3.0]]), "target")
    with pytest.raises(ModelError, match="the draft model returns logits that are not numbers"):
        require_numbers(np.array([[-1.0, -np.inf], [np.nan, -3.0]]), "draft")
