"""Statistics agree with simple twins and known values."""

import random
import statistics

import pytest
from scipy import stats

from dsbd.measure.intervals import RESAMPLES, Interval, estimate, median_interval, sign_test


def test_estimate_is_the_normal_interval():
    values = [1.0, 2.0, 4.0, 9.0]
    found = estimate(values)
    assert found.mean == 4.0
    assert found.half_width == pytest.approx(1.96 * statistics.stdev(values) / 2, rel=1e-4)
    assert estimate([3.0]).half_width is None  # one run has no interval; 0 would claim certainty


@pytest.mark.parametrize(("above", "below"), [(5, 0), (0, 5), (7, 3), (6, 6), (1, 0)])
def test_sign_test_is_the_binomial_test(above, below):
    """Catches a one-sided p-value, and one that counts ties."""
    differences = [1.0] * above + [-2.0] * below + [0.0] * 3
    assert sign_test(differences) == pytest.approx(stats.binomtest(above, above + below).pvalue)


def test_sign_test_without_a_difference_says_nothing():
    assert sign_test([0.0, 0.0]) is None


def test_median_interval_resamples_whole_prompts():
    """Catches runs that are resampled as if they were independent: the interval would be too narrow."""
    groups = [[1.0] * 50, [2.0] * 50, [3.0] * 50]
    assert median_interval(groups) == Interval(2.0, 1.0, 3.0)


def test_median_interval_of_one_prompt_resamples_its_runs():
    values = [float(value) for value in range(20)]
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(values, k=20)) for _ in range(RESAMPLES))
    assert median_interval([values]) == Interval(
        9.5, medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES) - 1]
    )
    assert median_interval([[3.0]]) == Interval(3.0, None, None)
