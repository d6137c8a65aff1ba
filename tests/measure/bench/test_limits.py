"""The limits against their definitions."""

import pytest

from dsbd.measure.bench.limits import between, expected_layers, limits_of, speed_up_limit


@pytest.mark.parametrize(("beta", "threshold"), [(0.6, 0.7), (0.9, 0.7), (1.0, 1.0), (0.0, 0.7)])
@pytest.mark.parametrize("depth", [0, 1, 4])
def test_expected_layers_is_the_geometric_sum(beta, threshold, depth):
    b = min(beta, threshold)
    assert expected_layers(beta, threshold, depth) == pytest.approx(sum(b**layer for layer in range(depth + 1)))


def test_free_drafts_make_layers_the_limit():
    assert speed_up_limit(3.0, 4, 0.0) == 3.0
    assert speed_up_limit(3.0, 4, 0.25) == 1.5


@pytest.mark.parametrize(("size", "value"), [(1, 10), (2, 12), (3, 14), (64, 40), (999, 40)])
def test_forwards_between_measured_sizes(size, value):
    assert between({"1": 10, "4": 16, "64": 40}, size) == pytest.approx(value)


def test_shares_of_a_made_up_run():
    """Floor 10 ms, forward 20 ms, three layers, four draft steps of 2.5 ms: every share by hand."""
    forwards = {
        "target": {"weight_bytes": 10**7, "slot_bytes": 0, "bandwidth_bytes_per_second": 1e9,
                   "milliseconds": {"1": 20.0, "64": 20.0}},
        "draft": {"weight_bytes": 10**6, "slot_bytes": 0, "bandwidth_bytes_per_second": 1e9,
                  "milliseconds": {"1": 2.5, "64": 2.5}},
    }  # fmt: skip
    row = {
        "iterations": 10, "layers_per_iteration": 3.0, "draft_calls": 41, "prompt_tokens": 5, "layers": 30,
        "mean_width": 4.0, "settings": {"num_beams": 4, "draft_width": 6, "width_threshold": 0.7},
        "milliseconds_per_iteration": {"score": 20.0}, "decode_milliseconds_per_token": 14.0,
        "acceptance": {"beta": 0.5, "forward_tokens": 28.5},
    }  # fmt: skip
    found = limits_of(row, 1.5, forwards)
    assert found["hardware"] == pytest.approx(0.5)
    assert found["speed_up_limit"] == pytest.approx(3.0 / (1 + 4 * 2.5 / 20))
    assert found["algorithm"] == pytest.approx(0.75)
    assert found["expected_layers"] == pytest.approx(1.9375)
    assert found["total"] == pytest.approx((10 + 4 * 1) / 3 / 14)
    plain = limits_of({**row, "draft_calls": 0, "layers_per_iteration": 1.0}, None, forwards)
    assert (plain["speed_up_limit"], plain["algorithm"]) == (1.0, None)
    assert limits_of({**row, "iterations": None}, 1.0, forwards) is None
