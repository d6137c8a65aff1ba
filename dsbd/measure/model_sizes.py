"""The sizes of a causal language model from its configuration alone.

The model is built on torch's ``meta`` device: every weight has its shape and no memory. What a forward reads and what a
token leaves in the cache are then counted by the functions that count them for a loaded model. Of a hub id only
``config.json`` is fetched. Code that comes with a model is never run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsbd.errors import PairError
from dsbd.measure.hardware import slot_bytes, weight_bytes
from dsbd.models.check import KNOWN_LAYER_TYPES
from dsbd.models.choices import DTYPES
from dsbd.models.engines.traced import experts_of, routes
from dsbd.models.language_model import LanguageModel
from dsbd.models.loading import display_name, require_name
from dsbd.models.outline import config_of, source_of, without_weights
from dsbd.models.quiet import without_progress, without_warnings

_EXPERTS = ".experts."
"""In the names of the weights of experts that a router chooses; experts that every token takes are named otherwise."""


_EXPERTS_AS = "batched_mm"
"""The way of computing experts whose shapes do not depend on the tokens: tokens on ``meta`` have no values."""


@dataclass(frozen=True)
class ModelSizes:
    """What a model needs; the bytes are those of one dtype."""

    id: str
    parameters: int
    weight_bytes: int
    """Of all weights, in memory."""
    read_bytes: int
    """Of the weights that a forward may read: all, except input embeddings that are not tied."""
    expert_bytes: int
    """The part of them in experts that a router chooses; 0 without experts."""
    expert_share: float
    """The share of the experts that one token takes."""
    slot_bytes: int
    """Keys and values of one token, all layers together, at the number of heads that the cache holds. Layers with a
    sliding window keep every token too: one row holds all beams, and the mask alone hides what is out of the window."""
    attention_flops: int
    """Operations of the attention of one token to one slot, all layers together."""
    number_bytes: int
    """Bytes of one number."""
    vocabulary_size: int
    context_size: int | None
    """Positions that the model was made for; None if its configuration does not say."""
    masks: int
    """Attention masks of a forward: one for each kind of layer."""

    def bytes_of(self, tokens: float, slots: float) -> float:
        """Return the bytes that a forward of ``tokens`` tokens reads behind ``slots`` slots in use.

        Each token takes its experts as if by chance, so few tokens read few experts and many tokens read all.
        """
        unread = self.expert_bytes * (1 - self.expert_share) ** tokens
        return self.read_bytes - unread + slots * self.slot_bytes

    def flops_of(self, tokens: float, slots: float) -> float:
        """Return the operations of such a forward: two per weight and token, and the attention."""
        weights = self.read_bytes - self.expert_bytes * (1 - self.expert_share)
        return tokens * (2 * weights / self.number_bytes + self.attention_flops * slots)


def model_sizes(source: str | Path, dtype: str, fetch: bool = True) -> ModelSizes:
    """Count what a model needs.

    Args:
        source: folder with a ``config.json``, or a hub id.
        dtype: of weights and cache, a name of :data:`dsbd.models.choices.DTYPES`.
        fetch: whether a hub may be asked for a configuration that is not on this machine.

    Raises:
        PairError: there is no such configuration, or it is of no causal language model; the model is recurrent, has
            layers that are no attention, or is quantised.
    """
    module = _without_weights(require_name(source), dtype, fetch)
    model = LanguageModel(module, display_name(source))
    _require_attention(model)
    shapes = model.layer_shapes
    heads = getattr(model.config, "num_attention_heads", None)
    size = DTYPES[dtype].itemsize
    weights = dict(module.named_parameters())
    return ModelSizes(
        id=model.id,
        parameters=sum(weight.numel() for weight in weights.values()),
        weight_bytes=sum(weight.numel() * weight.element_size() for weight in weights.values()),
        read_bytes=weight_bytes(model),
        expert_bytes=sum(
            weight.numel() * weight.element_size() for name, weight in weights.items() if _EXPERTS in name
        ),
        expert_share=_expert_share(model.config),
        slot_bytes=slot_bytes(model),
        attention_flops=sum(2 * (heads or shape.keys[0]) * (shape.keys[1] + shape.values[1]) for shape in shapes),
        number_bytes=size,
        vocabulary_size=model.vocabulary_size,
        context_size=model.context_size,
        masks=len(model.windows),
    )


def _without_weights(name: str, dtype: str, fetch: bool) -> Any:
    """Return a model whose weights have shapes and no numbers. Raises: PairError: as :func:`model_sizes`."""
    with without_progress, without_warnings:
        config = config_of(source_of(name, fetch))
        if getattr(config, "quantization_config", None) is not None:
            raise PairError(
                f"{name} is quantised, and what its weights take depends on how; plan its original model, and give the "
                f"dtype"
            )
        return without_weights(name, config, DTYPES[dtype], experts_implementation=_EXPERTS_AS)


def _require_attention(model: LanguageModel) -> None:
    """Refuse a model with layers that keep no keys and values. Raises: PairError."""
    unknown = sorted(set(model.windows) - KNOWN_LAYER_TYPES)
    if model.model._is_stateful or unknown:
        kinds = "recurrent layers" if model.model._is_stateful else f"layers of kind {', '.join(unknown)}"
        raise PairError(
            f"{model.id} ({model.config.model_type}) has {kinds}, whose memory and time follow other rules than those "
            f"of attention; the plan knows attention over all tokens, or over a sliding window"
        )


def _expert_share(config: Any) -> float:
    """Return the share of a model's experts that one token takes; 1 without experts."""
    taken = getattr(config, "num_experts_per_tok", None) or getattr(config, "moe_k", None)
    return min(1.0, taken / experts_of(config)) if taken and routes(config) else 1.0
