"""Quality of a text under the unwarped target."""

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import torch

from dsbd.models.language_model import LanguageModel

NORMAL_95 = 1.959963984540054


class Estimate(NamedTuple):
    """A mean over runs and the half width of its 95 % interval (normal); None from a single run."""

    mean: float
    half_width: float | None


@torch.inference_mode()
def log_likelihood(model: LanguageModel, prompt_ids: Sequence[int], token_ids: Sequence[int]) -> float:
    """Sum of raw log-probabilities of ``token_ids`` after the prompt, nats, in one forward of its own."""
    tokens = torch.tensor([[*prompt_ids, *token_ids]], device=model.device)
    logits = model.forward(tokens)[0, len(prompt_ids) - 1 : -1]
    log_probs = torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)
    own = log_probs.gather(1, tokens[0, len(prompt_ids) :, None])
    return float(own.double().sum())


def perplexity(log_weight: float, tokens: int) -> float:
    """exp of the mean negative log-probability per token."""
    return math.exp(-log_weight / max(tokens, 1))


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and interval of independent runs."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, None)
    return Estimate(mean, NORMAL_95 * statistics.stdev(values) / math.sqrt(len(values)))
