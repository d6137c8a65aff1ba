"""The loop of all trainings, the schedule of the pair's, and the training of the target."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaForCausalLM

from training.llama import Forward, compiled_if
from training.losses import answer_weights, cross_entropy_chunk
from training.optimizer import MuonAdam

CHUNK_POSITIONS = 1024
SMOOTHING = 0.95


def save_checkpoint(path: Path, state: object) -> None:
    """Write `state` beside `path`, then rename it into place: a checkpoint is never incomplete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.replace(path)


def load_checkpoint(path: Path) -> dict:
    """Return what `save_checkpoint` wrote."""
    return torch.load(path, map_location="cpu", weights_only=False)


@dataclass(frozen=True)
class Budget:
    """A run ends when its tokens or its seconds are spent, whichever comes first.

    Seconds are wall-clock, summed over resumed sessions.
    """

    tokens: float
    seconds: float = math.inf

    def progress(self, tokens: float, seconds: float) -> float:
        """Return the spent share of the budget, at most 1."""
        return min(1.0, max(tokens / self.tokens, seconds / self.seconds))


@dataclass(frozen=True)
class Schedule:
    """Short warm-up, constant rate, `1 - sqrt` decay; long sequences towards the end."""

    warmup_steps: int = 60
    decay_share: float = 0.4
    short_length: int = 256
    long_length: int = 1024
    long_share: float = 0.15
    batch_tokens: int = 8192

    def rate(self, step: int, progress: float) -> float:
        """Return the learning-rate factor in [0, 1] of step `step` (from 0)."""
        warm = min(1.0, (step + 1) / self.warmup_steps)
        decayed = max(0.0, progress - (1 - self.decay_share)) / self.decay_share
        return warm * (1 - math.sqrt(decayed))

    def shape(self, progress: float) -> tuple[int, int]:
        """Return (rows, length) of the next batch."""
        length = self.long_length if progress >= 1 - self.long_share else self.short_length
        return max(1, self.batch_tokens // length), length


def in_chunks(states: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Cut what each position of (rows, length) has into chunks of (at most `CHUNK_POSITIONS`)."""
    return states.flatten(0, 1).split(CHUNK_POSITIONS)


class Trainer(ABC):
    """A model, its optimizer and its data, advanced one step at a time.

    `batches` has `batch(rows, length)`; its `state`, which `restore` takes, decides all later batches. `answer`: as in
    `answer_weights`.
    """

    LOSS: Callable[..., tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
    """Of a chunk: the loss, and its gradients of the hidden states and of the tied head."""

    def __init__(
        self,
        model: LlamaForCausalLM,
        batches: Any,
        budget: Budget,
        schedule: Schedule,
        *,
        answer: int | None = None,
        compiled: bool = False,
    ) -> None:
        self.model, self.budget, self.schedule = model, budget, schedule
        self.step, self.tokens, self.seconds = 0, 0, 0.0
        self.forward = Forward(model, compiled=compiled)
        self._batches, self._answer = batches, answer
        self._loss = compiled_if(compiled, type(self).LOSS)
        self._optimizer = MuonAdam(model)

    @property
    def progress(self) -> float:
        """Return the spent share of the budget, 0 to 1."""
        return self.budget.progress(self.tokens, self.seconds)

    def advance(self) -> dict[str, float]:
        """Take one optimizer step; return its mean loss, and its speed."""
        began = time.monotonic()
        progress = self.progress
        rows, length = self.schedule.shape(progress)
        loss = self._backward(self._batches.batch(rows, length), progress)
        self._optimizer.step(self.schedule.rate(self.step, progress))
        self.step += 1
        self.tokens += rows * length
        spent = time.monotonic() - began
        self.seconds += spent
        return {"loss": loss, "tokens/s": rows * length / spent}

    @abstractmethod
    def _backward(self, batch: Any, progress: float) -> float:
        """Leave the gradients of the mean loss in the parameters; return the mean loss."""

    def _descend(self, hidden: torch.Tensor, parts: Iterable[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]) -> float:
        """Send the gradients of a loss to the parameters, and return the loss.

        `parts`: of each chunk of `hidden` the loss, its gradients of the hidden states, and of the tied head.
        """
        embeddings = self.model.model.embed_tokens.weight
        loss, slopes, head_slope = 0.0, [], torch.zeros(embeddings.shape)
        for summed, slope, part_head in parts:
            loss += summed.item()
            slopes.append(slope)
            head_slope += part_head
        hidden.backward(torch.cat(slopes).view_as(hidden))
        assert embeddings.grad is not None
        embeddings.grad = (embeddings.grad.float() + head_slope).to(embeddings.dtype)
        return loss

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` takes."""
        return {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "batches": self._batches.state,
            "counts": (self.step, self.tokens, self.seconds),
        }

    def restore(self, saved: dict[str, Any]) -> None:
        """Go on from a `state`."""
        self.model.load_state_dict(saved["model"])
        self._optimizer.load_state_dict(saved["optimizer"])
        self._batches.restore(saved["batches"])
        self.step, self.tokens, self.seconds = saved["counts"]


class TargetTrainer(Trainer):
    """Trains on `MixedBatches`."""

    LOSS = cross_entropy_chunk

    def _backward(self, batch: np.ndarray, progress: float) -> float:
        ids = torch.from_numpy(batch)
        hidden, head = self.forward(ids[:, :-1]), self.model.model.embed_tokens.weight.detach()
        weights = answer_weights(ids[:, :-1], self._answer)
        chunks = zip(in_chunks(hidden.detach()), in_chunks(ids[:, 1:]), in_chunks(weights), strict=True)
        return self._descend(hidden, (self._loss(part, head, goal, share) for part, goal, share in chunks))


def train(
    trainer: Any, checkpoint: Path, *, save_every_seconds: float = 180.0, report_every: int = 20
) -> Iterator[str]:
    """Advance until the budget is spent; yield reports of smoothed figures, and save on the way."""
    if checkpoint.exists():
        trainer.restore(load_checkpoint(checkpoint))
        yield f"resumed at step {trainer.step}"
    smooth, saved_at = dict[str, float](), time.monotonic()
    while trainer.progress < 1:
        for name, value in trainer.advance().items():
            smooth[name] = value if name not in smooth else SMOOTHING * smooth[name] + (1 - SMOOTHING) * value
        if trainer.step % report_every == 0:
            told = ", ".join(f"{name} {value:.4g}" for name, value in sorted(smooth.items()))
            yield f"step {trainer.step} seconds {trainer.seconds:.0f} progress {trainer.progress:.3f} {told}"
        if time.monotonic() - saved_at > save_every_seconds or trainer.progress >= 1:
            save_checkpoint(checkpoint, trainer.state())
            saved_at = time.monotonic()
