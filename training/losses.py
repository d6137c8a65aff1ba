"""Losses over a tied 4,096-entry head, with their gradients, without float32 logit copies.

Each function works on one chunk of positions and returns sums, so that no array of
(all positions, vocabulary) ever exists. Log-probabilities are natural.
"""

import torch


def cross_entropy_chunk(
    hidden: torch.Tensor, head: torch.Tensor, targets: torch.Tensor, scale: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (summed loss, scaled gradient of `hidden`, scaled gradient of `head`).

    `hidden`: (positions, size). `head`: (vocabulary, size). `targets`: (positions,) int64.
    `scale` multiplies the gradients only (1 / positions of the whole batch).
    """
    logits = (hidden @ head.T).float()
    shifted = logits - logits.logsumexp(-1, keepdim=True)
    loss = -shifted.gather(1, targets[:, None]).sum()
    hits = torch.arange(head.shape[0]) == targets[:, None]
    slope = ((shifted.exp() - hits.float()) * scale).to(hidden.dtype)
    return loss, slope @ head, slope.T @ hidden


def distillation_chunk(
    target_log_probs: torch.Tensor,
    hidden: torch.Tensor,
    head: torch.Tensor,
    variation_share: float | torch.Tensor,
    scale: float,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (summed KL, summed overlap, scaled gradients of `hidden` and of `head`).

    The loss is `(1 - variation_share) * KL(target || draft) + variation_share * (1 - overlap)`,
    where overlap = sum min(target, draft) is the expected acceptance of one draft token.

    `target_log_probs`: (positions, vocabulary) float32. `hidden`: the draft's, (positions,
    size). `head`: (vocabulary, size). `scale` multiplies the gradients only.
    """
    logits = (hidden @ head.T).float()
    draft_log_probs = logits - logits.logsumexp(-1, keepdim=True)
    target_probs, draft_probs = target_log_probs.exp(), draft_log_probs.exp()
    divergence = (target_probs * (target_log_probs - draft_log_probs)).sum()
    overlap = torch.minimum(target_probs, draft_probs).sum()
    too_small = draft_probs * (draft_probs < target_probs)
    variation_slope = draft_probs * too_small.sum(-1, keepdim=True) - too_small
    slope = (1 - variation_share) * (draft_probs - target_probs) + variation_share * variation_slope
    slope = (slope * scale).to(hidden.dtype)
    return divergence, overlap, slope @ head, slope.T @ hidden


def log_probs_chunk(hidden: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities (positions, vocabulary) float32 of hidden (positions, size)."""
    logits = (hidden @ head.T).float()
    return logits - logits.logsumexp(-1, keepdim=True)
