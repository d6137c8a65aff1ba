"""Stops a decode inside an iteration: before each forward of a model, the host is asked whether to stop.

Most time goes into forwards, so a decode stops within the time of one forward; the work between two forwards takes
milliseconds.
"""

from collections.abc import Callable

from dsbd.errors import StoppedError

Check = Callable[[], None]
"""A function that is called before each forward of a model; it raises StoppedError to stop the decode."""


def never_stop() -> None:
    """Do nothing: the check of a decode that cannot be stopped."""


def check_of(stop: Callable[[], bool] | None) -> Check:
    """Return a check that raises StoppedError once ``stop`` returns True."""
    if stop is None:
        return never_stop

    def check() -> None:
        if stop():
            raise StoppedError("the decode was stopped before its end: stop() returned True")

    return check
