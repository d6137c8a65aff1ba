"""The summary of a bench."""

import json

from dsbd.measure.bench.contenders import BenchPlan, contenders
from dsbd.measure.bench.results_file import Journal
from dsbd.measure.bench.schedule import measure
from dsbd.measure.bench.summary import summarise
from dsbd.measure.bench.tables import bench_tables
from tests.toy_pair import toy_pair


def test_summary_is_plain_data_and_whole(measured):
    plan, journal = measured
    summary = summarise(plan, journal, ("beam_sampling", "hf_beam_sampling", "greedy"))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["complete"] is True
    assert summary["baselines"] == ["beam_sampling", "hf_beam_sampling"]  # greedy was not measured: no ratio to it
    rows = {row["contender"]: row for row in summary["contenders"]}
    assert set(rows) == {contender.name for contender in plan.contenders}
    assert set(summary["ratios"]["beam_sampling"]) == set(rows) - {"beam_sampling"}
    assert 0 < rows["dsbd defaults"]["acceptance"]["beta"] <= 1
    assert 1 < rows["dsbd defaults"]["acceptance"]["forward_tokens"] <= 6 + 4 * 6
    assert rows["beam_sampling"]["acceptance"] is None
    assert rows["dsbd defaults"]["energy"] is None
    printed = bench_tables(summary)
    assert all(f"| {name} " in printed for name in rows)
    assert "Energy: not measured." in printed


def test_an_unfinished_bench_has_a_summary(measured):
    plan, _ = measured
    journal = Journal()
    assert bench_tables(summarise(plan, journal)) == "nothing measured yet"
    steps = measure(toy_pair(), plan, journal)
    while next(steps).run is None:
        pass
    summary = summarise(plan, journal)
    assert (len(summary["contenders"]), summary["complete"]) == (1, False)
    assert "Not complete" in bench_tables(summary)


def test_a_sweep_of_beams_is_held_against_as_many_beams():
    """Eight beams held against the baseline's two would be called slow."""
    plan = BenchPlan(
        contenders(["dsbd", "beam_sampling"], ["same-law"], {"num_beams": [2, 3], "max_new_tokens": [3]}), ("Once",), 1
    )
    journal = Journal()
    list(measure(toy_pair(), plan, journal))
    ratios = summarise(plan, journal)["ratios"]["beam_sampling"]
    assert {name: ratio["baseline"] for name, ratio in ratios.items()} == {
        "dsbd same-law num_beams=2": "beam_sampling num_beams=2",
        "dsbd same-law num_beams=3": "beam_sampling num_beams=3",
    }
