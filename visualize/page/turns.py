"""Whose turn it is: several runs share the models, or one has them alone; they begin in the order they came in."""

import threading
from collections.abc import Callable
from typing import Any

from dsbd.util import CancelCheck

LOOK_SECONDS = 0.05
"""How often a waiting run looks whether its turn has come or it was stopped."""


class Turns:
    """The runs that use the models, and those that wait.

    Args:
        most: runs that share the models at one time, at least 1.
        free: returns the bytes that runs may take now, besides those that run.
    """

    def __init__(self, most: int, free: Callable[[], float]) -> None:
        self.most, self._free = most, free
        self.changed = threading.Condition()
        self.line, self.running = list["Turn"](), list["Turn"]()

    def may_begin(self, turn: "Turn") -> bool:
        """Return whether a run may begin, and note what it takes. The caller holds ``changed``."""
        if self.line[0] is not turn or any(one.is_alone for one in self.running):
            return False
        turn.bytes = turn.needs()
        if not self.running:
            return True
        taken = sum(one.bytes or 0 for one in [*self.running, turn])
        return not turn.is_alone and len(self.running) < self.most and taken <= self._free()


class Turn:
    """The turn of one run, in a ``with`` statement: it stands in the line from its beginning on.

    Args:
        turns: of all runs.
        needs: returns about how many bytes the run takes, or None, as without it: it needs the models alone. It is
            called whenever the run could begin.
    """

    def __init__(self, turns: Turns, needs: Callable[[], int | None] = lambda: None) -> None:
        self._turns, self.needs = turns, needs
        self.bytes: int | None = None

    @property
    def is_alone(self) -> bool:
        """Return whether no other run may run beside it."""
        return self.bytes is None

    def __enter__(self) -> "Turn":
        with self._turns.changed:
            self._turns.line.append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        with self._turns.changed:
            for runs in (self._turns.line, self._turns.running):
                if self in runs:
                    runs.remove(self)
            self._turns.changed.notify_all()

    def begin(self) -> bool:
        """Begin, if it may; return whether it did."""
        with self._turns.changed:
            return self._begin()

    def wait(self, check: CancelCheck) -> None:
        """Wait until it may begin. ``check`` is called again and again, and may raise."""
        with self._turns.changed:
            while not self._begin():
                self._turns.changed.wait(LOOK_SECONDS)
                check()

    def _begin(self) -> bool:
        if may := self._turns.may_begin(self):
            self._turns.line.remove(self)
            self._turns.running.append(self)
            self._turns.changed.notify_all()  # the next one may fit beside it
        return may

    def share(self, takes: int | None) -> None:
        """Let others run beside it from now on; it takes so many bytes. None: nothing changes."""
        with self._turns.changed:
            self.bytes = takes if self.is_alone else self.bytes
            self._turns.changed.notify_all()

    def be_alone(self) -> bool:
        """Have the models alone from now on, if nobody else runs; return whether it has."""
        with self._turns.changed:
            if self._turns.running == [self]:
                self.bytes = None
            return self.is_alone
