"""The dynamic width: how many beams a layer must yield.

*Source:* the paper's section on dynamic width and Eq. 3; docs/algorithm.md, *The dynamic width*. Differs from
the authors' code, which subtracts Q twice per step.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from dsbd.settings import ResolvedSettings
from dsbd.verification.distributions import Floats, excess


class Numbers(NamedTuple):
    """The numbers that a width follows from, named as in the record of its layer."""

    chain_c: list[float]  # c_1..c_{m+1}: the residual after 0 to m rejections in a row
    chain_S: list[float]  # S at each c
    acceptance_chain: list[float]  # alpha_1..alpha_m
    accepted_distribution: list[float]  # P(m, 0)..P(m, m)
    width_reason: str
    """Which bound decided: ``threshold``, ``min_width``, ``max_width`` or ``support``; else ``bonus`` or ``joint``."""


BONUS, COUPLED = Numbers([], [], [], [], "bonus"), Numbers([0.0], [1.0], [], [1.0], "min_width")
"""Those of a layer without drafts: the bonus layer, and a layer of a coupled forest, whose width is fixed."""


@dataclass(frozen=True)
class Width:
    """The chosen width of a layer.

    If ``min_width`` is ``max_width`` the numbers are not needed here, so they are computed lazily.
    """

    width: int
    find_numbers: Callable[[], Numbers]

    @cached_property
    def numbers(self) -> Numbers:
        """What the width follows from."""
        return self.find_numbers()


def residual_chain(target_probs: Floats, draft_probs: Floats, drafts: int) -> tuple[list[float], list[float]]:
    """Follow the residual through m rejections: c_1 = 0, c_{j+1} = c_j + S(c_j), S(c) = sum of max(P - c Q, 0).

    >>> from dsbd.verification import toy
    >>> chain_c, chain_S = residual_chain(toy.target_distribution().probs, toy.DRAFT_PROBS, drafts=2)
    >>> [round(c, 6) for c in chain_c], [round(S, 6) for S in chain_S]
    ([0.0, 1.0, 1.25], [1.0, 0.25, 0.1875])

    Args:
        target_probs: P on its support [n].
        draft_probs: Q at the same candidates [n]. Q at other candidates makes no difference.
        drafts: m, the number of drafts.
    """
    c, S = [0.0], [1.0]
    for _ in range(drafts):
        c.append(c[-1] + S[-1])
        S.append(float(excess(target_probs, draft_probs, c[-1]).sum()))
    return c, S


def acceptance_chain(S: Sequence[float]) -> list[float]:
    """Return alpha_j = 1 - S_{j+1} / S_j, the probability that a draft is accepted after j - 1 rejections.

    If S_j is 0, P and Q are equal and every draft is accepted.

    >>> acceptance_chain([1, 1 / 4, 3 / 16])
    [0.75, 0.25]
    """
    return [max(1.0 - after / before, 0.0) if before > 0 else 1.0 for before, after in pairwise(S)]


def accepted_distribution(acceptance: Sequence[float]) -> list[float]:
    """Return P(m, k) for k = 0..m: the probability that exactly k of m drafts are accepted.

    The first acceptance is at draft i with probability first(i) = alpha_i * prod_{j<i} (1 - alpha_j). After it
    everything starts again with m - i drafts, so P(m, k) = sum over i of first(i) * P(m - i, k - 1).

    >>> accepted_distribution([3 / 4, 1 / 4])
    [0.1875, 0.25, 0.5625]
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
    """Choose the width: max(min_width, largest K with P(accepted >= K) >= width_threshold), at most max_width.

    It depends on the distributions P and Q only, never on which drafts were drawn. Without replacement the distribution
    is an estimate, and the width is at most the number of candidates that can be drawn.

    >>> from dsbd.verification import toy
    >>> width = choose_width(toy.target_distribution().probs, toy.DRAFT_PROBS, 2, 4, toy.settings(width_threshold=0.5))
    >>> width.width, width.numbers.width_reason  # P(accepted >= 2) is 9/16
    (2, 'threshold')
    >>> width = choose_width(toy.target_distribution().probs, toy.DRAFT_PROBS, 2, 4, toy.settings(width_threshold=0.9))
    >>> width.width, width.numbers.width_reason  # P(accepted >= 1) is 13/16
    (1, 'min_width')

    Args:
        target_probs: P on its support [n].
        draft_probs: Q at the same candidates [n].
        drafts: m, with orphans and duplicates included.
        support: number of candidates P can draw.
        settings: min_width, max_width, width_threshold, replacement are read.
    """

    if settings.min_width < settings.max_width:
        return width_after_chain(*residual_chain(target_probs, draft_probs, drafts), support, settings)
    width, distributions = cap_width(settings.max_width, support, settings), (target_probs, draft_probs)
    return Width(width, lambda: width_after_chain(*residual_chain(*distributions, drafts), support, settings).numbers)


def width_after_chain(c: list[float], S: list[float], support: int, settings: ResolvedSettings) -> Width:
    """Choose the width from the residual after 0 to m rejections in a row.

    >>> from dsbd.verification import toy
    >>> width_after_chain([0.0, 1.0, 1.25], [1.0, 1 / 4, 3 / 16], 4, toy.settings(width_threshold=0.9)).width
    1
    """
    acceptance = acceptance_chain(S)
    distribution = accepted_distribution(acceptance)
    tails = accumulate(reversed(distribution[1:]))  # P(accepted >= m), P(accepted >= m - 1), ...
    likely = next((len(acceptance) - at for at, tail in enumerate(tails) if tail >= settings.width_threshold), 0)
    width, reason = _bounded(likely, support, settings)
    return Width(width, lambda: Numbers(c, S, acceptance, distribution, reason))


def _bounded(likely: int, support: int, settings: ResolvedSettings) -> tuple[int, str]:
    """Return the width within its bounds, and which bound decided."""
    width, reason = likely, "threshold"
    if settings.min_width > width:
        width, reason = settings.min_width, "min_width"
    if settings.max_width < width:
        width, reason = settings.max_width, "max_width"
    if cap_width(width, support, settings) < width:
        width, reason = support, "support"
    return width, reason


def cap_width(width: int, support: int, settings: ResolvedSettings) -> int:
    """Limit a width to the number of candidates: without replacement a layer cannot yield more beams.

    >>> from dsbd.verification import toy
    >>> cap_width(7, 4, toy.settings(replacement=True)), cap_width(7, 4, toy.settings(replacement=False))
    (7, 4)
    """
    return width if settings.replacement else min(width, support)
