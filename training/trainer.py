"""The loop that both trainings share: step, count, save, resume, report."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaForCausalLM

from training.llama import PositionTables, hidden_states, layer_states, position_tables
from training.optimizer import MuonAdam
from training.schedule import Budget, Schedule

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
