"""Work in steps: generators that say how far they are, and return a value at their end."""

from collections.abc import Generator
from typing import TypeVar

Value = TypeVar("Value")


def value_of(steps: Generator[object, None, Value]) -> Value:
    """Go through all steps; return the value at their end. What they say on the way is not looked at."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Value = end.value
            return value
