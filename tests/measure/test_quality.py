"""The likelihood of a text, by its slow twin: one forward for each token."""

import pytest
import torch
from dsbd.measure.quality import log_likelihood

from tests.toy_pair import toy_pair

PROMPT, TEXT = [79, 110, 99, 101], [32, 97, 32, 98]


@torch.inference_mode()
def slowly(prefix: torch.Tensor | None) -> float:
    model, total = toy_pair().target.model, 0.0
    for place, token in enumerate(TEXT):
        embedded = model.get_input_embeddings()(torch.tensor([[*PROMPT, *TEXT[:place]]]))
        if prefix is not None:
            embedded = torch.cat([prefix[None, None], embedded], dim=1)
        total += float(model(inputs_embeds=embedded).logits[0, -1].log_softmax(dim=-1)[token])
    return total


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_the_likelihood_is_the_sum_over_its_tokens(seed):
    """Catches logits that are shifted by the memory's slot, and a memory that the text is not judged behind."""
    prefix = None
    if seed is not None:
        prefix = torch.randn(32, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    found = log_likelihood(toy_pair().target, PROMPT, TEXT, prefix)
    assert found == pytest.approx(slowly(prefix), abs=1e-6)
    assert (seed is None) == (found == pytest.approx(slowly(None), abs=1e-6))
