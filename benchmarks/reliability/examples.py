"""Many examples of one kind, and how often each kind of answer came."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings


def many(strategy: Any, count: int, send: Callable[[Any], str]) -> dict[str, int]:
    """Send so many examples. Returns: how often each kind of answer came. Raises: AssertionError at the first fault."""
    kinds: Counter[str] = Counter()
    if not count:
        return {}

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(strategy)
    def each(example: Any) -> None:
        kinds[send(example)] += 1

    each()
    return dict(kinds)
