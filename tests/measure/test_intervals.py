"""Statistics agree with simple twins, known values and known coverage."""

import math
import random

import pytest
from scipy import stats

from dsbd.measure.intervals import Interval, estimate, median_interval, sign_test, student_95


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 19, 20, 47, 300, 1033])
def test_student_is_the_quantile_of_scipy(degrees):
    assert student_95(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


def test_estimate_is_the_interval_of_scipy_over_prompts():
    """Catches rounds that count as prompts, in the mean or in the interval."""
    found = estimate([[1.0], [2.0], [3.0, 4.0, 5.0], [9.0]])
    low, high = stats.t.interval(0.95, 3, 4.0, stats.sem([1.0, 2.0, 4.0, 9.0]))
    assert (found.mean, found.half_width) == (4.0, pytest.approx((high - low) / 2))


def drawn_prompts(source, prompts, rounds):
    """Return rounds by prompt around 0: those of a prompt are alike."""
    middles = [source.gauss(0, 1) for _ in range(prompts)]
    return [[middle + source.gauss(0, 0.3) for _ in range(rounds)] for middle in middles]


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("prompts", [2, 3, 5, 10, 20])
def test_a_mean_is_held_as_often_as_it_says(prompts, rounds):
    """Catches the normal quantile, which holds the mean of three prompts in 78 % of all cases; rounds as prompts."""
    source, held = random.Random(prompts), 0
    for _ in range(2000):
        found = estimate(drawn_prompts(source, prompts, rounds))
        held += abs(found.mean) <= found.half_width
    assert 0.93 < held / 2000 < 0.97


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("prompts", [6, 8, 12, 20])
def test_a_median_is_held_at_least_as_often_as_it_says(prompts, rounds):
    """Catches resampled prompts, whose interval holds the median of eight prompts in 92 % of the cases."""
    source, held = random.Random(prompts), 0
    for _ in range(2000):
        groups = drawn_prompts(source, prompts, rounds)
        found = median_interval([[math.exp(value) for value in group] for group in groups])
        held += found.low <= 1 <= found.high
    assert held / 2000 > 0.94


@pytest.mark.parametrize(("prompts", "left_out"), [(5, None), (6, 0), (8, 0), (10, 1), (12, 2), (20, 5), (34, 10)])
def test_a_median_has_the_interval_of_fair_coins(prompts, left_out):
    """Catches another count: the exact interval leaves out as many at either end as coins allow in 2.5 %, or fewer."""
    found = median_interval([[float(place)] for place in range(prompts)])
    low, high = (None, None) if left_out is None else (left_out, prompts - 1 - left_out)
    assert found == Interval((prompts - 1) / 2, low, high)
    assert left_out is None or 2 * stats.binom.cdf(left_out, prompts, 0.5) <= 0.05


def test_rounds_that_repeat_each_other_narrow_no_interval():
    """Catches rounds that count as prompts, and an interval of no width where the rounds of each fall on both sides."""
    once = [[float(place)] for place in range(12)]
    assert median_interval([group * 5 for group in once]) == median_interval(once)
    assert median_interval([[0.0, 1.0]] * 8) == Interval(0.5, 0.0, 1.0)


@pytest.mark.parametrize(("above", "below"), [(5, 0), (0, 5), (7, 3), (6, 6), (1, 0)])
def test_sign_test_is_the_binomial_test(above, below):
    """Catches a one-sided p-value, and one that counts ties."""
    differences = [1.0] * above + [-2.0] * below + [0.0] * 3
    assert sign_test(differences) == pytest.approx(stats.binomtest(above, above + below).pvalue)
