"""What a target and a draft learn: the next token, and the target's whole next-token distribution."""

import torch
from torch.nn import functional


def next_token_loss(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the loss of each next token, (rows, length - 1), in nats.

    Args:
        logits: (rows, length, vocabulary).
        ids: (rows, length) int64.
    """
    return functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(
        len(ids), -1
    )


def overlap(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    """Return Σ min(target, draft) at each position: the expected acceptance of one draft token.

    Args:
        target: (…, vocabulary) logits.
        draft: the same of the draft.
    """
    return torch.minimum(target.float().softmax(-1), draft.float().softmax(-1)).sum(-1)


def distillation_loss(target: torch.Tensor, draft: torch.Tensor, variation_share: float) -> torch.Tensor:
    """Return the mean of `(1 - variation_share) · KL(target ‖ draft) + variation_share · (1 - overlap)`.

    Args:
        target: (rows, length, vocabulary) logits.
        draft: the same of the draft.
        variation_share: from 0 to 1.
    """
    target_log_probs, draft_log_probs = target.float().log_softmax(-1), draft.float().log_softmax(-1)
    divergence = (target_log_probs.exp() * (target_log_probs - draft_log_probs)).sum(-1)
    return ((1 - variation_share) * divergence + variation_share * (1 - overlap(target, draft))).mean()


def variation_share(progress: float) -> float:
    """Return the share of the overlap in the loss, at `progress` in [0, 1]: 0, then a ramp, then 0.9."""
    return 0.9 * min(1.0, max(0.0, (progress - 0.4) / (0.7 - 0.4)))
