"""Two contenders on the same prompts and seeds."""

import pytest

from dsbd.measure.bench.paired import quality_verdict, speed_ratio
from dsbd.measure.bench.records import Run


def fake_run(speed, perplexity=2.0, weight=-1.0):
    return Run("x", "p", 1, 0, "", 1.0, 0.0, speed, speed, perplexity, weight, weight, 1)


def test_ratios_are_paired():
    """A ratio of medians would be 1 here; on every prompt the contender is twice as fast."""
    base, ours = [[fake_run(10)], [fake_run(20)], [fake_run(40)]], [[fake_run(20)], [fake_run(40)], [fake_run(80)]]
    found = speed_ratio(ours, base)
    assert found == {"median": 2.0, "low": 2.0, "high": 2.0, "above_1": 3, "of": 3, "sign_test_p": 0.25}
    assert speed_ratio([[None], [fake_run(30)], [None]], base)["of"] == 1
    assert speed_ratio([[None]] * 3, base) is None


@pytest.mark.parametrize(
    ("perplexities", "weights", "equal"),
    [
        ((2.0, 2.1, 1.9), (-1.0, -1.1, -0.9), True),
        ((3.0, 3.1, 2.9), (-1.0, -1.1, -0.9), False),
        ((1.0, 1.1, 1.2), (-1.5, -1.4, -1.6), False),
        ((1.0, 1.1, 1.2), (-0.5, -0.4, -0.6), True),
    ],
    ids=["as good", "worse perplexity", "worse log-weight", "better"],
)
def test_equal_quality_by_its_rule(perplexities, weights, equal):
    base = [[fake_run(10)]] * 9
    ours = [[fake_run(10, one, other)] for one, other in zip(perplexities * 3, weights * 3, strict=True)]
    assert quality_verdict(ours, base)["equal"] is equal


def test_few_prompts_are_too_few_for_a_verdict():
    assert quality_verdict([[fake_run(1, 9.0)]] * 7, [[fake_run(1)]] * 7)["equal"] is None
    assert quality_verdict([[fake_run(1, 9.0)]] * 8, [[fake_run(1)]] * 8)["equal"] is False
