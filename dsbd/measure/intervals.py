"""Statistics of repeated runs: means and medians with their 95 % intervals over prompts, and the sign test.

Runs of one prompt tell little about other prompts. So prompts are what is counted: quantiles are Student's t for their
number, and a single prompt has no interval.

*Source:* Woodruff, Journal of the American Statistical Association 47 (1952), for the median.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

FEWEST_FOR_A_MEDIAN = 6
"""All of five prompts lie on one side of the true median in 6 % of all cases, of six in 3 %."""


@dataclass(frozen=True)
class Estimate:
    """A mean over prompts, and half the width of its 95 % interval; None from a single prompt."""

    mean: float
    half_width: float | None


@dataclass(frozen=True)
class Interval:
    """A median and its 95 % interval; None from fewer than :data:`FEWEST_FOR_A_MEDIAN` prompts."""

    median: float
    low: float | None
    high: float | None


def estimate(groups: Sequence[Sequence[float]]) -> Estimate:
    """Return the mean over the prompts and its interval by Student's t; the runs of a prompt are averaged first."""
    means = [statistics.fmean(group) for group in groups]
    mean, count = statistics.fmean(means), len(means)
    if count < 2:
        return Estimate(mean, None)
    return Estimate(mean, student_95(count - 1) * statistics.stdev(means) / math.sqrt(count))


def median_interval(groups: Sequence[Sequence[float]]) -> Interval:
    """Return the median of all values; its interval goes from one of the values to another, and assumes no shape.

    How many values are below the true median has an error over the groups, never less than that of independent values.
    The interval reaches that error times Student's t to either side of the middle, counted in values.

    Args:
        groups: values by prompt (or by cluster of questions), at least one, each with at least one value.
    """
    values = sorted(value for group in groups for value in group)
    middle, count = statistics.median(values), len(groups)
    if count < FEWEST_FOR_A_MEDIAN:
        return Interval(middle, None, None)
    sides = [sum((value > middle) - (value < middle) for value in group) / 2 for group in groups]
    squares = math.fsum(side**2 for side in sides) * count / (count - 1)
    reach = student_95(count - 1) * math.sqrt(max(squares, len(values) / 4))
    place = max(math.floor(len(values) / 2 - reach), 0)
    return Interval(middle, values[place], values[-1 - place])


def student_95(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t, by halving on the closed form of its distribution."""
    low, high = 1.0, 16.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, degrees) < 0.95 else (low, middle)
    return high


def _student_inside(bound: float, degrees: int) -> float:
    """Return the probability that t lies within ±bound: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(bound / math.sqrt(degrees))
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0 if degrees == 1 else term
    for step in range(3 if odd else 2, degrees - 1, 2):
        term *= math.cos(angle) ** 2 * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


def sign_test(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of "above and below zero are equally likely"; None where all values are zero."""
    above, below = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    count = above + below
    if count == 0:
        return None
    tail = sum(math.comb(count, k) for k in range(min(above, below) + 1)) / 2**count
    return min(1.0, 2 * tail)
