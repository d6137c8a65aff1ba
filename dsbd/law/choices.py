"""The randomness of verification. Tests branch here and enumerate every run of the shipped code.

*Source:* docs/algorithm.md, *One iteration*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dsbd.law.laws import Floats


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """A pair drawn by inverting the cumulative sum of a law: ``low <= uniform < high``."""

    index: int
    uniform: float
    low: float
    high: float


class Choices(Protocol):
    """The two random decisions of verification."""

    def accept(self, probability: float) -> tuple[bool, float]:
        """Return True with this probability, and the uniform that decided."""
        ...

    def draw(self, masses: Floats) -> DrawnPair:
        """Draw an index with probability in proportion to ``masses`` [n]."""
        ...


class Uniforms:
    """Choices decided by a list of uniforms in [0, 1), each used once, in order."""

    def __init__(self, uniforms: Sequence[float]) -> None:
        self._next = iter(uniforms)

    def accept(self, probability: float) -> tuple[bool, float]:
        """Accept when the next uniform is below ``probability``.

        >>> Uniforms([0.2]).accept(0.5), Uniforms([0.7]).accept(0.5)
        ((True, 0.2), (False, 0.7))
        """
        uniform = next(self._next)
        return uniform < probability, uniform

    def draw(self, masses: Floats) -> DrawnPair:
        """Draw the index whose interval of the cumulative sum holds the next uniform.

        >>> Uniforms([0.55]).draw(np.array([1 / 2, 1 / 8, 1 / 8, 1 / 4]))  # P of the toy: aa, ab, a., ba
        DrawnPair(index=1, uniform=0.55, low=0.5, high=0.625)
        """
        uniform = next(self._next)
        cdf = np.cumsum(masses)
        cdf /= cdf[-1]
        index = int(cdf.searchsorted(uniform, side="right"))
        return DrawnPair(index, uniform, float(cdf[index - 1]) if index else 0.0, float(cdf[index]))
