"""The records of a bench and their JSON."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dsbd.measure.bench.records import bench_summary
from dsbd.measure.bench.summary import summarise

ROOT = Path(__file__).resolve().parents[3]


def test_a_summary_survives_json(measured):
    """Catches a field that is lost or changed on the way to a file and back."""
    summary = summarise(*measured, ("beam_sampling",))
    assert bench_summary(json.loads(json.dumps(summary.to_dict(), allow_nan=False))) == summary
    assert bench_summary(summary) is summary


def test_the_results_of_the_documentation_are_read():
    """Catches a renamed field: the figures of the documentation are drawn from files that were written before."""
    written = json.loads((ROOT / "benchmarks" / "results" / "0.3B-cpu.json").read_text(encoding="utf-8"))["methods"]
    names = [row["contender"] for row in written["contenders"]]
    assert [row.contender for row in bench_summary(written).contenders] == names


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


def test_records_need_no_torch():
    """Catches an import that makes every drawing of a bench wait for torch."""
    code = "import sys, dsbd.measure.bench.records; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"
