"""Quality of a text under the unwarped target."""

import math
from collections.abc import Sequence

import torch

from dsbd.models.language_model import LanguageModel


@torch.inference_mode()
def log_likelihood(
    model: LanguageModel, prompt_ids: Sequence[int], token_ids: Sequence[int], prefix: torch.Tensor | None = None
) -> float:
    """Return the sum of raw log-probabilities of ``token_ids`` after the prompt, nats, from one separate forward.

    ``prefix`` is the embedding [hidden] of a memory that stands in front of the prompt.
    """
    tokens = torch.tensor([[*prompt_ids, *token_ids]], device=model.device)
    fed = tokens if prefix is None else model.behind(prefix, tokens)
    logits = model.forward(fed)[0, -1 - len(token_ids) : -1]
    log_probs = torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)
    own = log_probs.gather(1, tokens[0, len(prompt_ids) :, None])
    return float(own.double().sum())


def perplexity(log_weight: float, tokens: int) -> float:
    """Return exp of the mean negative log-probability per token."""
    return math.exp(-log_weight / max(tokens, 1))
