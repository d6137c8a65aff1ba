"""How many decodes a batch holds, and which of them take its lanes (``engines/lanes.py``)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from dsbd.machine import free_bytes
from dsbd.models.engines.onnx_lanes import OnnxLanes
from dsbd.models.language_model import LanguageModel
from dsbd.models.states.forest import ForestState
from dsbd.util import CancelCheck

SHARE = 0.8
"""How much of the free memory a batch may take."""


class Batch:
    """Lanes for several decodes of the same models, as many as fit the memory.

    Args:
        models: that the decodes call.
        size: decodes at the same time, at least 1.
        slots: cache slots that one of them takes, about; a lane has twice as many.
    """

    def __init__(self, models: Sequence[LanguageModel], size: int, slots: int) -> None:
        room = 2 * slots
        each = sum(room * shape.slot_bytes for model in models for shape in model.layer_shapes)
        gains = [model for model in models if OnnxLanes.gains(model)]
        weights = sum(model.model.get_memory_footprint() for model in gains)
        self.size = max(1, min(size, int((free_bytes(models[0].device) * SHARE - weights) // each)))
        """Decodes at the same time."""
        self.lanes = [OnnxLanes(model, self.size, room) for model in gains] if self.size > 1 else []

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Let decodes that begin in the block take lanes."""
        token = _JOINED.set(self)
        try:
            yield
        finally:
            _JOINED.reset(token)


_JOINED: ContextVar[Batch | None] = ContextVar("batch", default=None)


def lane_state(model: LanguageModel, slots: int, check: CancelCheck) -> ForestState | None:
    """Return a state on a lane of the batch that the caller has joined; None if there is none for it."""
    batch = _JOINED.get()
    for lanes in batch.lanes if batch is not None else ():
        if lanes.model is model and (lane := lanes.take(slots)) is not None:
            return lanes.new_state(lane, check)
    return None
