"""Several decodes in one forward: each runs as it is, in a thread, and their calls of a model meet here.

A model computes one forward at a time; calls that come meanwhile wait, and the next forward serves all of them. Before
it starts it waits for the decodes that have not called yet, but only a few times as long as a forward takes, and only
once for each that stays away: so a decode that ends, fails, is cancelled or stands still hardly holds up the others.

The cache of each decode is a *lane* of buffers that all share, so that nothing is copied for a forward. A decode that
needs more room than a lane has, or for which no lane is free, computes on buffers of its own.

*Source:* continuous batching, Yu et al., Orca (OSDI 2022).
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from dsbd.models.language_model import LanguageModel
from dsbd.models.states.forest import ForestState
from dsbd.util import CancelCheck

LINGER = 2.0
"""How long a forward waits at most for decodes that have not called yet, in multiples of the last forward's time."""


class PythonLock:
    """Lets one decode of a batch run Python at a time; it is released while ONNX Runtime
    computes a model that is not small.

    Without it the threads contend for the interpreter's own lock at each small operation of torch, which took as long
    as the operations. The page's decodes do without: there a slow one would hold up a short one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()
        _HELD.lock = self

    def __exit__(self, *_: object) -> None:
        _HELD.lock = None
        self._lock.release()


_HELD = threading.local()


@contextmanager
def released() -> Iterator[None]:
    """Release the lock that the thread holds, if any, during the block."""
    lock: PythonLock | None = getattr(_HELD, "lock", None)
    if lock is None:
        yield
        return
    lock.__exit__()
    try:
        yield
    finally:
        lock.__enter__()


@dataclass
class Call:
    """One decode's call of a model: tokens [n] to append to the cache of its lane."""

    lane: int
    length: int
    """Slots in use."""
    tokens: torch.Tensor
    positions: torch.Tensor
    """[n], int64."""
    mask: torch.Tensor
    """[1, 1, n, length + n], additive."""
    alone: Callable[[], torch.Tensor]
    """Computes the logits without other calls."""
    logits: torch.Tensor | None = None
    """[n, vocabulary], once they are computed."""
    is_over: bool = False


class Lanes(ABC):
    """Buffers for several decodes of one model, and the forwards that serve them together.

    Args:
        model: whose forwards these are.
        count: decodes at the same time.
        room: slots of each.
    """

    def __init__(self, model: LanguageModel, count: int, room: int) -> None:
        self.model, self.count, self.room = model, count, room
        self._free = list(range(count))
        self._late = set[int]()
        """Lanes whose decodes a forward waited for in vain; none waits for them until they call."""
        lock = threading.Lock()
        self._arrived, self._changed = threading.Condition(lock), threading.Condition(lock)
        self._waiting = list[Call]()
        self._is_busy, self._seconds = False, 0.0  # of the last forward
        self.forwards = 0
        """Forwards that served several calls."""

    @abstractmethod
    def forward(self, calls: Sequence[Call]) -> list[torch.Tensor]:
        """Return the logits of each call, computed in one forward. Raises: RuntimeError: not possible."""

    @abstractmethod
    def new_state(self, lane: int, check: CancelCheck) -> ForestState:
        """Return the state of a decode on a lane, which it gives back in the end."""

    def take(self, slots: int) -> int | None:
        """Return a free lane, which has so many slots; None if there is none. It is given back by :meth:`release`."""
        with self._changed:
            lane = self._free.pop(0) if self._free and slots <= self.room else None
            self._late -= {lane}
            return lane

    def release(self, lane: int) -> None:
        """Give a lane back."""
        self._late.discard(lane)
        self._free.append(lane)  # without the lock: the garbage collector may call this while it is held

    def logits(self, call: Call) -> torch.Tensor:
        """Return the logits of a call, computed with those of all that wait; raises what it raises alone."""
        with released():
            self._serve(call)
        return call.alone() if call.logits is None else call.logits

    def _serve(self, call: Call) -> None:
        """Wait until the call was served, or compute a forward for all that wait."""
        with self._changed:
            self._late.discard(call.lane)
            self._waiting.append(call)
            self._arrived.notify()
            self._changed.wait_for(lambda: call.is_over or not self._is_busy)
            if not call.is_over:
                self._is_busy = True
                if not self._arrived.wait_for(self._are_all_here, LINGER * self._seconds):
                    self._late = {*range(self.count)} - {*self._free} - {one.lane for one in self._waiting}
                calls, self._waiting = self._waiting, []
        if not call.is_over:
            start = time.perf_counter()
            try:
                self._compute(calls)
            finally:
                with self._changed:
                    for one in calls:
                        one.is_over = True
                    self._is_busy, self._seconds = False, time.perf_counter() - start
                    self._changed.notify_all()

    def _are_all_here(self) -> bool:
        return len(self._waiting) + len(self._free) + len(self._late) >= self.count

    def _compute(self, calls: Sequence[Call]) -> None:
        """Fill in the logits; if the shared forward fails they stay None, and each decode computes its own."""
        if len(calls) == 1:
            calls[0].logits = calls[0].alone()
            return
        try:
            for call, logits in zip(calls, self.forward(calls), strict=True):
                call.logits = logits
            self.forwards += 1
        except Exception:  # ONNX Runtime's have no class in common
            return
