"""Training of the target: next-token cross-entropy on the mixed corpus."""

from typing import Any

import numpy as np
import torch

from training.answers import answer_weights
from training.corpus import DocumentStream
from training.losses import cross_entropy_chunk
from training.trainer import CHUNK_POSITIONS, Trainer

CHECKED_TOKENS = 16384


class TargetTrainer(Trainer):
    """Trains on `MixedBatches`; checks on the first rows of the stream `held_out`."""

    def __init__(
        self,
        *arguments: Any,
        held_out: DocumentStream,
        answer: int | None = None,
        compiled: bool = False,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, compiled=compiled, **named)
        self._held_out, self._answer = held_out, answer
        self._loss = cross_entropy_chunk
        if compiled:
            self._loss = torch.compile(cross_entropy_chunk, dynamic=False)

    def _backward(self, batch: np.ndarray, progress: float) -> float:
        ids = torch.from_numpy(batch)
        hidden = self.forward(ids[:, :-1])
        loss, slopes, head_slope = self._chunks(hidden.detach(), ids[:, 1:], answer_weights(ids[:, :-1], self._answer))
        self._propagate(hidden, slopes, head_slope)
        return loss

    def _chunks(
        self, hidden: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor
    ) -> tuple[float, list[torch.Tensor], torch.Tensor]:
        """Return (weighted loss in nats per token, gradients of hidden by chunk, of the head)."""
        head = self.model.model.embed_tokens.weight.detach()
        parts = hidden.flatten(0, 1).split(CHUNK_POSITIONS)
        loss, slopes, head_slope = 0.0, [], torch.zeros(head.shape)
        goals, shares = targets.flatten().split(CHUNK_POSITIONS), weights.flatten().split(CHUNK_POSITIONS)
        for part, goal, share in zip(parts, goals, shares, strict=True):
            summed, slope, part_head = self._loss(part, head, goal, share)
            loss += summed.item()
            slopes.append(slope)
            head_slope += part_head
        return loss, slopes, head_slope

    @torch.no_grad()
    def check(self) -> str:
        """Return the held-out loss in nats per token, in short windows."""
        rows, length = self.schedule.shape(0.0)
        self._held_out.restore({"epoch": 0, "cursor": 0})
        losses = []
        for _ in range(max(1, CHECKED_TOKENS // (rows * length))):
            ids = torch.from_numpy(self._held_out.rows(rows, length + 1))
            inputs = ids[:, :-1]
            losses.append(self._chunks(self.forward(inputs), ids[:, 1:], answer_weights(inputs, self._answer))[0])
        return f"held-out {np.mean(losses):.4f} nats/token"
