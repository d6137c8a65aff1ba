"""Muon for the hidden matrices, AdamW for embeddings, norms and whatever else is no matrix of a layer.

Muon replaces each matrix's momentum by its nearest semi-orthogonal matrix (five Newton-Schulz steps in bfloat16). Every
group keeps its greatest rate as `peak`; the trainer sets `lr` to a share of it.
"""

from typing import Any

import torch

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
MUON_RATE, ADAM_RATE = 0.02, 0.003
MUON_MOMENTUM, MUON_DECAY = 0.95, 0.05
ADAM_BETAS = (0.9, 0.95)


def orthogonalize(matrix: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """Return a matrix (rows, columns) with all singular values near 1, in bfloat16."""
    a, b, c = NEWTON_SCHULZ
    tall = matrix.shape[0] > matrix.shape[1]
    x = (matrix.mT if tall else matrix).bfloat16()
    x = x / (x.float().norm() * 1.02 + 1e-7).bfloat16()
    for _ in range(steps):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Steps matrices along their orthogonalised momentum."""

    def __init__(self, matrices: list[torch.nn.Parameter]) -> None:
        """Begin with a momentum of zero."""
        super().__init__(matrices, {"lr": MUON_RATE, "peak": MUON_RATE})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Apply the gradients."""
        for group in self.param_groups:
            for matrix in group["params"]:
                gradient, state = matrix.grad, self.state[matrix]
                momentum = state["momentum"] if state else state.setdefault("momentum", torch.zeros_like(matrix))
                momentum.lerp_(gradient, 1 - MUON_MOMENTUM)
                update = orthogonalize(gradient.lerp(momentum, MUON_MOMENTUM)).to(matrix.dtype)
                shape_scale = max(1.0, matrix.shape[0] / matrix.shape[1]) ** 0.5
                matrix.mul_(1 - group["lr"] * MUON_DECAY).add_(update, alpha=-group["lr"] * shape_scale)


def adam(groups: list[tuple[list[Any], float]]) -> torch.optim.Optimizer:
    """Return AdamW for groups of (parameters, greatest rate); empty ones are left out."""
    kept = [{"params": parameters, "lr": rate, "peak": rate} for parameters, rate in groups if parameters]
    return torch.optim.AdamW(kept, betas=ADAM_BETAS, weight_decay=0.0)


def optimizers_of(model: torch.nn.Module) -> dict[str, torch.optim.Optimizer]:
    """Return {name: optimizer} that together step every parameter of a model once."""
    matrices, others = list[torch.nn.Parameter](), list[torch.nn.Parameter]()
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and ".layers." in name else others).append(parameter)
    return {"muon": Muon(matrices), "adam": adam([(others, ADAM_RATE)])}
