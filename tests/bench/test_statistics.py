"""Statistics against slow twins, scipy and known values."""

import math
import random
import statistics

import numpy as np
import pytest
from scipy import stats

from dsbd.bench import statistics as ours
from dsbd.bench.records import Interval, Mean
from dsbd.bench.statistics import clustered_mean, clustered_perplexity, clustered_rate, median_interval


def wilson(right: int, of: int) -> Mean:
    """Return the rate of independent questions."""
    return clustered_rate([1.0] * right + [0.0] * (of - right), range(of))


@pytest.mark.parametrize(("right", "of"), [(0, 10), (7, 10), (299, 300)])
def test_wilson_is_the_interval_of_scipy(right, of):
    """Catches the normal interval: at 0 of 10 it has no width."""
    known = stats.binomtest(right, of).proportion_ci(method="wilson")
    result = wilson(right, of)
    assert (result.low, result.high) == pytest.approx((known.low, known.high), abs=1e-12)
    assert result.low <= result.mean <= result.high


def wilson_by_student(share, size, degrees):
    """Return the ends p of Wilson's interval, where (p - share)^2 = t^2 p (1 - p) / size."""
    square = stats.t.ppf(0.975, degrees) ** 2 / size
    return sorted(np.roots([1 + square, -2 * share - square, share**2]))


@pytest.mark.parametrize("odd", [0, 1], ids=["alike", "nearly alike"])
def test_clusters_that_are_alike_make_no_more_questions_than_there_are(odd):
    """Catches 45 questions counted where there are 20, or as many as clusters, or without end."""
    values = [1.0, 0.0] * (10 - 2 * odd) + [1.0, 1.0, 0.0, 0.0] * odd
    result = clustered_rate(values, [index // 2 for index in range(20)])
    assert (result.low, result.high) == pytest.approx(wilson_by_student(0.5, size=20, degrees=9))


def test_a_clustered_rate_counts_correlated_questions_as_fewer():
    """Catches Wilson's interval over questions that repeat each other: five copies of a question are one; and an
    interval of no width where every answer is right."""
    right = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    copied = [value for value in right for _ in range(5)]
    names = [index for index in range(7) for _ in range(5)]
    result = clustered_rate(copied, names)
    assert (result.low, result.high) == pytest.approx(wilson_by_student(5 / 7, size=6, degrees=6))
    assert (result.count, result.mean) == (35, pytest.approx(5 / 7))
    assert clustered_rate(right, range(7)) == wilson(5, 7)
    assert clustered_rate(copied, ["a"] * 35) == Mean(pytest.approx(5 / 7), None, None, None, 35, 1)
    result = clustered_rate([1.0] * 35, names)
    assert result.high == 1
    assert result.low < wilson(7, 7).low < wilson(35, 35).low


def test_without_clusters_it_is_the_usual_error_and_student_the_quantile_of_scipy():
    for degrees in (1, 2, 3, 20, 1033):
        assert ours.student_95(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)
    values = [1.0, 0.0, 0.0, 1.0, 1.0, 0.5]
    result = clustered_mean(values, range(6))
    half = stats.t.ppf(0.975, 5) * stats.sem(values)
    assert result.standard_error == pytest.approx(stats.sem(values))
    assert (result.low, result.high) == pytest.approx((result.mean - half, result.mean + half))


def test_a_ratio_is_sum_over_sum_with_the_error_of_resampled_clusters():
    """Catches a mean of ratios, in which a short answer counts as much as a long one, and a rate below zero."""
    source = random.Random(4)
    bottoms, clusters = [source.uniform(1, 9) for _ in range(120)], [index // 3 for index in range(120)]
    tops = [3 * bottom + source.gauss(0, 2) for bottom in bottoms]
    result = ours.clustered_ratio(tops, bottoms, clusters)
    groups = [(sum(tops[at : at + 3]), sum(bottoms[at : at + 3])) for at in range(0, 120, 3)]
    again = [[*map(sum, zip(*source.choices(groups, k=40), strict=True))] for _ in range(4000)]
    slow = statistics.stdev(top / bottom for top, bottom in again)
    assert result.mean == pytest.approx(sum(tops) / sum(bottoms))
    assert result.standard_error == pytest.approx(slow, rel=0.15)
    half = stats.t.ppf(0.975, 39) * slow / result.mean
    assert (result.low, result.high) == pytest.approx(
        [result.mean * math.exp(sign * half) for sign in (-1, 1)], rel=0.01
    )
    few = ours.clustered_ratio([40.0, 64.0], [1.0, 0.4], "ab")  # around the arithmetic mean it would begin at -548
    assert 0 < few.low < few.mean < few.high
    assert ours.clustered_ratio([1.0], [0.0], ["a"]) is ours.clustered_ratio([0.0], [1.0], ["a"]) is None


def test_a_pair_needs_both_and_a_verdict_more_than_one_cluster():
    """Catches "equal" where nothing was shown, and a question that one of them did not answer."""
    some, others = {"a": 1.0, "b": 0.0, "c": 1.0}, {"a": 0.0, "b": 1.0, "d": 1.0}
    result = ours.paired_difference(some, others, {name: name for name in some})
    assert (result.of.count, result.above, result.below, result.verdict) == (2, 1, 1, "no difference seen")
    assert ours.paired_difference(some, others, dict.fromkeys(some, "one passage")).verdict == "not measured"
    assert ours.paired_difference({"a": 1.0}, {"b": 1.0}, {"a": "a"}) is None


def test_no_interval_of_perplexities_reaches_below_one():
    """Catches an interval around the arithmetic mean, which holds values that no text has."""
    values = [1.9, 6.0, 36.0]
    result, logs = clustered_perplexity(values, range(3)), clustered_mean(list(map(math.log, values)), range(3))
    assert result.mean == pytest.approx(statistics.geometric_mean(values))
    assert result.high == pytest.approx(math.exp(logs.high))
    assert (logs.low < 0, result.low) == (True, 1.0)
    assert clustered_perplexity([3.0, 12.0], "aa") == Mean(pytest.approx(6.0), None, None, None, 2, 1)


@pytest.mark.parametrize(("prompts", "left_out"), [(5, None), (6, 0), (8, 0), (12, 2), (34, 10)])
def test_a_median_has_the_interval_of_fair_coins(prompts, left_out):
    """Catches another count (the exact interval leaves out as many at either end as coins allow in 2.5 %, or fewer);
    rounds that count as prompts, and an interval of no width where the rounds of each fall on both sides."""
    once = [[float(index)] for index in range(prompts)]
    low, high = (None, None) if left_out is None else (left_out, prompts - 1 - left_out)
    assert median_interval(once) == Interval((prompts - 1) / 2, low, high)
    assert median_interval([group * 5 for group in once]) == median_interval(once)
    assert median_interval([[0.0, 1.0]] * 8) == Interval(0.5, 0.0, 1.0)
    assert left_out is None or 2 * stats.binom.cdf(left_out, prompts, 0.5) <= 0.05
