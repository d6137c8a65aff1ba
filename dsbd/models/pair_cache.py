"""Keeps pairs of models between calls, as long as the target lives and no weight changes.

Engines copy and join weights, so a pair from before a change would follow the old law.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch

from dsbd.models.making import make_pair
from dsbd.models.pair import Pair

ON_MODEL = "_dsbd_pairs"
"""The attribute of a target that holds its pairs, so that target and drafts are freed together."""
Mark = tuple[Any, ...]


class _Pairs(dict[int, tuple[Mark, Pair]]):
    """Pairs by the identity of the draft model, each with the mark of its weights. A copy of the target has none."""

    def __reduce__(self) -> Any:
        return dict, ()


class _Ids:
    """A tokenizer for ids without text."""

    eos_token_id = None

    def decode(self, ids: Sequence[int], **how: Any) -> str:
        return ""


def kept_pair(target: Any, draft: Any) -> Pair:
    """Return the pair of two loaded models; it is checked at the first call, and again after a weight changed.

    A change is noticed if a weight was replaced, moved, cast or changed in place, or if a model is back in training
    mode. A change through ``parameter.data`` is not noticed, because torch does not count it.

    Raises:
        PairError: as :func:`dsbd.make_pair` does.
    """
    kept = target.__dict__.get(ON_MODEL)
    if not isinstance(kept, _Pairs):
        kept = target.__dict__[ON_MODEL] = _Pairs()
    mark, pair = kept.get(id(draft), (None, None))
    if pair is None or mark != _mark(target, draft):
        pair = make_pair(target, draft, _Ids())
        kept[id(draft)] = _mark(target, draft), pair
    return pair


def _mark(*models: Any) -> Mark:
    """Return a value that changes with any weight and with the mode of a model."""
    weights = [chain(model.parameters(), model.buffers()) for model in models if model is not None]
    modes = [model.training for model in models if isinstance(model, torch.nn.Module)]
    return *modes, *(_state(weight) for weight in chain.from_iterable(weights))


def _state(weight: torch.Tensor) -> Mark:
    """Return where a tensor is and how often it was written, if torch can tell."""
    version = None if weight.is_inference() else weight._version
    try:
        place = weight.data_ptr()
    except RuntimeError:  # a packed tensor has no single address
        place = 0
    return place, version, weight.dtype, weight.device, weight.shape
