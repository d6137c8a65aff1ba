"""How deep to draft, iteration by iteration, from what the iterations before came to.

Legal whatever it chooses: the depth of an iteration depends on earlier iterations alone. It reads no clock,
so that a run with the same settings and seed makes the same choices.

*Source:* expected layers by Theorem 3.2 of the paper; docs/algorithm.md, *Depth and auto*.
"""

from collections.abc import Sequence

FORGETTING = 0.95
"""Weight of an iteration against the next one."""
PROBE_EVERY = 48
"""While drafting does not pay, one iteration in so many drafts all the same, to notice when it would."""
WORTHWHILE = 1.05
"""Layers per cost that drafting must promise, where not drafting has 1: what is expected of it is an estimate."""
PRIOR_LAYERS = 10.0
"""How many layers' worth of evidence the expected continuation counts for at the start."""


def expected_layers(continuation: float, depth: int) -> float:
    """Layers of an iteration, 1 + b + ... + b^depth, where each draft layer lets it go on with probability b."""
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
        """Depth of the next iteration, before it is trimmed to the room that is left."""
        if self._costs is None or self._depth == 0:
            return self._depth
        best = max(range(1, self._depth + 1), key=lambda depth: (self._layers_per_cost(depth), -depth))
        if self._layers_per_cost(best) > WORTHWHILE * self._layers_per_cost(0) or self._idle + 1 >= PROBE_EVERY:
            return best
        return 0

    def observe(self, depth: int, passed: int, stopped: bool) -> None:
        """What an iteration came to: how many draft layers let verification go on, and whether one ended it."""
        if depth == 0:
            self._idle += 1
            return
        self._idle = 0
        self._passed = FORGETTING * self._passed + passed
        self._stopped = FORGETTING * self._stopped + stopped

    def _layers_per_cost(self, depth: int) -> float:
        assert self._costs is not None
        return expected_layers(self._passed / (self._passed + self._stopped), depth) / self._costs[depth]
