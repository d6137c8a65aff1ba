"""One draw of the grammar: words and values from a seed, readings of ambiguous words as given."""

import random
from collections.abc import Sequence
from typing import Any, TypeVar

from training.sql.readings import RATES

T = TypeVar("T")


class Draw:
    """Chooses words and values; readings are given, so that the same question can be read in another way."""

    def __init__(self, seed: int, given: Sequence[int] = ()) -> None:
        self.rng = random.Random(seed)
        self.given = given
        self.ambiguities: list[str] = []

    def pick(self, items: Sequence[T]) -> T:
        """Return one of some items."""
        return items[int(self.rng.random() * len(items))]

    def chance(self, rate: float) -> bool:
        """Return True with a rate."""
        return self.rng.random() < rate

    def number(self, low: int, high: int, step: int = 1) -> int:
        """Return a multiple of a step from `low` to `high`, both included."""
        return low + step * int(self.rng.random() * ((high - low) // step + 1))

    def read(self, name: str) -> Any:
        """Return the meaning of an ambiguous wording in its given reading; the most frequent one if none is given."""
        place = len(self.ambiguities)
        self.ambiguities.append(name)
        return RATES[name][self.given[place] if place < len(self.given) else 0][1]
