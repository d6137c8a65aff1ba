"""One draw of the grammar: choices of words from one seed, readings of ambiguous words from another or given."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from training.sql.readings import RATES

T = TypeVar("T")


class Draw:
    """Chooses words and values; and, apart from them, readings, so that a question can be read in another way."""

    def __init__(self, seed: int, given: Sequence[int] | None = None) -> None:
        self.rng = random.Random(seed)
        self.reading_rng = random.Random(seed ^ 0x5DEECE66D)
        self.given = given
        self.ambiguities: list[str] = []
        self.readings: list[int] = []

    def pick(self, items: Sequence[T]) -> T:
        """Return one of some items."""
        return items[int(self.rng.random() * len(items))]

    def chance(self, rate: float) -> bool:
        """Return True with a rate."""
        return self.rng.random() < rate

    def number(self, low: int, high: int, step: int = 1) -> int:
        """Return a multiple of a step from `low` to `high`, both included."""
        return low + step * int(self.rng.random() * ((high - low) // step + 1))

    def read(self, name: str) -> object:
        """Return the meaning of an ambiguous wording: the given reading, or one drawn with its rate."""
        place = len(self.readings)
        if self.given is None:
            rest, reading = self.reading_rng.random(), 0
            while rest >= RATES[name][reading][0] and reading + 1 < len(RATES[name]):
                rest -= RATES[name][reading][0]
                reading += 1
        else:
            reading = self.given[place] if place < len(self.given) else 0
        self.ambiguities.append(name)
        self.readings.append(reading)
        return RATES[name][reading][1]
