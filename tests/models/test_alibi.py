"""Models with ALiBi positions: a bias by the depth of a token in its path, not by its slot."""

import pytest
import torch

from dsbd.models.alibi import bias_by_depth
from dsbd.models.check import check_forest
from tests.models.driver import CLOSE, wandered
from tests.models.tiny import ALIBI, tiny_model


@pytest.mark.parametrize("family", ALIBI)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_check_fails_alibi(family: str, dtype: torch.dtype) -> None:
    """Catches a check that lets a model pass whose bias counts slots."""
    outcome = check_forest(tiny_model(family, dtype=dtype))
    assert not outcome.passed
    assert outcome.reason


@pytest.mark.parametrize("family", ALIBI)
@pytest.mark.parametrize("seed", range(2))
def test_a_bias_by_depth_is_that_of_each_path(family: str, seed: int) -> None:
    """Catches a bias that counts slots, and one that a second call makes from the first call's mask."""
    model = tiny_model(family)
    bias_by_depth(model.model)
    assert wandered(model, seed).worst < CLOSE


@pytest.mark.parametrize("family", ALIBI)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_alibi_passes_with_a_bias_by_depth(family: str, dtype: torch.dtype) -> None:
    """Catches a bias of another dtype, and one that changes what the model computes without a forest."""
    model, tokens = tiny_model(family, dtype=dtype), torch.tensor([[3, 4, 5, 6]])
    padded = torch.tensor([[1, 1, 1, 0]])  # on the right, so that every row sees something
    with torch.inference_mode():
        before = [model.model(tokens, attention_mask=mask).logits for mask in (None, padded)]
        bias_by_depth(model.model)
        after = [model.model(tokens, attention_mask=mask).logits for mask in (None, padded)]
    assert all(torch.equal(*pair) for pair in zip(before, after, strict=True))
    outcome = check_forest(model)
    assert outcome.passed, outcome
