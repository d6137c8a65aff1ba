"""The records of a bench and their JSON."""

import json

import pytest

from dsbd.measure.bench.records import bench_summary
from dsbd.measure.bench.summary import summarise


def test_a_summary_survives_json(measured):
    """Catches a field that is lost or changed on the way to a file and back."""
    summary = summarise(*measured, ("beam_sampling",))
    assert bench_summary(json.loads(json.dumps(summary.to_dict(), allow_nan=False))) == summary
    assert bench_summary(summary) is summary


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (5, "int is no summary"),
        ({}, "contenders: Field required"),
        ({"format": "dsbd-trace/1", "contenders": []}, "no summary of a bench: format is 'dsbd-trace/1'"),
        ({"contenders": [{"contender": "x"}]}, r"contenders\.0\.method: Field required"),
        ({"contenders": "many"}, "contenders: "),
        ({"contenders": [], "ratios": {"a": {"b": {"baseline": "c", "median": "high"}}}}, r"ratios\.a\.b\.median"),
    ],
)
def test_data_that_is_no_summary_is_refused_in_one_line(data, named):
    """Catches a KeyError from deep inside a figure."""
    with pytest.raises(ValueError, match=named) as caught:
        bench_summary(data)
    assert "\n" not in str(caught.value)
    assert "python -m dsbd bench --json" in str(caught.value)
