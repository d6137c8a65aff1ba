"""The rows of the likeliest next tokens under the target."""

import numpy as np
import pytest
import torch

from dsbd.next_tokens import next_token_rows


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("top_k", [0, 1, 7, 50, 300])
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_zeros_of_either_sign_tie(dtype: torch.dtype) -> None:
    """Catches an integer order of floats that puts -0.0 below 0.0: ties go to the lowest token."""
    tokens, _, _ = next_token_rows(torch.tensor([[-0.0, 0.0, -1.0]], dtype=dtype), 1)
    assert tokens.tolist() == [[0]]
