"""The limits against their definitions."""

from dataclasses import replace

import pytest

from dsbd.measure.bench.limits import forward_of, layers_at_depth, limits_of
from dsbd.measure.bench.records import Acceptance, Forwards, ModelCosts
from tests.measure.bench.made_up import made_up_costs, made_up_summary


@pytest.mark.parametrize(("depth", "layers"), [(0, 1.0), (1, 1.5), (2, 1.75), (1.5, 1.625), (1.2, 1.55)])
def test_a_mean_depth_lies_between_two_whole_depths(depth, layers):
    """Catches a mean depth that is rounded, and a sum that forgets the bonus layer."""
    assert layers_at_depth(0.5, depth) == pytest.approx(layers)


@pytest.mark.parametrize(("size", "value"), [(1, 10), (2, 12), (3, 14), (64, 40), (999, 40)])
def test_forwards_between_measured_sizes(size, value):
    """Catches a forward taken from the next measured size, and one extrapolated beyond the last."""
    model = ModelCosts(
        weight_bytes=1, slot_bytes=1, bandwidth_bytes_per_second=1.0, milliseconds={1: 10.0, 4: 16.0, 64: 40.0}
    )
    assert forward_of(model, size) == pytest.approx(value)


def test_shares_of_a_made_up_contender():
    """Catches a share that is not what the division by hand gives: floor 10 ms, forward 20 ms, 4 draft steps of 2.5."""
    forwards = Forwards(target=made_up_costs(10**7, 20.0), draft=made_up_costs(10**6, 2.5))
    row = made_up_summary(
        "dsbd", 14.0, iterations=10.0, layers_per_iteration=3.0, draft_calls=41.0, mean_width=4.0,
        acceptance=Acceptance(layers=40, beta=0.5, forward_tokens=28.5),
    )  # fmt: skip
    found = limits_of(row, 1.5, forwards)
    assert found.hardware == pytest.approx(0.5)
    assert found.speed_up_limit == pytest.approx(3.0 / (1 + 4 * 2.5 / 20))
    assert found.algorithm == pytest.approx(0.75)
    assert found.expected_layers == pytest.approx(1.9375)
    assert found.total == pytest.approx((10 + 4 * 1) / 3 / 14)
    plain = limits_of(replace(row, draft_calls=0.0, layers_per_iteration=1.0), None, forwards)
    assert (plain.speed_up_limit, plain.algorithm) == (1.0, None)
    assert limits_of(replace(row, iterations=None), 1.0, forwards) is None
