"""Work in steps: generators that yield their progress and return a value at the end."""

from collections.abc import Callable, Generator
from typing import TypeVar

Step = TypeVar("Step")
Value = TypeVar("Value")


def value_of(steps: Generator[Step, None, Value], show: Callable[[Step], object] = lambda _: None) -> Value:
    """Run all steps and return the value at their end; ``show`` gets each step."""
    while True:
        try:
            show(next(steps))
        except StopIteration as end:
            value: Value = end.value
            return value
