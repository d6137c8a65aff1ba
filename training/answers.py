"""How much each position counts in the loss: all alike, or the answer's more than the question's."""

import torch

QUESTION_WEIGHT = 0.1


def answer_weights(ids: torch.Tensor, answer: int | None) -> torch.Tensor:
    """Return the weight of each position's next token, (rows, length) float32, summing to 1.

    Args:
        ids: (rows, length) int64; BOS, 0, begins every document.
        answer: the token behind which an answer begins; next tokens in answers count fully, others
            `QUESTION_WEIGHT`. None: all count alike.
    """
    weights = torch.ones(ids.shape)
    if answer is not None:
        places = torch.arange(ids.shape[1]).expand(ids.shape)
        answered = torch.where(ids == answer, places, -1).cummax(1).values
        begun = torch.where(ids == 0, places, -1).cummax(1).values
        weights[answered <= begun] = QUESTION_WEIGHT
    return weights / weights.sum()
