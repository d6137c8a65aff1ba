"""The loop that all trainings share: steps, the learning rate, checkpoints.

A checkpoint holds everything that decides what follows, and no clock decides anything: on one machine a run that was
stopped and started again ends with the same weights, bit for bit, as one that was not.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

WARMUP_STEPS, DECAY_SHARE, LARGEST_GRADIENT = 50, 0.4, 1.0
SAVE_EVERY_SECONDS, REPORT_EVERY, SMOOTHING = 180.0, 20, 0.95

Loss = Callable[[float], tuple[torch.Tensor, dict[str, float]]]
"""Of the share of the run that is done, 0 to 1: the next batch's loss, and figures to report."""


def rate_at(step: int, steps: int) -> float:
    """Return the learning rate's factor in [0, 1] at a step (from 0): warm-up, constant, `1 - sqrt` decay."""
    decayed = max(0.0, step / steps - (1 - DECAY_SHARE)) / DECAY_SHARE
    return min(1.0, (step + 1) / WARMUP_STEPS) * (1 - math.sqrt(decayed))


class Trainer:
    """Something that learns, advanced one step at a time.

    Args:
        loss: computes a batch's loss with a graph.
        optimizers: {name: optimizer} whose groups have a `peak` rate.
        parts: {name: whatever else changes while it learns}: the models and the batches, with `state_dict` and
            `load_state_dict`.
        steps: of the whole run.
    """

    def __init__(
        self, loss: Loss, optimizers: Mapping[str, torch.optim.Optimizer], parts: Mapping[str, Any], steps: int
    ) -> None:
        self.step, self.steps = 0, steps
        self._loss, self._optimizers, self._parts = loss, optimizers, {**parts, **optimizers}

    def advance(self) -> dict[str, float]:
        """Take one step; return its figures."""
        loss, figures = self._loss(self.step / self.steps)
        loss.backward()
        groups = [group for optimizer in self._optimizers.values() for group in optimizer.param_groups]
        torch.nn.utils.clip_grad_norm_([weight for group in groups for weight in group["params"]], LARGEST_GRADIENT)
        for group in groups:
            group["lr"] = group["peak"] * rate_at(self.step, self.steps)
        for optimizer in self._optimizers.values():
            optimizer.step()
            optimizer.zero_grad()
        self.step += 1
        return figures

    def save(self, checkpoint: Path) -> None:
        """Write everything that `resume` takes, beside the file first: a checkpoint is never incomplete."""
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        partial = checkpoint.with_suffix(".partial")
        state = {name: part.state_dict() for name, part in self._parts.items()}
        torch.save({"step": self.step, "steps": self.steps, "parts": state}, partial)
        partial.replace(checkpoint)

    def resume(self, checkpoint: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            ValueError: it belongs to a run of another length.
        """
        saved = torch.load(checkpoint, map_location="cpu", weights_only=False)
        if saved["steps"] != self.steps:
            raise ValueError(
                f"{checkpoint} belongs to a run of {saved['steps']} steps, not {self.steps}: the learning rate follows "
                f"the length; give --steps {saved['steps']}, or another --work"
            )
        for name, part in self._parts.items():
            part.load_state_dict(saved["parts"][name])
        self.step = saved["step"]


def train(trainer: Trainer, checkpoint: Path) -> Iterator[str]:
    """Advance to the last step; yield reports of smoothed figures, and save on the way."""
    if checkpoint.exists():
        trainer.resume(checkpoint)
        yield f"resumed at step {trainer.step}"
    smooth, began, saved_at = dict[str, float](), time.monotonic(), time.monotonic()
    first = trainer.step
    while trainer.step < trainer.steps:
        for name, value in trainer.advance().items():
            smooth[name] = value if name not in smooth else SMOOTHING * smooth[name] + (1 - SMOOTHING) * value
        now = time.monotonic()
        if trainer.step % REPORT_EVERY == 0 or trainer.step == trainer.steps:
            told = ", ".join(f"{name} {value:.4g}" for name, value in sorted(smooth.items()))
            seconds = (now - began) / (trainer.step - first)
            yield f"step {trainer.step} of {trainer.steps}, {seconds:.2f} s a step: {told}"
        if now - saved_at > SAVE_EVERY_SECONDS or trainer.step == trainer.steps:
            trainer.save(checkpoint)
            saved_at = now
