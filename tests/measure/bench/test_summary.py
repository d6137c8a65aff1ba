"""The summary of a bench."""

from dataclasses import replace

import pytest

from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contest import plain_prompts
from dsbd.measure.bench.driver import run_contest
from dsbd.measure.bench.records import Control, Forwards, OtherCaches, PeakMemory
from dsbd.measure.bench.summary import contender_summary, memory_of, quality_figures, speed_figures, summarise
from dsbd.measure.energy import Energy
from tests.measure.bench.contests import contest_of, measured_answers
from tests.measure.bench.made_up import flat, made_up_costs, made_up_run
from tests.toy_pair import toy_pair

TARGET, DRAFT = (replace(made_up_costs(1, 1.0), slot_bytes=size) for size in (100, 10))


def test_a_summary_has_every_contender_and_ratios_to_every_baseline(measured):
    """Catches a contender that is lost, a ratio to itself, and acceptance of a method that drafts nothing."""
    contest, answers = measured
    summary = summarise(contest, answers, ("beam_sampling", "hf_beam_sampling", "greedy"))
    assert summary.complete
    assert summary.baselines == ("beam_sampling", "hf_beam_sampling")  # greedy was not measured: no ratio to it
    rows = {row.contender: row for row in summary.contenders}
    assert set(rows) == {contender.name for contender in contest.contenders}
    assert set(summary.ratios["beam_sampling"]) == set(rows) - {"beam_sampling"}
    assert 0 < rows["dsbd defaults"].acceptance.beta <= 1
    assert 1 < rows["dsbd defaults"].acceptance.forward_tokens <= 6 + 4 * 6
    assert rows["beam_sampling"].acceptance is None
    assert rows["dsbd defaults"].energy is None


def test_an_unfinished_bench_has_a_summary():
    """Catches a summary that needs every run, or that looks complete when it is not."""
    contest, answers = contest_of(), AnswersFile()
    assert summarise(contest, answers).contenders == ()
    steps = run_contest(toy_pair(), contest, answers)
    while next(steps).done == 0:
        pass
    summary = summarise(contest, answers)
    assert (len(summary.contenders), summary.complete) == (1, False)


def test_a_sweep_of_beams_is_compared_with_as_many_beams():
    """Catches eight beams compared with a baseline of two, which would be called slow."""
    contest = contest_of(rounds=1, points=["same-law"], num_beams=[2, 3], max_new_tokens=3)
    ratios = summarise(contest, measured_answers(contest)).ratios["beam_sampling"]
    assert {name: ratio.baseline for name, ratio in ratios.items()} == {
        "dsbd same-law num_beams=2": "beam_sampling num_beams=2",
        "dsbd same-law num_beams=3": "beam_sampling num_beams=3",
    }


def test_speed_is_of_layers_and_counts_are_means():
    """Catches speed of the returned tokens where layers are meant, and a missing count read as zero."""
    runs = [made_up_run(10, new_tokens=5, iterations=2), made_up_run(30, new_tokens=15, seconds=3.0)]
    speed = speed_figures(flat([runs]))
    assert speed["total_tokens_per_second"] == pytest.approx(40 / 4)
    assert speed["text_tokens_per_second"] == pytest.approx(20 / 4)
    assert speed["milliseconds_per_token"] == pytest.approx(100.0)
    row = contender_summary(contest_of().contenders[0], runs, AnswersFile())
    assert (row.layers, row.new_tokens, row.iterations, row.draft_calls) == (20.0, 10.0, 2.0, None)


def test_quality_is_of_prompts():
    """Catches rounds that count as prompts: twenty rounds on two prompts are two."""
    found = quality_figures(flat([[made_up_run(9, 2.0), None], [made_up_run(9, 4.0, -3.0)] * 20]))
    assert (found["perplexity"], found["perplexity_half_width"]) == (3.0, pytest.approx(12.7062))
    assert (found["best_log_weight"], found["best_log_weight_per_token_half_width"]) == (-2.0, pytest.approx(12.7062))
    assert quality_figures(flat([[made_up_run(9)] * 20]))["perplexity_half_width"] is None


def test_the_control_is_compared_with_the_same_decodes():
    """Catches a control whose row is that of other prompts or rounds, or of another contender."""
    contest, answers = replace(contest_of(rounds=2), prompts=plain_prompts("pqrs")), AnswersFile()
    assert summarise(contest, answers).control is None
    for prompt in range(1, 5):
        answers.add(made_up_run(10, contender="beam_sampling", question=str(prompt), seconds=float(prompt)))
        answers.add(made_up_run(10, contender="beam_sampling", question=str(prompt), seconds=99.0, round=1))
        answers.add(made_up_run(10, contender="dsbd defaults", question=str(prompt), seconds=99.0))
    answers.add(Control(before=1.0, after=4.0))
    answers.add(Control(before=3.0, after=4.0, openmp_runtimes=2))
    assert summarise(contest, answers).control == Control(before=2.0, after=4.0, row=200.0, openmp_runtimes=2)


def test_energy_is_of_the_runs_that_were_measured():
    """Catches joules divided by the tokens of runs whose energy is not known, and 0 J where nothing was measured."""
    contest, answers = replace(contest_of(("sampling",), rounds=1), prompts=plain_prompts("pq")), AnswersFile()
    energy = {"gpu": Energy("counter", 20.0, 10.0), "cpu_package": Energy("not measured")}
    unknown = {"gpu": Energy("not measured")}
    answers.add(made_up_run(10, contender="sampling", new_tokens=5, energy=energy))
    answers.add(made_up_run(90, contender="sampling", question="2", energy=unknown))
    (row,) = summarise(contest, answers).contenders
    assert (row.energy["gpu"].joules_per_token, row.energy["gpu"].joules_per_text_token) == (2.0, 4.0)
    assert row.energy["gpu"].above_idle_joules_per_token == 1.0
    assert row.energy["cpu_package"].joules_per_token is None


def test_other_designs_of_the_cache_are_computed_from_the_longest_run():
    """Catches a forgotten draft cache, the shortest run, bytes per beam that forget the prompt, and a made-up zero."""
    runs = [made_up_run(4, kv_peak_bytes=3000), made_up_run(9, prompt_tokens=11, kv_peak_bytes=4400)]
    forwards = Forwards(target=TARGET, draft=DRAFT)
    assert memory_of(6, True, runs, forwards) == PeakMemory(
        kv_peak_bytes=4400,
        computed=OtherCaches(one_sequence_bytes=20 * 110, cache_per_beam_bytes=6 * 20 * 110),
        ratio_to_one_sequence=2.0,
    )
    assert memory_of(6, False, runs, forwards).computed.one_sequence_bytes == 20 * 100
    assert memory_of(4, True, [made_up_run(3)], None) == PeakMemory()
