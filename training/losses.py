"""Losses over a tied head, with their gradients, without float32 logit copies; and how much each position counts.

Each loss works on one chunk of positions and returns sums, so that no array of (all positions, vocabulary) ever exists.
Log-probabilities are natural.
"""

import torch

QUESTION_WEIGHT = 0.1


def in_answers(ids: torch.Tensor, answer: int | None) -> torch.Tensor:
    """Say of each position whether its next token belongs to an answer, (rows, length) bool.

    Args:
        ids: (rows, length) int64; BOS, 0, begins every document, and so ends the answer before it.
        answer: the token behind which an answer begins. None: every token belongs to an answer.
    """
    if answer is None:
        return torch.ones(ids.shape, dtype=torch.bool)
    places = torch.arange(ids.shape[1]).expand(ids.shape)
    answered = torch.where(ids == answer, places, -1).cummax(1).values
    begun = torch.where(ids == 0, places, -1).cummax(1).values
    return answered > begun


def answer_weights(ids: torch.Tensor, answer: int | None) -> torch.Tensor:
    """Return the weight of each position in the loss, (rows, length) float32, summing to 1; arguments as `in_answers`.

    Positions in answers count fully, others `QUESTION_WEIGHT`.
    """
    weights = torch.where(in_answers(ids, answer), 1.0, QUESTION_WEIGHT)
    return weights / weights.sum()


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
