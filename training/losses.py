"""Losses over a tied head, with their gradients, without float32 logit copies.

Each function works on one chunk of positions and returns sums, so that no array of
(all positions, vocabulary) ever exists. Log-probabilities are natural.
"""

import torch


def cross_entropy_chunk(
    hidden: torch.Tensor, head: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (weighted loss, its gradients of `hidden` and of `head`).

    `hidden`: (positions, size). `head`: (vocabulary, size). `targets`: (positions,) int64. `weights`: (positions,)
    float32, of each position in the loss.
    """
    logits = (hidden @ head.T).float()
    shifted = logits - logits.logsumexp(-1, keepdim=True)
    loss = -(shifted.gather(1, targets[:, None])[:, 0] * weights).sum()
    hits = torch.arange(head.shape[0]) == targets[:, None]
    slope = ((shifted.exp() - hits.float()) * weights[:, None]).to(hidden.dtype)
    return loss, slope @ head, slope.T @ hidden


def distillation_chunk(
    target_log_probs: torch.Tensor,
    hidden: torch.Tensor,
    head: torch.Tensor,
    variation_share: float | torch.Tensor,
    weights: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (weighted loss, its gradients of `hidden` and of `head`).

    The loss is `(1 - variation_share) * KL(target || draft) + variation_share * (1 - overlap)`,
    where overlap = sum min(target, draft) is the expected acceptance of one draft token.

    `target_log_probs`: (positions, vocabulary) float32. `hidden`: the draft's, (positions,
    size). `head`: (vocabulary, size). `weights`: (positions,) float32, of each position in the loss.
    """
    logits = (hidden @ head.T).float()
    draft_log_probs = logits - logits.logsumexp(-1, keepdim=True)
    target_probs, draft_probs = target_log_probs.exp(), draft_log_probs.exp()
    divergence = (target_probs * (target_log_probs - draft_log_probs)).sum(-1)
    distance = 1 - torch.minimum(target_probs, draft_probs).sum(-1)
    loss = (((1 - variation_share) * divergence + variation_share * distance) * weights).sum()
    too_small = draft_probs * (draft_probs < target_probs)
    variation_slope = draft_probs * too_small.sum(-1, keepdim=True) - too_small
    slope = (1 - variation_share) * (draft_probs - target_probs) + variation_share * variation_slope
    slope = (slope * weights[:, None]).to(hidden.dtype)
    return loss, slope @ head, slope.T @ hidden


def log_probs_chunk(hidden: torch.Tensor, head: torch.Tensor) -> torch.Tensor:
    """Return log-probabilities (positions, vocabulary) float32 of hidden (positions, size)."""
    logits = (hidden @ head.T).float()
    return logits - logits.logsumexp(-1, keepdim=True)
