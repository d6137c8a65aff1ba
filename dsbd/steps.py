"""Work in steps: generators that say how far they are, and return a value at their end."""

from collections.abc import Callable, Generator
from typing import TypeVar

Step = TypeVar("Step")
Value = TypeVar("Value")


def value_of(steps: Generator[Step, None, Value], show: Callable[[Step], object] = lambda _: None) -> Value:
    """Go through all steps; return the value at their end. What they say on the way is shown, or not looked at."""
    while True:
        try:
            show(next(steps))
        except StopIteration as end:
            value: Value = end.value
            return value
