"""Checking a trace: what follows is counted, and the first thing that does not ends the audit."""

import math
from typing import NoReturn

TOLERANCE = 1e-9
"""Allowed difference between a recorded number and the one computed again; rounding stays below 1e-12."""
LOOSEST = 0.1
"""Most that a check may allow for rounding of its own."""


def exceeds(recorded: float | None, limit: float, allowed: float = 0.0) -> bool:
    """True where a recorded number is larger than a limit, beyond rounding; what is not finite exceeds every limit."""
    if recorded is None or not (math.isfinite(recorded) and math.isfinite(limit)):
        return True
    return recorded - limit > max(min(allowed, LOOSEST), TOLERANCE * max(1.0, abs(limit)))


def differs(recorded: float | None, expected: float, allowed: float = 0.0) -> bool:
    """True where two numbers differ beyond rounding, or where one of them is not finite."""
    if recorded is None:
        return True
    return exceeds(recorded, expected, allowed) or exceeds(-recorded, -expected, allowed)


class BrokenError(Exception):
    """Something does not follow; the message says what."""


class Checks:
    """How many decisions and identities were decided again, and where the audit stands.

    Every check may raise :class:`BrokenError`.
    """

    def __init__(self) -> None:
        self.count = 0
        self.place = "trace"

    def same(self, what: str, recorded: object, expected: object) -> None:
        """They are equal."""
        self.count += 1
        if recorded != expected:
            self.broken(f"{what} is {_short(recorded)}, but {_short(expected)} follows")

    def close(self, what: str, recorded: float | None, expected: float, allowed: float = 0.0) -> None:
        """They are finite, and equal up to rounding, or up to ``allowed`` where that is more."""
        self.count += 1
        if differs(recorded, expected, allowed):
            self.broken(f"{what} is {_short(recorded)}, but {_short(expected)} follows")

    def at_most(self, what: str, recorded: float | None, limit: float, allowed: float = 0.0) -> None:
        """They are finite, and the first is no larger than the second, up to rounding, or up to ``allowed``."""
        self.count += 1
        if exceeds(recorded, limit, allowed):
            self.broken(f"{what} is {_short(recorded)}, but at most {_short(limit)} follows")

    def broken(self, what: str) -> NoReturn:
        """Something does not follow."""
        raise BrokenError(f"{self.place}: {what}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
