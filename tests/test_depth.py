"""The draft depth of each iteration: by expected layers over cost, from what was seen."""

import pytest

from dsbd.depth import PROBE_EVERY, WORTHWHILE, DepthPolicy, expected_layers


@pytest.mark.parametrize(
    ("continuation", "depth", "layers"), [(0.0, 4, 1.0), (1.0, 4, 5.0), (0.5, 2, 1.75), (0.5, 0, 1.0)]
)
def test_expected_layers(continuation, depth, layers):
    """Catches a sum that forgets the last layer, or the bonus."""
    assert expected_layers(continuation, depth) == pytest.approx(layers)


def depths(policy: DepthPolicy, fare, count: int) -> list[int]:
    chosen = []
    for _ in range(count):
        chosen.append(policy.choose())
        policy.observe(chosen[-1], *fare(chosen[-1]))
    return chosen


def all_pass(depth):
    return depth, False


def none_passes(depth):
    return 0, True


def test_without_costs_the_depth_is_the_one_given():
    """Catches an adaptation nobody asked for."""
    assert depths(DepthPolicy(5, None, 0.7), none_passes, 40) == [5] * 40


def test_drafts_deeper_while_everything_passes_and_not_at_all_while_nothing_does():
    """Catches a policy that does not learn, or that learns the wrong way round."""
    costs = (1.0, 1.2, 1.4, 1.6, 1.8)
    assert depths(DepthPolicy(4, costs, 0.5), all_pass, 30)[-1] == 4
    assert depths(DepthPolicy(4, costs, 0.9), none_passes, 40).count(0) > 15


def test_a_pause_is_interrupted_by_a_probe():
    """Catches a fallback that never ends, and one that is not a fallback."""
    policy = DepthPolicy(3, (1.0, 1.2, 1.4, 1.6), 0.0)
    chosen = depths(policy, none_passes, 3 * PROBE_EVERY)
    assert chosen.count(0) == len(chosen) - 3
    assert all(chosen[place] > 0 for place in range(PROBE_EVERY - 1, len(chosen), PROBE_EVERY))
    assert depths(policy, all_pass, 12 * PROBE_EVERY)[-1] == 3


@pytest.mark.parametrize(
    ("costs", "continuation", "depth"),
    [
        ((1.0, 1.69), 0.7, 0),  # 1.7 layers are expected: short evidence cannot tell 3 % more than 1.65 from none
        ((1.0, 1.65), 0.7, 0),
        ((1.0, 1.61), 0.7, 1),
        ((2.0, 3.3), 0.7, 0),
        ((2.0, 3.2), 0.7, 1),
        ((2.0, 1.0, 1.0, 1.0), 0.0, 1),
    ],
)
def test_drafting_must_promise_more_than_a_little(costs, continuation, depth):
    """Catches drafting for a slight promise, a bar that ignores the cost of an iteration that drafts nothing, and a
    deeper forest that promises nothing more."""
    assert DepthPolicy(len(costs) - 1, costs, continuation).choose() == depth
    assert 1.7 / 1.65 < WORTHWHILE < 1.7 / 1.61


def test_expectation_counts_until_there_is_evidence():
    """Catches one bad iteration at the start that stops drafting for good."""
    policy = DepthPolicy(4, (1.0, 1.1, 1.2, 1.3, 1.4), 0.8)
    first = policy.choose()
    policy.observe(first, 0, True)
    policy.observe(policy.choose(), 0, True)
    assert first > 2
    assert policy.choose() > 0
