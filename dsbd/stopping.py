"""Stops a decode: inside an iteration because the host says so, or after one because the text has what was wanted.

The host is asked before each forward of a model. Most time goes into forwards, so a decode stops within the time of one
forward; the work between two forwards takes milliseconds.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from dsbd.errors import StoppedError

if TYPE_CHECKING:
    from dsbd.session import Snapshot

Check = Callable[[], None]
"""A function that is called before each forward of a model; it raises StoppedError to stop the decode."""


Enough = Callable[["Snapshot"], bool]
"""A function that is asked after each iteration whether the decode may end there."""


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


def never_enough(snapshot: "Snapshot") -> bool:
    """Return False: the end of a decode that goes on to EOS or to its limit."""
    return False


class Until:
    """Ends a decode once one of some texts stands in it, without a change of what stands before.

    A hypothesis that is best now may not be returned in the end. So a decode ends only when every hypothesis that can
    still be returned, or can grow into one, has the same text before its end text: whatever would be decoded further,
    that text is settled, and its law is the law of the whole decode.

    Args:
        ends: the texts, none of them empty.
    """

    def __init__(self, ends: Sequence[str]) -> None:
        self._ends = tuple(ends)

    def __call__(self, snapshot: "Snapshot") -> bool:
        """Return True if the text before an end text is settled."""
        settled = None
        for hypothesis in snapshot.candidates:
            whole = snapshot.pair.decode(hypothesis.node.token_ids())
            before = cut(whole, self._ends)
            if (len(before) == len(whole) and not hypothesis.finished) or settled not in (None, before):
                return False
            settled = before
        return True


def cut(text: str, ends: Iterable[str]) -> str:
    """Return the text before the first place where one of ``ends`` stands; all of it where none does.

    >>> cut("SELECT 1;\\n\\nQ: and", ["\\n", ";"])
    'SELECT 1'
    """
    return text[: min((place for end in ends if (place := text.find(end)) >= 0), default=len(text))]
