"""Chooses how deep each iteration drafts, from the results of earlier iterations.

Every choice keeps the law, because the depth depends on earlier iterations alone. No clock is read, so a run with
the same settings and seed makes the same choices.

*Source:* expected layers by Theorem 3.2 of the paper; docs/algorithm.md, *Depth and auto*.
"""

from collections.abc import Sequence

FORGETTING = 0.95
"""The counts of each iteration are multiplied by this when the next one arrives."""
PROBE_EVERY = 48
"""While drafting does not pay, one iteration in this many drafts anyway, to notice when drafting pays again."""
WORTHWHILE = 1.05
"""Drafting must promise this many times the layers per cost of not drafting: the promise is only an estimate."""
PRIOR_LAYERS = 10.0
"""At the start, the given continuation counts as much as this many observed layers."""


def expected_layers(continuation: float, depth: int) -> float:
    """Return the expected layers of an iteration: 1 + b + ... + b^depth, if a draft layer passes with probability b."""
    return sum(continuation**layer for layer in range(depth + 1))


class DepthPolicy:
    """Chooses each iteration's draft depth by expected layers over cost.

    Args:
        depth: largest draft depth.
        costs: relative cost of an iteration of each depth, from 0 to ``depth``; None: always ``depth``.
        continuation: how often a draft layer is expected to let verification go on, before any is seen.
    """

    def __init__(self, depth: int, costs: Sequence[float] | None, continuation: float) -> None:
        self._depth, self._costs = depth, costs
        self._passed, self._stopped = PRIOR_LAYERS * continuation, PRIOR_LAYERS * (1.0 - continuation)
        self._idle = 0

    def choose(self) -> int:
        """Return the depth of the next iteration; near the limit the session drafts fewer layers."""
        if self._costs is None or self._depth == 0:
            return self._depth
        best = max(range(1, self._depth + 1), key=lambda depth: (self._layers_per_cost(depth), -depth))
        if self._layers_per_cost(best) > WORTHWHILE * self._layers_per_cost(0) or self._idle + 1 >= PROBE_EVERY:
            return best
        return 0

    def observe(self, depth: int, passed: int, stopped: bool) -> None:
        """Note an iteration: its depth, how many draft layers let verification go on, and whether one fell short."""
        if depth == 0:
            self._idle += 1
            return
        self._idle = 0
        self._passed = FORGETTING * self._passed + passed
        self._stopped = FORGETTING * self._stopped + stopped

    def _layers_per_cost(self, depth: int) -> float:
        assert self._costs is not None
        return expected_layers(self._passed / (self._passed + self._stopped), depth) / self._costs[depth]
