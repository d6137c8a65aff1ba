"""Stopping a decode inside an iteration: the host is asked before each forward of a model.

A forward is where the time goes, so a decode stops within one forward; what lies between two forwards takes
milliseconds.
"""

from collections.abc import Callable

from dsbd.errors import StoppedError

Check = Callable[[], None]
"""Called before each forward of a model; raises StoppedError where the decode is to stop."""


def never_stop() -> None:
    """The check of a decode that nobody wants to stop."""


def check_of(stop: Callable[[], bool] | None) -> Check:
    """A check that raises once ``stop`` returns True."""
    if stop is None:
        return never_stop

    def check() -> None:
        if stop():
            raise StoppedError("the decode was stopped before its end: stop() returned True")

    return check
