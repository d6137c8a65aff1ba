"""Muon for the hidden matrices, AdamW for embeddings and norms, on float32 master weights.

Muon replaces each matrix's momentum by its nearest semi-orthogonal matrix (five
Newton-Schulz steps in bfloat16). Matrices of one shape are stacked and stepped together.
"""

import torch

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
MUON_RATE, ADAM_RATE = 0.02, 0.003
"""Peak rates; `step` multiplies both by the schedule's factor."""
MUON_MOMENTUM, MUON_DECAY = 0.95, 0.05
ADAM_BETAS, ADAM_EPSILON = (0.9, 0.95), 1e-10


def orthogonalize(matrices: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """Return matrices (count, rows, columns) with all singular values near 1, in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    tall = matrices.shape[-2] > matrices.shape[-1]
    x = (matrices.mT if tall else matrices).bfloat16()
    x = x / (x.float().norm(dim=(-2, -1), keepdim=True) * 1.02 + 1e-7).bfloat16()
    for _ in range(steps):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x


def _gradient(parameter: torch.nn.Parameter) -> torch.Tensor:
    assert parameter.grad is not None, "every parameter takes part in the forward"
    return parameter.grad.float()


class MuonAdam:
    """Steps a model whose weights may be bfloat16; it keeps the float32 master weights."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._steps = 0
        self._groups: dict[str, list[torch.nn.Parameter]] = {}
        self._singles: dict[str, torch.nn.Parameter] = {}
        for name, parameter in model.named_parameters():
            if parameter.ndim == 2 and "embed" not in name:
                key = "x".join(map(str, parameter.shape))
                self._groups.setdefault(key, []).append(parameter)
            else:
                self._singles[name] = parameter
        self._state: dict[str, dict[str, torch.Tensor]] = {}
        for key, group in self._groups.items():
            master = torch.stack([p.detach().float() for p in group])
            self._state[key] = {"master": master, "momentum": torch.zeros_like(master)}
        for name, single in self._singles.items():
            master = single.detach().float().clone()
            zeros = torch.zeros_like
            self._state[name] = {"master": master, "mean": zeros(master), "square": zeros(master)}

    def state_dict(self) -> dict:
        """Return masters, moments and the step count."""
        return {"steps": self._steps, "state": self._state}

    def load_state_dict(self, saved: dict) -> None:
        """Continue from `state_dict()`, weights included."""
        self._steps, self._state = saved["steps"], saved["state"]
        self._publish()

    @torch.no_grad()
    def step(self, factor: float) -> None:
        """Apply the gradients at `factor` times the peak rates, then drop them."""
        self._steps += 1
        for key, group in self._groups.items():
            self._muon(self._state[key], torch.stack([_gradient(p) for p in group]), factor)
        for name, single in self._singles.items():
            self._adam(self._state[name], _gradient(single), factor)
        self._publish()
        for parameter in [p for group in self._groups.values() for p in group]:
            parameter.grad = None
        for single in self._singles.values():
            single.grad = None

    @torch.no_grad()
    def _publish(self) -> None:
        for key, group in self._groups.items():
            for parameter, master in zip(group, self._state[key]["master"], strict=True):
                parameter.copy_(master)
        for name, single in self._singles.items():
            single.copy_(self._state[name]["master"])

    def _muon(self, state: dict[str, torch.Tensor], gradient: torch.Tensor, factor: float) -> None:
        momentum, rate = state["momentum"], MUON_RATE * factor
        momentum.lerp_(gradient, 1 - MUON_MOMENTUM)
        update = orthogonalize(gradient.lerp(momentum, MUON_MOMENTUM)).float()
        shape_scale = max(1.0, gradient.shape[-2] / gradient.shape[-1]) ** 0.5
        state["master"].mul_(1 - rate * MUON_DECAY)
        state["master"].add_(update, alpha=-rate * shape_scale)

    def _adam(self, state: dict[str, torch.Tensor], gradient: torch.Tensor, factor: float) -> None:
        first, second = ADAM_BETAS
        state["mean"].lerp_(gradient, 1 - first)
        state["square"].lerp_(gradient.square(), 1 - second)
        mean = state["mean"] / (1 - first**self._steps)
        square = state["square"] / (1 - second**self._steps)
        update = mean / (square.sqrt() + ADAM_EPSILON)
        state["master"].add_(update, alpha=-ADAM_RATE * factor)
