"""Two contenders on the same prompts and seeds."""

import pytest

from dsbd.measure.bench.paired import quality_verdict, speed_ratio
from dsbd.measure.bench.records import SpeedRatio
from tests.measure.bench.made_up import flat, made_up_run


def ratio(ours, theirs) -> SpeedRatio | None:
    """Return the ratio of runs listed by prompt and round."""
    return speed_ratio(flat(ours), flat(theirs), "b")


def verdict(ours, theirs):
    return quality_verdict(flat(ours), flat(theirs))


def test_ratios_are_paired():
    """Catches a ratio of medians, which is 1 here: on every prompt the contender is twice as fast."""
    base = [[made_up_run(10)], [made_up_run(20)], [made_up_run(40)]]
    ours = [[made_up_run(20)], [made_up_run(40)], [made_up_run(80)]]
    assert ratio(ours, base) == SpeedRatio(
        baseline="b", median=2.0, low=None, high=None, above_1=3, of=3, sign_test_p=0.25
    )
    assert ratio([[None], [made_up_run(30)], [None]], base).of == 1
    assert ratio([], base) is None


def test_rounds_of_a_prompt_are_no_further_prompts():
    """Catches a sign test that counts rounds: twenty rounds on one prompt say nothing about another."""
    fast, slow = [[made_up_run(30)] * 20, [made_up_run(10)] * 20]
    found = ratio([fast, fast, fast], [slow, slow, slow])
    assert (found.above_1, found.of, found.sign_test_p) == (60, 60, 0.25)
    assert ratio([fast[:1] + slow[:2]] * 8, [slow[:3]] * 8).sign_test_p == 2 / 2**8
    first, last = [made_up_run(20), made_up_run(10)], [made_up_run(10), made_up_run(20)]
    assert ratio([first] * 8, [last] * 8).sign_test_p is None  # twice as fast, then half as fast
    weights = [[made_up_run(1, weight=weight) for weight in (-1.2, -1.0)] for _ in range(8)]
    assert verdict(weights, [[made_up_run(1)] * 2] * 8).best_log_weight_per_token.half_width < 1e-9


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
    """Catches a verdict that looks at one of the two figures only, or that calls better unequal."""
    base = [[made_up_run(10)]] * 9
    ours = [[made_up_run(10, one, other)] for one, other in zip(perplexities * 3, weights * 3, strict=True)]
    assert verdict(ours, base).equal is equal


def test_few_prompts_are_too_few_for_a_verdict():
    """Catches "equal quality" claimed from a handful of prompts, whose interval holds nearly everything."""
    assert verdict([[made_up_run(1, 9.0)] * 2] * 7, [[made_up_run(1)] * 2] * 7).equal is None
    assert verdict([[made_up_run(1, 9.0)]] * 8, [[made_up_run(1)]] * 8).equal is False
