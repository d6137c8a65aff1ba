"""Whose turn it is: several runs share the models, or one has them alone; they begin in the order they came in."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

from dsbd.util import CancelCheck

LOOK_SECONDS = 0.1
"""How long a waiting run stays in one step, at most: Gradio holds up all visitors while it waits to close a run."""


class Turns:
    """The runs that use the models, and those that wait.

    Args:
        most: runs that share the models at one time, at least 1.
        free: returns the bytes that runs may take.
    """

    def __init__(self, most: int, free: Callable[[], float]) -> None:
        self.most, self.free = most, free
        self.line, self.running = list["Turn"](), list["Turn"]()
        self.changed = threading.Condition()


class Turn:
    """The turn of one run, in a ``with`` statement: it stands in the line from its beginning on.

    Args:
        turns: of all runs.
        needs: returns about how many bytes the run takes, or None, as without it: it needs the models alone. It is
            called whenever the run could begin.
    """

    def __init__(self, turns: Turns, needs: Callable[[], int | None] = lambda: None) -> None:
        self._turns, self._needs = turns, needs
        self.bytes: int | None = None
        """None: no other run may run beside it."""

    def __enter__(self) -> "Turn":
        with self._turns.changed:
            self._turns.line.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        with self._turns.changed:
            runs = self._turns.line if self in self._turns.line else self._turns.running
            runs.remove(self)
            self._turns.changed.notify_all()

    def begin(self, check: CancelCheck) -> Iterator[None]:
        """Wait until it may begin; yield again and again until then. ``check`` is called, too, and may raise."""
        while not self._begins():
            yield
            check()
            with self._turns.changed:
                self._turns.changed.wait_for(self._may_begin, LOOK_SECONDS)

    def _begins(self) -> bool:
        """Begin, if it may; return whether it did."""
        turns = self._turns
        with turns.changed:
            if may := self._may_begin():
                turns.line.remove(self)
                turns.running.append(self)
                turns.changed.notify_all()  # the next one may fit beside it
            return may

    def _may_begin(self) -> bool:
        turns = self._turns
        if turns.line[0] is not self or any(one.bytes is None for one in turns.running):
            return False
        self.bytes = self._needs()
        if not turns.running:
            return True
        taken = sum(one.bytes or 0 for one in [*turns.running, self])
        return self.bytes is not None and len(turns.running) < turns.most and taken <= turns.free()

    def share(self, takes: int | None) -> None:
        """Let others run beside it from now on; it takes so many bytes. None: it goes on as it is."""
        with self._turns.changed:
            self.bytes = takes if self.bytes is None else self.bytes
            self._turns.changed.notify_all()

    def be_alone(self) -> bool:
        """Have the models alone from now on, if nobody else runs; return whether it has."""
        with self._turns.changed:
            if self._turns.running == [self]:
                self.bytes = None
            return self.bytes is None
