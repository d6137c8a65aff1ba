"""Statistics of repeated runs: means and medians with their 95 % intervals, and the sign test."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

NORMAL_95 = 1.959963984540054
RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """A mean over runs, and half the width of its 95 % interval (normal); None from a single run."""

    mean: float
    half_width: float | None


@dataclass(frozen=True)
class Interval:
    """A median and its 95 % bootstrap interval; the interval of a single value is None."""

    median: float
    low: float | None
    high: float | None


def estimate(values: Sequence[float]) -> Estimate:
    """Return mean and interval of independent runs."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, None)
    return Estimate(mean, NORMAL_95 * statistics.stdev(values) / math.sqrt(len(values)))


def median_interval(groups: Sequence[Sequence[float]]) -> Interval:
    """Return the median of all values; the interval resamples whole groups: runs of one prompt are not independent.

    Args:
        groups: values by prompt. A single group is resampled value by value.
    """
    values = [value for group in groups for value in group]
    middle = statistics.median(values)
    if len(values) < 2:
        return Interval(middle, None, None)
    parts = groups if len(groups) > 1 else [[value] for value in values]
    source = random.Random(0)
    medians = sorted(
        statistics.median(value for part in source.choices(parts, k=len(parts)) for value in part)
        for _ in range(RESAMPLES)
    )
    return Interval(middle, medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1])


def sign_test(differences: Sequence[float]) -> float | None:
    """Return the two-sided p-value of "above and below zero are equally likely"; None where all values are zero."""
    above, below = sum(value > 0 for value in differences), sum(value < 0 for value in differences)
    count = above + below
    if count == 0:
        return None
    tail = sum(math.comb(count, k) for k in range(min(above, below) + 1)) / 2**count
    return min(1.0, 2 * tail)
