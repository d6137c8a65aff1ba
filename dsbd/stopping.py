"""Stops a decode inside an iteration, and cuts a text where it is to end.

``stop`` is called before each forward of a model. Most time goes into forwards, so a decode stops within the time of
one forward; the work between two forwards takes milliseconds.
"""

from collections.abc import Callable, Iterable

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


def cut(text: str, ends: Iterable[str]) -> str:
    """Return the text before the first of ``ends`` in it; all of it if it holds none.

    >>> cut("SELECT 1;\\n\\nQ: and", ["\\n", ";"])
    'SELECT 1'
    """
    return text[: min((place for end in ends if (place := text.find(end)) >= 0), default=len(text))]
