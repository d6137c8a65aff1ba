"""Statistics of decodes and their scores: means over clustered questions, medians, paired differences, exact tests.

Questions about one database or one passage are a *cluster*: they are not independent. So every standard error sums the
deviations within a cluster first. Repeated decodes of a question (seeds) are averaged before anything else: they tell
nothing about other questions. Intervals are at 95 %. Needs no torch.

*Source:* Wilson (1927); McNemar (1947), exact form; Miller, arXiv 2411.00640, for clusters and pairs; Woodruff, Journal
of the American Statistical Association 47 (1952), for the median.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

Scores = Mapping[str, Sequence[float]]
"""A figure of each question, by its id: one value for every seed."""
NO_DIFFERENCE = "no difference seen"
NORMAL_95 = 1.959963984540054
FEWEST_FOR_A_MEDIAN = 6
"""All of five prompts lie on one side of the true median in 6 % of all cases, of six in 3 %."""


@dataclass(frozen=True)
class Interval:
    """A median and its 95 % interval; None from fewer than :data:`FEWEST_FOR_A_MEDIAN` clusters."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Rate:
    """A share of right answers and its Wilson interval, None where all questions are of one cluster."""

    share: float
    low: float | None
    high: float | None
    questions: int


@dataclass(frozen=True)
class Mean:
    """A mean, or a ratio of sums; error and interval are None where there is one cluster only."""

    mean: float
    standard_error: float | None
    low: float | None
    high: float | None
    count: int
    """Values that were averaged: questions, for example."""
    clusters: int


@dataclass(frozen=True)
class Difference:
    """Ours minus theirs on the same questions, with the exact test on the questions where the two differ."""

    of: Mean
    above: int
    """Questions that ours answered better, over its seeds."""
    below: int
    """Questions that theirs answered better."""
    p: float | None
    """Two-sided exact p-value of "above and below are equally likely"; None where no question differs."""

    @property
    def verdict(self) -> str:
        """``higher``, ``lower``, "no difference seen" (the interval holds zero), or ``not measured``: no interval."""
        if self.of.low is None or self.of.high is None:
            return "not measured"
        if self.of.low <= 0 <= self.of.high:
            return NO_DIFFERENCE
        return "higher" if self.of.low > 0 else "lower"


def clustered_rate(values: Sequence[float], clusters: Sequence[Hashable]) -> Rate:
    """Return the share of right answers, 1 each or a mean over seeds, with Wilson's interval for clustered questions.

    Near 0 and 1 its coverage wavers, as that of every Wilson interval: 92 % at a share of 0.95 over 20 clusters.
    Correlated questions count as fewer independent ones: as many as have the standard error of :func:`clustered_mean`,
    and Student's t takes the place of the normal quantile. Where all are right, or all wrong, there is no such error to
    read, and each cluster counts as one question. With a cluster for each question this is Wilson's own interval.

    *Source:* Franco, Little, Louis and Slud, Journal of Survey Statistics and Methodology 7 (2019).
    """
    found, count = clustered_mean(values, clusters), len(values)
    if found.clusters == count:
        return Rate(found.mean, *_wilson(found.mean, count, NORMAL_95), count)
    if found.standard_error is None:
        return Rate(found.mean, None, None, count)
    spread, error = found.mean * (1 - found.mean), found.standard_error
    size = float(found.clusters) if spread == 0 else count if error == 0 else min(spread / error**2, count)
    return Rate(found.mean, *_wilson(found.mean, size, student_95(found.clusters - 1)), count)


def _wilson(share: float, size: float, quantile: float) -> tuple[float, float]:
    square = quantile**2 / size
    middle = share + square / 2
    half = math.sqrt(square * (share * (1 - share) + square / 4))
    low, high = ((middle + side * half) / (1 + square) for side in (-1, 1))
    return max(min(low, share), 0.0), min(max(high, share), 1.0)


def clustered_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> Mean:
    """Return the mean of the values, its standard error over clusters, and its interval.

    The squared error is G / (G - 1) times the sum of (sum of the deviations in a cluster)², over n²; the interval takes
    Student's t with G - 1 degrees of freedom. With a cluster for each value this is the usual s / √n.
    """
    mean = statistics.fmean(values)
    groups: defaultdict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        groups[cluster] += value - mean
    count = len(groups)
    if count < 2:
        return Mean(mean, None, None, None, len(values), count)
    squares = math.fsum(total**2 for total in groups.values())
    error = math.sqrt(squares * count / (count - 1)) / len(values)
    half = student_95(count - 1) * error
    return Mean(mean, error, mean - half, mean + half, len(values), count)


def clustered_perplexity(values: Sequence[float], clusters: Sequence[Hashable]) -> Mean:
    """Return the geometric mean of perplexities; its interval is that of their logarithms, and never below 1.

    Few perplexities spread widely upwards and are at least 1: an interval around their arithmetic mean would reach
    values that no text has. The error is that of the mean logarithm, times the mean.
    """
    logs = clustered_mean([math.log(value) for value in values], clusters)
    mean = math.exp(logs.mean)
    if logs.standard_error is None or logs.low is None or logs.high is None:
        return replace(logs, mean=mean)
    low, high = math.exp(max(logs.low, 0.0)), math.exp(min(logs.high, 700.0))
    return replace(logs, mean=mean, standard_error=mean * logs.standard_error, low=low, high=high)


def clustered_ratio(tops: Sequence[float], bottoms: Sequence[float], clusters: Sequence[Hashable]) -> Mean | None:
    """Return sum over sum, such as tokens per second, with the error of its linearised form; None over a sum of 0."""
    total = math.fsum(bottoms)
    if not total:
        return None
    ratio, scale = math.fsum(tops) / total, len(bottoms) / total
    parts = [ratio + scale * (top - ratio * bottom) for top, bottom in zip(tops, bottoms, strict=True)]
    return clustered_mean(parts, clusters)


def paired_difference(ours: Scores, theirs: Scores, clusters: Mapping[str, Hashable]) -> Difference | None:
    """Return ours minus theirs over the questions that both answered; None where there is none.

    With one seed and scores of 0 and 1, ``p`` is the exact test of McNemar. With more seeds a question counts once, for
    the decoder that answered it better over its seeds: if each seed were a pair, a question would count several
    times. The test ignores clusters, the interval does not. A question that ``clusters`` lacks is a separate one.
    """
    both = [question for question in ours if ours[question] and theirs.get(question)]
    if not both:
        return None
    differences = [statistics.fmean(ours[question]) - statistics.fmean(theirs[question]) for question in both]
    return Difference(
        clustered_mean(differences, [clusters.get(question, ("alone", question)) for question in both]),
        above=sum(value > 0 for value in differences),
        below=sum(value < 0 for value in differences),
        p=sign_test(differences),
    )


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
