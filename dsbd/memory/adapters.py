"""Low-rank additions to a model's own matrices: a memory is trained together with them.

*Source:* LoRA, arXiv 2106.09685. They are added to the weights when the memory is loaded, so the model that decodes has
no extra operation.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from dsbd.errors import PairError


class LowRank(NamedTuple):
    """What is added to a matrix [outputs, inputs]: ``up @ down``."""

    up: torch.Tensor
    """[outputs, rank]."""
    down: torch.Tensor
    """[rank, inputs]."""


@torch.no_grad()
def add_adapters(model: Any, adapters: Mapping[str, LowRank]) -> None:
    """Add low-rank products to the weights of a model's linear layers, in place.

    Args:
        model: a model of transformers.
        adapters: {name of a linear layer: what is added to its weight}.

    Raises:
        PairError: the model has no such layer, or it is of another shape, or quantised. Then nothing is changed.
    """
    weights = [_weight_of(model, name, added) for name, added in adapters.items()]
    for weight, added in zip(weights, adapters.values(), strict=True):
        product = added.up.to(weight.device).float() @ added.down.to(weight.device).float()
        weight.copy_((weight.float() + product).to(weight.dtype))


def _weight_of(model: Any, name: str, added: LowRank) -> torch.Tensor:
    try:
        weight = model.get_submodule(name).weight
    except AttributeError:
        raise PairError(f"the memory adds to a layer {name[:100]!r}, which the model does not have") from None
    if not isinstance(weight, torch.Tensor) or not weight.is_floating_point() or type(weight.data) is not torch.Tensor:
        raise PairError(f"the memory adds to the layer {name[:100]!r}, which is quantised; load the model without that")
    if weight.shape != (added.up.shape[0], added.down.shape[1]):
        raise PairError(f"the memory adds to a layer {name[:100]!r} of another shape; it was made for another model")
    return weight
