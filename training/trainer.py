"""The loop that both trainings share, its schedule, and the training of the target: cross-entropy of the next token."""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaForCausalLM

from training.llama import PositionTables, hidden_states, layer_states, position_tables
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


class Forward:
    """`hidden_states` of one model, compiled or not, with its position tables kept."""

    def __init__(self, model: LlamaForCausalLM, *, compiled: bool) -> None:
        self._model = model
        self._layer = torch.compile(layer_states, dynamic=False) if compiled else layer_states
        self._tables: dict[int, PositionTables] = {}

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """Return hidden states (rows, length, size) of ids (rows, length)."""
        length = ids.shape[1]
        if length not in self._tables:
            self._tables[length] = position_tables(self._model, length)
        return hidden_states(self._model, ids, self._tables[length], self._layer)


class Trainer(ABC):
    """A model, its optimizer and its data, advanced one step at a time.

    `batches` has `batch(rows, length)`; its `state`, which `restore` takes, decides all later batches.
    """

    def __init__(
        self,
        model: LlamaForCausalLM,
        batches: Any,
        budget: Budget,
        schedule: Schedule,
        *,
        compiled: bool = False,
    ) -> None:
        self.model, self.budget, self.schedule = model, budget, schedule
        self.step, self.tokens, self.seconds = 0, 0, 0.0
        self.forward = Forward(model, compiled=compiled)
        self._batches = batches
        self._optimizer = MuonAdam(model)

    @property
    def progress(self) -> float:
        """Return the spent share of the budget, 0 to 1."""
        return self.budget.progress(self.tokens, self.seconds)

    def advance(self) -> float:
        """Take one optimizer step; return its mean loss."""
        began = time.monotonic()
        progress = self.progress
        rows, length = self.schedule.shape(progress)
        loss = self._backward(self._batches.batch(rows, length), progress)
        self._optimizer.step(self.schedule.rate(self.step, progress))
        self.step += 1
        self.tokens += rows * length
        self.seconds += time.monotonic() - began
        return loss

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

    def save(self, path: Path) -> None:
        """Write everything that `resume` needs."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "batches": self._batches.state,
            "counts": (self.step, self.tokens, self.seconds),
        }
        save_checkpoint(path, state)

    def resume(self, path: Path) -> bool:
        """Continue from `path`; return whether there was a checkpoint."""
        if not path.exists():
            return False
        saved = load_checkpoint(path)
        self.model.load_state_dict(saved["model"])
        self._optimizer.load_state_dict(saved["optimizer"])
        self._batches.restore(saved["batches"])
        self.step, self.tokens, self.seconds = saved["counts"]
        return True


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


def train(
    trainer: Trainer,
    checkpoint: Path,
    *,
    save_every_seconds: float = 180.0,
    report: Callable[[str], None] = print,
) -> None:
    """Advance until the budget is spent, saving and reporting on the way."""
    if trainer.resume(checkpoint):
        report(f"resumed at step {trainer.step}")
    saved_at, smooth = time.monotonic(), None
    while trainer.progress < 1:
        loss = trainer.advance()
        smooth = loss if smooth is None else SMOOTHING * smooth + (1 - SMOOTHING) * loss
        if trainer.step % 20 == 0:
            report(
                f"step {trainer.step} tokens {trainer.tokens} seconds {trainer.seconds:.0f} "
                f"progress {trainer.progress:.3f} loss {smooth:.4f} "
                f"{trainer.tokens / trainer.seconds:.0f} tokens/s"
            )
        if time.monotonic() - saved_at > save_every_seconds or trainer.progress >= 1:
            trainer.save(checkpoint)
            saved_at = time.monotonic()
