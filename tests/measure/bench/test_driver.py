"""The one driver of contests, on the toy pair: what runs, in which order, and with which seed."""

from collections import Counter
from dataclasses import replace

import pytest

from dsbd.errors import PairError, SettingsError, StoppedError
from dsbd.evaluation.bench import bench_report
from dsbd.evaluation.markdown import report_tables
from dsbd.measure.bench import driver
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contest import Contest, ContestPrompt
from dsbd.measure.bench.driver import require_runnable, run_contest
from tests.measure.bench.contests import answers_of, contest_of, measured_answers
from tests.toy_pair import toy_pair

TASK = tuple(
    ContestPrompt(f"Say {'so ' * place}once", f"q{place}", "quiz", until=("=",), max_new_tokens=3) for place in (0, 1)
)


def without_times(runs) -> list:
    """Return decodes without what a clock measured."""
    return [replace(run, seconds=0, prefill_seconds=0, phase_seconds=None) for run in runs]


def test_every_contender_runs_every_prompt_with_seeds_in_turn():
    """Catches contenders measured one after the other, while the machine grows warm."""
    contest = contest_of(seed=7)
    runs = measured_answers(contest).runs
    assert Counter((run.contender, run.prompt, run.seed) for run in runs) == Counter(
        (contender.name, prompt.text, seed)
        for contender in contest.contenders
        for prompt in contest.prompts
        for seed in (7, 8)
    )
    assert [(run.prompt, run.seed) for run in runs[::2]] == [(run.prompt, run.seed) for run in runs[1::2]]
    many = [
        [turn.contender.name for turn in contest_of(rounds=9).turns()][place : place + 2] for place in range(0, 36, 2)
    ]
    assert {tuple(pair) for pair in many} == {("dsbd defaults", "beam_sampling"), ("beam_sampling", "dsbd defaults")}


def test_questions_of_a_task_have_seeds_and_limits_of_the_question():
    """Catches questions that share their random numbers, and one that is answered beyond what its task allows."""
    contest = Contest(contest_of().contenders, TASK, 2)
    runs = measured_answers(contest).runs
    seeds = {(run.question, run.round): {other.seed for other in runs if other.key[2:] == run.key[2:]} for run in runs}
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 4
    assert max(run.layers for run in runs) == 3
    assert all(("=" in run.text) >= (run.ended == "until") for run in runs)


def test_a_stop_ends_inside_a_decode_and_the_next_call_goes_on():
    """Catches a stop that waits for the end of a decode, and one after which something is missing or made twice."""
    contest, asked = contest_of(), iter([False] * 30 + [True] * 9)
    answers = AnswersFile()
    with pytest.raises(StoppedError):
        list(run_contest(toy_pair(), contest, answers, stop=lambda: next(asked)))
    assert len(list(asked)) == 8
    assert 0 < len(answers.runs) < contest.total
    list(run_contest(toy_pair(), contest, answers))
    assert without_times(answers.runs) == without_times(measured_answers(contest).runs)


@pytest.mark.slow
def test_auto_is_resolved_once_and_kept(tmp_path, monkeypatch):
    """Catches a second plan, which may differ: two settings would have one name."""
    pair, path = replace(toy_pair()), tmp_path / "answers.jsonl"
    contest = contest_of(("dsbd:auto",), rounds=1)
    answers = answers_of(path, contest)
    doing = [step.doing for step in run_contest(pair, contest, answers)]
    assert doing[0] == "auto"
    (settled,) = answers.with_auto(contest.contenders)
    monkeypatch.setattr(driver, "planning", None)
    again = answers_of(path, contest)
    assert list(run_contest(pair, contest, again)) == []
    assert again.with_auto(contest.contenders) == (settled,)
    report = bench_report(contest, again)
    (row,) = report.tables["prompts"].rows
    assert isinstance(row.settings.draft_depth, int)
    assert row.auto_reason
    assert f"dsbd auto: {row.auto_reason}" in report_tables(report)


def test_what_cannot_run_is_found_before_anything_runs():
    with pytest.raises(SettingsError, match="no prompt"):
        require_runnable(toy_pair(), replace(contest_of(), prompts=()))
    with pytest.raises(PairError, match="dsbd defaults needs a draft model"):
        require_runnable(replace(toy_pair(), draft=None), contest_of())
