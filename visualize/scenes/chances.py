"""From the residual chain of a layer to P(accepted >= k), as ``viewer/chain.js`` computes it.

The packed scene leaves out what follows from the chain; here is what the browser will find in its place.
"""

from collections.abc import Sequence
from itertools import pairwise

TOLERANCE = 1e-12


def tails(chain_S: Sequence[float]) -> list[float]:
    """P(accepted >= k), k = 1..m, from S of the residual after 0..m rejections in a row."""
    alphas = [max(1 - after / before, 0.0) if before > 0 else 1.0 for before, after in pairwise(chain_S)]
    none = [1.0]
    for alpha in alphas:
        none.append(none[-1] * (1 - alpha))
    first = [alpha * left for alpha, left in zip(alphas, none, strict=False)]
    column, exactly = none, [none[-1]]
    for _ in alphas:
        column = [_fed(first[:m], column[:m]) for m in range(len(none))]
        exactly.append(column[-1])
    return [min(1.0, sum(exactly[k:])) for k in range(1, len(exactly))]


def follows(at_least: Sequence[float], chain_S: Sequence[float], threshold: float | None) -> bool:
    """Whether the chain gives these probabilities, each on the same side of the threshold."""
    found = tails(chain_S)
    return len(found) == len(at_least) and all(
        abs(one - other) <= TOLERANCE and (threshold is None or (one >= threshold) == (other >= threshold))
        for one, other in zip(found, at_least, strict=True)
    )


def _fed(first: Sequence[float], column: Sequence[float]) -> float:
    return sum(chance * left for chance, left in zip(first, reversed(column), strict=True))
