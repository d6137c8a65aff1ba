"""What a bench reports: every contender, its ratios to the baselines, and its control."""

from dataclasses import replace

import pytest
from dsbd.evaluation.bench import bench_report
from dsbd.evaluation.markdown import report_tables
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contest import plain_prompts
from dsbd.measure.bench.driver import run_contest
from dsbd.measure.bench.records import Control
from visualize.pages.contest_page import contest_page

from tests.measure.bench.contests import contest_of, measured_answers
from tests.measure.bench.made_up import made_up_run
from tests.toy_pair import toy_pair


def test_an_unfinished_bench_has_a_report():
    """Catches a report that needs every run, or that looks complete when it is not."""
    contest, answers = contest_of(), AnswersFile()
    assert report_tables(bench_report(contest, answers)) == "nothing measured yet"
    steps = run_contest(toy_pair(), contest, answers)
    while next(steps).done == 0:
        pass
    report = bench_report(contest, answers)
    assert (len(report.tables["prompts"].rows), report.complete) == (1, False)
    assert "Not complete" in report_tables(report)


def test_a_sweep_of_beams_is_compared_with_as_many_beams():
    """Catches eight beams compared with a baseline of two, which would be called slow."""
    contest = contest_of(("dsbd:same-law", "beam_sampling"), rounds=1, num_beams=[2, 3], max_new_tokens=3)
    rows = bench_report(contest, measured_answers(contest)).tables["prompts"].rows
    assert {row.contender: ratio.baseline for row in rows for ratio in row.ratios.values()} == {
        "dsbd same-law num_beams=2": "beam_sampling num_beams=2",
        "dsbd same-law num_beams=3": "beam_sampling num_beams=3",
    }


def test_the_control_is_compared_with_the_same_decodes():
    """Catches a control whose row is that of other prompts or rounds, or of another contender."""
    contest, answers = replace(contest_of(rounds=2), prompts=plain_prompts("pqrs")), AnswersFile()
    assert bench_report(contest, answers).control is None
    for prompt in range(1, 5):
        answers.add(made_up_run(10, contender="beam_sampling", question=str(prompt), seconds=float(prompt)))
        answers.add(made_up_run(10, contender="beam_sampling", question=str(prompt), seconds=99.0, round=1))
        answers.add(made_up_run(10, contender="dsbd defaults", question=str(prompt), seconds=99.0))
    answers.add(Control(before=1.0, after=4.0))
    answers.add(Control(before=3.0, after=4.0, openmp_runtimes=2))
    control = bench_report(contest, answers).control
    assert control == Control(before=2.0, after=4.0, row=200.0, openmp_runtimes=2)


@pytest.mark.parametrize(
    ("control", "warning"),
    [
        (Control(before=10.0, after=11.0, row=10.9), None),
        (Control(before=10.0, after=12.0), "the control moved by more than 15 %"),
        (Control(before=10.0, after=10.0, row=8.0), "the control moved by more than 15 %"),
        (Control(before=10.0, after=10.0, openmp_runtimes=2), "had 2 OpenMP runtimes"),
    ],
)
def test_figures_of_a_disturbed_bench_are_not_to_be_published(control, warning):
    """Catches a bench whose own baseline became slower or faster among the others, and looks like any other."""
    contest, answers = contest_of(("sampling",)), AnswersFile()
    answers.add(made_up_run(10, contender="sampling"))
    if control.row is not None:
        answers.add(made_up_run(10, contender="beam_sampling", seconds=control.row / 100))
    answers.add(replace(control, row=None))
    report = bench_report(contest, answers)
    for told in (report_tables(report), contest_page(report.tables)):
        assert f"alone took {control.before:.2f} ms per token" in told
        assert ("Do not publish" in told) is (warning is not None)
        assert warning is None or warning in told
