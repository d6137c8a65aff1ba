"""Checks of a trace: each is counted, and the first that fails ends the audit."""

import math
from typing import NoReturn

from dsbd.tracing.records import ROOT
from dsbd.tracing.trace import Trace

TOLERANCE = 1e-9
"""Allowed difference between a recorded number and the one computed again; rounding stays below 1e-12."""
LOOSEST = 0.1
"""The most that a single check may allow for rounding."""


class BrokenError(Exception):
    """A check failed; the message says which."""


class Checks:
    """The checks of one trace: how many were made, where the audit is, and what every part of it reads.

    Each check raises :class:`BrokenError` if it fails.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace, self.settings = trace, trace.settings
        self.count, self.place = 0, "trace"
        self.nodes = trace.node_index()
        self.log_weights: dict[int, float] = {ROOT: 0.0}
        """Of the nodes so far, by id; minus infinity for impossible ones."""
        self.vocabulary = trace.models.target.vocabulary_size
        self.is_likely = trace.settings.forest == "likely"
        self.is_greedy = trace.settings.temperature == 0 and not trace.settings.replacement
        """True where a layer's likeliest pairs are taken in order, each with certainty."""

    def same(self, what: str, recorded: object, expected: object) -> None:
        """Check that two values are equal."""
        self.count += 1
        if recorded != expected:
            self.broken(f"{what} is {_short(recorded)}, but {_short(expected)} follows")

    def close(self, what: str, recorded: float | None, expected: float, allowed: float = 0.0) -> None:
        """Check that two numbers are finite, and equal up to rounding, or up to ``allowed`` if that is more."""
        self.count += 1
        if recorded is None or _exceeds(recorded, expected, allowed) or _exceeds(-recorded, -expected, allowed):
            self.broken(f"{what} is {_short(recorded)}, but {_short(expected)} follows")

    def at_most(self, what: str, recorded: float | None, limit: float, allowed: float = 0.0) -> None:
        """Check that two numbers are finite and the first is at most the second, up to rounding or ``allowed``."""
        self.count += 1
        if recorded is None or _exceeds(recorded, limit, allowed):
            self.broken(f"{what} is {_short(recorded)}, but at most {_short(limit)} follows")

    def uniform(self, what: str, recorded: float | None) -> float:
        """Check that a random number is there, from 0 to below 1, and return it."""
        self.count += 1
        if recorded is None or not 0.0 <= recorded < 1.0:
            self.broken(f"uniform, {what}, is {_short(recorded)}, but a number from 0 to below 1 follows")
        return recorded

    def broken(self, what: str) -> NoReturn:
        """Raise what does not follow."""
        raise BrokenError(f"{self.place}: {what}")


def _exceeds(recorded: float, limit: float, allowed: float) -> bool:
    """True where a number is larger than a limit, beyond rounding; what is not finite exceeds every limit."""
    if not (math.isfinite(recorded) and math.isfinite(limit)):
        return True
    return recorded - limit > max(min(allowed, LOOSEST), TOLERANCE * max(1.0, abs(limit)))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
