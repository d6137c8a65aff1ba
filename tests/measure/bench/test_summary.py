"""The summary of a bench."""

import pytest

from dsbd.measure.bench.contenders import Contest, contenders
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure
from dsbd.measure.bench.summary import count_figures, quality_figures, speed_figures, summarise
from dsbd.measure.energy import Energy
from tests.measure.bench.made_up import made_up_run
from tests.toy_pair import toy_pair


def test_a_summary_has_every_contender_and_ratios_to_every_baseline(measured):
    """Catches a contender that is lost, a ratio to itself, and acceptance of a method that drafts nothing."""
    contest, results = measured
    summary = summarise(contest, results, ("beam_sampling", "hf_beam_sampling", "greedy"))
    assert summary.complete
    assert summary.baselines == ("beam_sampling", "hf_beam_sampling")  # greedy was not measured: no ratio to it
    rows = {row.contender: row for row in summary.contenders}
    assert set(rows) == {contender.name for contender in contest.contenders}
    assert set(summary.ratios["beam_sampling"]) == set(rows) - {"beam_sampling"}
    assert 0 < rows["dsbd defaults"].acceptance.beta <= 1
    assert 1 < rows["dsbd defaults"].acceptance.forward_tokens <= 6 + 4 * 6
    assert rows["beam_sampling"].acceptance is None
    assert rows["dsbd defaults"].energy is None


def test_an_unfinished_bench_has_a_summary(measured):
    """Catches a summary that needs every run, or that looks complete when it is not."""
    contest, _ = measured
    results = ResultsFile()
    assert summarise(contest, results).contenders == ()
    steps = measure(toy_pair(), contest, results)
    while next(steps).run is None:
        pass
    summary = summarise(contest, results)
    assert (len(summary.contenders), summary.complete) == (1, False)


def test_a_sweep_of_beams_is_compared_with_as_many_beams():
    """Catches eight beams compared with a baseline of two, which would be called slow."""
    contest = Contest(
        contenders(["dsbd", "beam_sampling"], ["same-law"], {"num_beams": [2, 3], "max_new_tokens": [3]}), ("Once",), 1
    )
    results = ResultsFile()
    list(measure(toy_pair(), contest, results))
    ratios = summarise(contest, results).ratios["beam_sampling"]
    assert {name: ratio.baseline for name, ratio in ratios.items()} == {
        "dsbd same-law num_beams=2": "beam_sampling num_beams=2",
        "dsbd same-law num_beams=3": "beam_sampling num_beams=3",
    }


def test_speed_is_of_layers_and_counts_are_means():
    """Catches speed of the returned tokens where layers are meant, and a missing count read as zero."""
    runs = [made_up_run(10, new_tokens=5, iterations=2), made_up_run(30, new_tokens=15, seconds=3.0)]
    speed = speed_figures([runs, [None]])
    assert speed.total_tokens_per_second == pytest.approx(40 / 4)
    assert speed.text_tokens_per_second == pytest.approx(20 / 4)
    assert speed.milliseconds_per_token == pytest.approx(100.0)
    counts = count_figures(runs)
    assert (counts.layers, counts.new_tokens, counts.iterations, counts.draft_calls) == (20.0, 10.0, 2.0, None)


def test_quality_is_of_prompts():
    """Catches rounds that count as prompts: twenty rounds on two prompts are two."""
    figures = quality_figures([[made_up_run(9, 2.0), None], [made_up_run(9, 4.0, -3.0)] * 20, [None, None]])
    assert (figures.perplexity, figures.perplexity_half_width) == (3.0, pytest.approx(12.7062))
    assert (figures.best_log_weight, figures.best_log_weight_per_token_half_width) == (-2.0, pytest.approx(12.7062))
    assert quality_figures([[made_up_run(9)] * 20]).perplexity_half_width is None


def test_energy_is_of_the_runs_that_were_measured(measured):
    """Catches joules divided by the tokens of runs whose energy is not known, and 0 J where nothing was measured."""
    contest, _ = measured
    one = Contest(contest.contenders[1:2], ("p", "q"), 1)
    results = ResultsFile()
    energy = {"gpu": Energy("counter", 20.0, 10.0), "cpu_package": Energy("not measured")}
    results.add(one.contenders[0], made_up_run(10, new_tokens=5, energy=energy))
    results.add(one.contenders[0], made_up_run(90, prompt="q", energy={"gpu": Energy("not measured")}))
    (row,) = summarise(one, results).contenders
    assert (row.energy["gpu"].joules_per_token, row.energy["gpu"].joules_per_text_token) == (2.0, 4.0)
    assert row.energy["gpu"].above_idle_joules_per_token == 1.0
    assert row.energy["cpu_package"].joules_per_token is None
