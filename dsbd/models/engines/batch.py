"""How many decodes a batch holds, and which of them take its lanes (``engines/lanes.py``)."""

import reprlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

import torch

from dsbd.errors import SettingsError
from dsbd.machine import free_bytes
from dsbd.models.engines.lanes import PythonLock
from dsbd.models.engines.onnx_lanes import OnnxLanes
from dsbd.models.language_model import LanguageModel
from dsbd.models.states.forest import ForestState
from dsbd.util import CancelCheck

Item = TypeVar("Item")
Result = TypeVar("Result")
MOST = 256
"""Decodes at the same time, at most."""
SHARE = 0.8
"""How much of the free memory a batch may take."""
AHEAD = 4
"""Results that may wait for an earlier one, in multiples of the batch size."""


class Batch:
    """Lanes for several decodes of the same models, as many as fit the memory.

    Args:
        models: that the decodes call.
        size: decodes at the same time, at least 1.
        slots: cache slots that one decode takes, about; a lane has twice as many.
    """

    def __init__(self, models: Sequence[LanguageModel], size: int, slots: int) -> None:
        room = 2 * slots
        each = sum(room * shape.slot_bytes for model in models for shape in model.layer_shapes)
        gains = [model for model in models if OnnxLanes.gains(model)]
        weights = sum(model.model.get_memory_footprint() for model in gains)
        self.size = max(1, min(size, int((free_bytes(models[0].device) * SHARE - weights) // each)))
        """Decodes at the same time."""
        self.lanes, self._lock = list[OnnxLanes](), PythonLock()
        with suppress(RuntimeError):  # a runtime that is too old: then each decode computes its own forwards
            self.lanes += [OnnxLanes(model, self.size, room) for model in gains if self.size > 1]
        self.serves_all = self.size > 1 and len(self.lanes) == len(gains)
        """Whether every model that gains by lanes has them."""

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], ended: threading.Event) -> Iterator[Result]:
        """Yield ``work(item)`` of each item, in order, worked at by a thread each, ``size`` at a time.

        Items are taken when a thread is free for them or soon will be. When the iterator is closed or an item raises,
        ``ended`` is set, and what runs is waited for: it must look at that.
        """
        pending, threads = deque[Future[Result]](), torch.get_num_threads()
        pool = ThreadPoolExecutor(self.size, initializer=torch.set_num_threads, initargs=(threads,))
        try:
            for item in items:
                pending.append(pool.submit(self._join, work, item))
                while pending and (pending[0].done() or len(pending) >= AHEAD * self.size):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)

    def _join(self, work: Callable[[Item], Result], item: Item) -> Result:
        with self.joined(), self._lock if self.lanes else nullcontext():
            return work(item)

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Let decodes that begin in the block take lanes."""
        token = _JOINED.set(self)
        try:
            yield
        finally:
            _JOINED.reset(token)


def require_size(size: Any) -> None:
    """Check the size that is asked for. Raises: SettingsError."""
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST:
        raise SettingsError(f"batch is {reprlib.repr(size)}; give a whole number from 1 to {MOST}")


def until(ended: threading.Event, cancel: Callable[[], bool] | None) -> Callable[[], bool]:
    """Return a ``cancel`` function that is also True once the batch has ended."""
    return lambda: ended.is_set() or (cancel is not None and cancel())


_JOINED: ContextVar[Batch | None] = ContextVar("batch", default=None)


def lane_state(model: LanguageModel, slots: int, check: CancelCheck) -> ForestState | None:
    """Return a state on a lane of the batch that the caller has joined; None if there is none for it."""
    batch = _JOINED.get()
    for lanes in batch.lanes if batch is not None else ():
        if lanes.model is model and (lane := lanes.take(slots)) is not None:
            return lanes.new_state(lane, check)
    return None
