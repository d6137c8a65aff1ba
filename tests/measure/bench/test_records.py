"""The records of a bench and their JSON."""

import json
from pathlib import Path

import pytest

from dsbd.measure.bench.records import bench_summary
from dsbd.measure.bench.summary import summarise

ROOT = Path(__file__).resolve().parents[3]
OLDER = [
    (name, part)
    for name, parts in {"0.3B-cpu": ("methods",), "0.3B-cpu-sweeps": ("widths", "depths")}.items()
    for part in parts
]


def test_a_summary_survives_json(measured):
    """Catches a field that is lost or changed on the way to a file and back."""
    summary = summarise(*measured, ("beam_sampling",))
    assert bench_summary(json.loads(json.dumps(summary.to_dict(), allow_nan=False))) == summary
    assert bench_summary(summary) is summary


@pytest.mark.parametrize(("name", "part"), OLDER)
def test_results_of_older_versions_are_read_and_keep_their_layout(name, part):
    """Catches a renamed field: files that were written before must stay readable, and new ones have the same layout."""
    older = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))[part]
    again = bench_summary(older).to_dict()
    assert again.pop("conditions") == {}  # these files have them beside the parts
    for row, before in zip(again["contenders"], older["contenders"], strict=True):
        row["settings"] = {name: row["settings"][name] for name in before["settings"]}
        if row["limits"] and row["limits"]["draft_forward_milliseconds"] is None:
            del row["limits"]["draft_forward_milliseconds"]  # was left out where nothing is drafted
    assert again == older


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
