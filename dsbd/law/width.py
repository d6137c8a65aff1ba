"""How many beams a layer must yield: the dynamic width.

*Source:* the paper's section on dynamic width and Eq. 3; docs/algorithm.md, *The dynamic width*. Differs from
the authors' code, which subtracts Q twice per step.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dsbd.law.laws import Floats
from dsbd.settings import ResolvedSettings


class Chain(NamedTuple):
    """The residual after 0..m rejections in a row: c_1..c_{m+1} and S at each."""

    c: list[float]
    S: list[float]


class Width(NamedTuple):
    """The chosen width of a layer and what it follows from."""

    chain: Chain
    acceptance: list[float]  # alpha_1..alpha_m
    distribution: list[float]  # P(m, 0)..P(m, m)
    width: int
    reason: str
    """Which bound decided: ``threshold``, ``min_width``, ``max_width`` or ``support``."""
    forest_mass: float | None = None
    """In a likely forest: P of all its nodes below the alive beams, that is the chance that a draw lands."""


def residual_chain(target_probs: Floats, draft_probs: Floats, drafts: int) -> Chain:
    """c_{j+1} = c_j + S(c_j) from c_1 = 0, with S(c) = sum max(P - c Q, 0).

    Args:
        target_probs: P on its support [n].
        draft_probs: Q at the same pairs [n]; Q elsewhere plays no part.
        drafts: m.
    """
    c, S = [0.0], [1.0]
    for _ in range(drafts):
        c.append(c[-1] + S[-1])
        S.append(float(np.maximum(target_probs - c[-1] * draft_probs, 0.0).sum()))
    return Chain(c, S)


def acceptance_chain(S: Sequence[float]) -> list[float]:
    """alpha_j = 1 - S_{j+1} / S_j. Where S_j is 0 the laws are equal and every draft is accepted."""
    return [max(1.0 - after / before, 0.0) if before > 0 else 1.0 for before, after in pairwise(S)]


def accepted_distribution(acceptance: Sequence[float]) -> list[float]:
    """P(m, k) for k = 0..m: the probability that k of m drafts are accepted.

    The first acceptance is at draft i with probability alpha_i * prod_{j<i} (1 - alpha_j); after it the
    chain starts anew with m - i drafts: P(m, k) = sum_i first(i) * P(m - i, k - 1).
    """
    alpha = np.asarray(acceptance, dtype=np.float64)
    none = np.concatenate(([1.0], np.cumprod(1.0 - alpha)))  # none[n] = P(n, 0)
    first = np.concatenate(([0.0], alpha * none[:-1]))
    column, distribution = none, [float(none[-1])]
    for _ in range(alpha.size):
        column = np.convolve(first, column)[: none.size]
        distribution.append(float(column[-1]))
    return distribution


def choose_width(
    target_probs: Floats, draft_probs: Floats, drafts: int, support: int, settings: ResolvedSettings
) -> Width:
    """max(min_width, largest K with P(accepted >= K) >= width_threshold), at most max_width.

    Depends on the laws P and Q only, never on which drafts were drawn. Without replacement it is at
    most the number of pairs that can be drawn, and the distribution is an estimate.

    Args:
        target_probs: P on its support [n].
        draft_probs: Q at the same pairs [n].
        drafts: m, orphans and duplicates included.
        support: number of pairs P can draw.
        settings: min_width, max_width, width_threshold, replacement are read.
    """
    chain = residual_chain(target_probs, draft_probs, drafts)
    acceptance = acceptance_chain(chain.S)
    distribution = accepted_distribution(acceptance)
    tail, likely = 0.0, 0
    for count in range(drafts, 0, -1):
        tail += distribution[count]
        if tail >= settings.width_threshold:
            likely = count
            break
    return Width(chain, acceptance, distribution, *_bounded(likely, support, settings))


def landing_width(chances: Sequence[float], forest_mass: float, support: int, settings: ResolvedSettings) -> Width:
    """The width of a layer of a likely forest: max(min_width, largest K with P(K draws all land) >= width_threshold).

    Depends on P and on the forest above the next layer only; a likely forest follows from Q alone.

    Args:
        chances: P(K draws all land) for K = 1..max_width.
        forest_mass: P of the forest's nodes below the alive beams.
        support: number of pairs P can draw.
        settings: min_width, max_width, width_threshold, replacement are read.
    """
    likely = sum(chance >= settings.width_threshold for chance in chances)
    return Width(Chain([0.0], [1.0]), [], [1.0], *_bounded(likely, support, settings), forest_mass)


def _bounded(likely: int, support: int, settings: ResolvedSettings) -> tuple[int, str]:
    """The width and which bound decided it."""
    width, reason = likely, "threshold"
    if settings.min_width > width:
        width, reason = settings.min_width, "min_width"
    if settings.max_width < width:
        width, reason = settings.max_width, "max_width"
    if cap_width(width, support, settings) < width:
        width, reason = support, "support"
    return width, reason


def cap_width(width: int, support: int, settings: ResolvedSettings) -> int:
    """Without replacement a layer cannot yield more beams than there are pairs."""
    return width if settings.replacement else min(width, support)
