"""The sizes of a causal language model from its configuration alone.

The model is built on torch's ``meta`` device: every weight has its shape and no memory. Accelerate counts the weights,
and the function that counts the cache of a loaded model counts what a token leaves in it. Of a hub id only
``config.json`` is fetched. Code that comes with a model is never run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate.utils.modeling import compute_module_sizes

from dsbd.errors import PairError
from dsbd.models.check import KNOWN_LAYER_TYPES
from dsbd.models.files import config_of, source_of, without_weights
from dsbd.models.language_model import LanguageModel
from dsbd.models.loading import DTYPES, display_name, require_name
from dsbd.models.quiet import without_progress, without_warnings

_EXPERTS_AS = "batched_mm"
"""The way of computing experts whose shapes do not depend on the tokens: tokens on ``meta`` have no values."""


@dataclass(frozen=True)
class ModelSizes:
    """What a model needs; the bytes are those of one dtype."""

    id: str
    parameters: int
    weight_bytes: int
    """Of all weights and buffers, in memory; experts too."""
    slot_bytes: int
    """Keys and values of one token, all layers together, at the number of heads that the cache holds. Layers with a
    sliding window keep every token too: one row holds all beams, and the mask alone hides what is out of the window."""
    number_bytes: int
    """Bytes of one number."""
    vocabulary_size: int
    context_size: int | None
    """Positions that the model was made for; None if its configuration does not say."""
    masks: int
    """Attention masks of a forward: one for each kind of layer."""


def model_sizes(source: str | Path, dtype: str) -> ModelSizes:
    """Count what a model needs.

    Args:
        source: folder with a ``config.json``, or a hub id.
        dtype: of weights and cache, a name of :data:`dsbd.models.loading.DTYPES`.

    Raises:
        PairError: there is no such configuration, or it is of no causal language model; the model is recurrent, has
            layers other than attention, or is quantised.
    """
    module = _without_weights(require_name(source), dtype)
    model = LanguageModel(module, display_name(source))
    _require_attention(model)
    return ModelSizes(
        id=model.id,
        parameters=sum(weight.numel() for weight in module.parameters()),
        weight_bytes=compute_module_sizes(module)[""],
        slot_bytes=sum(shape.slot_bytes for shape in model.layer_shapes),
        number_bytes=DTYPES[dtype].itemsize,
        vocabulary_size=model.vocabulary_size,
        context_size=model.context_size,
        masks=len(model.windows),
    )


def _without_weights(name: str, dtype: str) -> Any:
    """Return a model whose weights have shapes and no numbers. Raises: PairError: as :func:`model_sizes`."""
    with without_progress(), without_warnings():
        config = config_of(source_of(name))
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
            f"{model.id} ({model.config.model_type}) has {kinds}, whose memory follows other rules than that "
            f"of attention; the plan knows attention over all tokens, or over a sliding window"
        )
