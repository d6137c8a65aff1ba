"""Training of the target: next-token cross-entropy on the mixed corpus."""

from typing import Any

import numpy as np
import torch

from training.answers import answer_weights
from training.losses import cross_entropy_chunk
from training.trainer import Trainer, in_chunks


class TargetTrainer(Trainer):
    """Trains on `MixedBatches`. `answer`: as in `answer_weights`."""

    def __init__(self, *arguments: Any, answer: int | None = None, compiled: bool = False, **named: Any) -> None:
        super().__init__(*arguments, compiled=compiled, **named)
        self._answer = answer
        self._loss = cross_entropy_chunk
        if compiled:
            self._loss = torch.compile(cross_entropy_chunk, dynamic=False)

    def _backward(self, batch: np.ndarray, progress: float) -> float:
        ids = torch.from_numpy(batch)
        hidden, head = self.forward(ids[:, :-1]), self.model.model.embed_tokens.weight.detach()
        weights = answer_weights(ids[:, :-1], self._answer)
        chunks = zip(in_chunks(hidden.detach()), in_chunks(ids[:, 1:]), in_chunks(weights), strict=True)
        return self._descend(hidden, (self._loss(part, head, goal, share) for part, goal, share in chunks))
