"""What is learned, the optimizers, and the loop that all trainings share: steps, the learning rate, checkpoints.

A checkpoint holds everything that decides what follows, and no clock decides anything: on one machine a run that was
stopped and started again ends with the same weights, bit for bit, as one that was not.

Muon takes the hidden matrices, AdamW embeddings, norms and whatever else is no matrix of a layer. Every group keeps its
greatest rate as `peak`; the trainer sets `lr` to a share of it.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

WARMUP_STEPS, DECAY_SHARE, LARGEST_GRADIENT = 50, 0.4, 1.0
SAVE_EVERY_SECONDS, REPORT_EVERY, SMOOTHING = 180.0, 20, 0.95

Loss = Callable[[float], tuple[torch.Tensor, dict[str, float]]]
"""Computes the next batch's loss, and figures to report, from the share of the run that is done, 0 to 1."""
MUON_RATE, MUON_DECAY, ADAM_RATE = 0.02, 0.05, 0.003
ADAM_BETAS = (0.9, 0.95)


def next_token_loss(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Return the loss (rows, length - 1) of each next token in nats, of logits (rows, length, vocabulary)."""
    scores, following = logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten()
    return functional.cross_entropy(scores, following, reduction="none").view(len(ids), -1)


def overlap(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    """Return Σ min(target, draft) of logits (…, vocabulary): the expected acceptance of one draft token."""
    return torch.minimum(target.float().softmax(-1), draft.float().softmax(-1)).sum(-1)


def distillation_loss(target: torch.Tensor, draft: torch.Tensor, variation_share: float) -> torch.Tensor:
    """Return the mean of `(1 - variation_share) · KL(target ‖ draft) + variation_share · (1 - overlap)`, of logits."""
    target_log_probs, draft_log_probs = target.float().log_softmax(-1), draft.float().log_softmax(-1)
    divergence = (target_log_probs.exp() * (target_log_probs - draft_log_probs)).sum(-1)
    return ((1 - variation_share) * divergence + variation_share * (1 - overlap(target, draft))).mean()


def variation_share(progress: float) -> float:
    """Return the share of the overlap in the loss, at `progress` in [0, 1]: 0, then a ramp, then 0.9."""
    return 0.9 * min(1.0, max(0.0, (progress - 0.4) / (0.7 - 0.4)))


def adam(groups: list[tuple[list[Any], float]]) -> torch.optim.Optimizer:
    """Return AdamW for groups of (parameters, greatest rate); empty ones are left out."""
    own = [{"params": parameters, "lr": rate, "peak": rate} for parameters, rate in groups if parameters]
    return torch.optim.AdamW(own, betas=ADAM_BETAS, weight_decay=0.0)


def optimizers_of(model: torch.nn.Module) -> dict[str, torch.optim.Optimizer]:
    """Return {name: optimizer} that together step every parameter of a model once. Raises: ValueError: torch is old."""
    if not hasattr(torch.optim, "Muon"):
        raise ValueError(f"torch is {torch.__version__}; training needs 2.9 or later: pip install 'torch>=2.9'")
    matrices, others = list[torch.nn.Parameter](), list[torch.nn.Parameter]()
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and ".layers." in name else others).append(parameter)
    muon = torch.optim.Muon([{"params": matrices, "peak": MUON_RATE}], MUON_RATE, MUON_DECAY)
    return {"muon": muon, "adam": adam([(others, ADAM_RATE)])}


def rate_at(step: int, steps: int) -> float:
    """Return the learning rate's factor in [0, 1] at a step (from 0): warm-up, constant, `1 - sqrt` decay."""
    decayed = max(0.0, step / steps - (1 - DECAY_SHARE)) / DECAY_SHARE
    return min(1.0, (step + 1) / WARMUP_STEPS) * (1 - math.sqrt(decayed))


class Trainer:
    """A training, advanced one step at a time.

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
        """Write all that `resume` reads, to another file first: a checkpoint is never incomplete."""
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        partial = checkpoint.with_suffix(".partial")
        state = {name: part.state_dict() for name, part in self._parts.items()}
        torch.save({"step": self.step, "steps": self.steps, "parts": state}, partial)
        partial.replace(checkpoint)

    def resume(self, checkpoint: Path) -> None:
        """Go on from a checkpoint. Raises: ValueError: it belongs to a run of another length."""
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
            figures = ", ".join(f"{name} {value:.4g}" for name, value in sorted(smooth.items()))
            seconds = (now - began) / (trainer.step - first)
            yield f"step {trainer.step} of {trainer.steps}, {seconds:.2f} s a step: {figures}"
        if now - saved_at > SAVE_EVERY_SECONDS or trainer.step == trainer.steps:
            trainer.save(checkpoint)
            saved_at = now
