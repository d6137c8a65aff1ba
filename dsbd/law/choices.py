"""Where verification takes its randomness."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dsbd.law.laws import Floats


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """A pair drawn by inverse CDF: ``low <= uniform < high``."""

    index: int
    uniform: float
    low: float
    high: float


class Choices(Protocol):
    """Where verification takes its randomness."""

    def accept(self, probability: float) -> tuple[bool, float]:
        """True with this probability; the uniform it took."""
        ...

    def draw(self, masses: Floats) -> DrawnPair:
        """An index in proportion to ``masses`` [n]."""
        ...


class Uniforms:
    """Choices by a list of uniforms in [0, 1), each used once, in order."""

    def __init__(self, uniforms: Sequence[float]) -> None:
        self._next = iter(uniforms)

    def accept(self, probability: float) -> tuple[bool, float]:
        uniform = next(self._next)
        return uniform < probability, uniform

    def draw(self, masses: Floats) -> DrawnPair:
        uniform = next(self._next)
        cdf = np.cumsum(masses)
        cdf /= cdf[-1]
        index = int(np.searchsorted(cdf, uniform, side="right"))
        return DrawnPair(index, uniform, float(cdf[index - 1]) if index else 0.0, float(cdf[index]))
