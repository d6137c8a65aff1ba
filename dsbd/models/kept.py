"""Pairs of models that are kept between calls, for as long as the target lives and no weight changes.

Engines copy and join weights, so a pair that was made before a weight changed has the old law.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch

from dsbd.models.making import make_pair
from dsbd.models.pair import Pair

ON_MODEL = "_dsbd_pairs"
"""Attribute of a target with its pairs. It is the target's own, so that target and drafts are freed together."""
Mark = tuple[Any, ...]


class _Kept(dict[int, tuple[Mark, Pair]]):
    """Pairs by the identity of the draft model, each with the mark of the weights it was made of.

    A target that is copied or saved takes none of them along.
    """

    def __reduce__(self) -> Any:
        return dict, ()


class _Ids:
    """Stands for the tokenizer where no text is made."""

    eos_token_id = None

    def decode(self, ids: Sequence[int], **how: Any) -> str:
        return ""


def kept_pair(target: Any, draft: Any) -> Pair:
    """Return the pair of two loaded models; it is checked once, and again after a weight changed.

    Noticed are weights that were replaced, moved, cast, or changed in place, and training mode. Not noticed is a change
    through ``parameter.data``, which torch does not count.

    Raises:
        PairError: as :func:`dsbd.make_pair` does.
    """
    kept = target.__dict__.get(ON_MODEL)
    if not isinstance(kept, _Kept):
        kept = target.__dict__[ON_MODEL] = _Kept()
    mark, pair = kept.get(id(draft), (None, None))
    if pair is None or mark != _mark(target, draft):
        pair = make_pair(target, draft, _Ids())
        kept[id(draft)] = _mark(target, draft), pair
    return pair


def _mark(*models: Any) -> Mark:
    """Return what differs once a weight or the mode of a model changed."""
    weights = [chain(model.parameters(), model.buffers()) for model in models if model is not None]
    modes = [model.training for model in models if isinstance(model, torch.nn.Module)]
    return *modes, *(_state(weight) for weight in chain.from_iterable(weights))


def _state(weight: torch.Tensor) -> Mark:
    """Return where a tensor lies and how often it was written, as far as it can be known."""
    version = None if weight.is_inference() else weight._version
    try:
        place = weight.data_ptr()
    except RuntimeError:  # a packed tensor has no memory of its own
        place = 0
    return place, version, weight.dtype, weight.device, weight.shape
