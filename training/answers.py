"""Which positions belong to answers, and how much each position counts in the loss."""

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
