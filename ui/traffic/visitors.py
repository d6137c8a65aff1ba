"""Who runs, and who has left or pressed Stop.

A run polls a :class:`StopSignal` between its steps. The signals are in shared memory, because on ZeroGPU a run is a
forked process, which reads there at once what the page writes.
"""

import math
import mmap
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from gradio.context import LocalContext

from .run_log import RunNote

SLOTS = 512
_NUMBER = struct.Struct("<q")
_BOARD = mmap.mmap(-1, SLOTS * _NUMBER.size)
"""For each slot, the number of the run that may go on, or 0. Shared with all processes forked from this one."""


@dataclass(frozen=True)
class StopSignal:
    """Says whether a run must end: its visitor left or pressed Stop, or its time is over. It can be pickled."""

    slot: int
    number: int
    deadline: float
    """In seconds of ``time.monotonic``, which all processes of a machine share."""

    def __call__(self) -> bool:
        return self.is_revoked or time.monotonic() >= self.deadline

    @property
    def is_revoked(self) -> bool:
        """True if the visitor left or pressed Stop."""
        number: int = _NUMBER.unpack_from(_BOARD, self.slot * _NUMBER.size)[0]
        return number != self.number


class _Held(NamedTuple):
    """Work in progress for a visitor."""

    session: str
    call: str | None
    """Its event in Gradio's queue."""
    signal: StopSignal
    note: RunNote | None
    """None for work that nobody waits for, such as a fetch."""


class Visitors:
    """The visitors of one page, by the session that Gradio gives each. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._free = list(range(SLOTS))
        self._held: list[_Held] = []
        self._cancelled: deque[str] = deque(maxlen=SLOTS)
        """Cancelled calls, some of which have not begun."""

    @contextmanager
    def run(self, session: str, seconds: float) -> Iterator[StopSignal]:
        """A run of this visitor that begins now and may take ``seconds``. Its end is logged."""
        note = RunNote(session)
        with self._signal(session, seconds, note) as signal:
            try:
                yield signal
            finally:
                note.write()

    def aside(self, session: str) -> AbstractContextManager[StopSignal]:
        """Work of this visitor for which nobody waits, such as a fetch; it has no time limit."""
        return self._signal(session, math.inf, None)

    @contextmanager
    def _signal(self, session: str, seconds: float, note: RunNote | None) -> Iterator[StopSignal]:
        call = LocalContext.event_id.get(None)
        with self._lock:
            signal = StopSignal(self._free.pop(), next(self._numbers), time.monotonic() + seconds)
            held = _Held(session, call, signal, note)
            self._held.append(held)
            _write(signal.slot, 0 if call in self._cancelled else signal.number)
        try:
            yield signal
        finally:
            with self._lock:
                _write(signal.slot, 0)
                self._free.append(signal.slot)
                self._held.remove(held)

    def note(self, stop: StopSignal, call: str, methods: Sequence[str]) -> RunNote:
        """The note of a run, with the kind of the call and the methods filled in."""
        with self._lock:
            note = next(one.note for one in self._held if one.signal == stop and one.note is not None)
        note.call, note.methods = call, methods
        return note

    def running(self) -> tuple[int, float | None]:
        """The number of runs, and their earliest deadline, in ``time.monotonic``."""
        with self._lock:
            deadlines = [one.signal.deadline for one in self._held if one.note is not None]
        return len(deadlines), min(deadlines, default=None)

    def stop(self, session: str) -> None:
        """End all work of this visitor at its next look at the signal."""
        with self._lock:
            self._end(lambda one: one.session == session)

    def cancel(self, call: str) -> None:
        """Cancel a call of Gradio's queue: it ends at its next look at the signal, or never begins."""
        with self._lock:
            self._cancelled.append(call)
            self._end(lambda one: one.call == call)

    def _end(self, which: Callable[[_Held], bool]) -> None:
        for one in filter(which, self._held):
            _write(one.signal.slot, 0)


def _write(slot: int, number: int) -> None:
    _NUMBER.pack_into(_BOARD, slot * _NUMBER.size, number)
