"""Scores predictions, without decoding anything, and makes the table of each task."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsbd.evaluation.records import Exam, Prediction, TaskRun
from dsbd.evaluation.tables import EvaluationTable
from dsbd.evaluation.tabulate import Answer, make_table
from dsbd.measure.bench.contenders import BASELINE, Contender
from dsbd.measure.bench.grids import GRID_BASELINE
from dsbd.stopping import cut
from dsbd.tasks.records import Score


@dataclass(frozen=True)
class Scored:
    """A prediction with its answers and scores, by filter."""

    prediction: Prediction
    answers: Mapping[str, str]
    scores: Mapping[str, Score]

    def main(self, metric: str | None) -> float | None:
        """Return the score of the first filter by a metric; None where there is no metric."""
        return None if metric is None else float(next(iter(self.scores.values())).metrics[metric])


def score_all(exam: Exam, predictions: Iterable[Prediction]) -> list[Scored]:
    """Score predictions of the exam's questions; the same answer to the same question is scored once.

    An answer is taken from the text before the first of the task's ``until``: where decoding ended makes no difference.
    """
    known: dict[tuple[str, str, str], Score] = {}
    questions = {(run.name, question.id): (run, question) for run in exam.runs for question in run.questions}
    found = []
    for one in predictions:
        run, question = questions[one.task, one.question]
        text = cut(one.text, run.task.until)
        answers = {name: run.task.answer(text, name) for name in run.task.filters}
        for answer in answers.values():
            if (one.task, one.question, answer) not in known:
                known[one.task, one.question, answer] = run.task.score(question, answer)
        scores = {name: known[one.task, one.question, answer] for name, answer in answers.items()}
        found.append(Scored(one, answers, scores))
    return found


def table_of(
    run: TaskRun,
    exam: Exam,
    scored: Sequence[Scored],
    conditions: Mapping[str, Any],
    baseline: str | None = None,
) -> EvaluationTable:
    """Return the table of one task; the contenders stand in the order of the exam.

    Args:
        run: the task.
        exam: with the contenders.
        scored: of all tasks.
        conditions: machine, versions and models.
        baseline: the contender that the others are compared with; None: beam sampling.
    """
    task, contenders = run.task, {one.name: exam.at_limit(one, run) for one in exam.contenders}
    mine = [one for one in scored if one.prediction.task == run.name]
    answers = [
        _answer(one, contender, task.main_metric)
        for name, contender in contenders.items()
        for one in mine
        if one.prediction.contender == name
    ]
    return make_table(
        answers,
        task=run.name,
        metric=task.main_metric,
        higher_is_better=task.metrics[task.main_metric] if task.main_metric is not None else False,
        note=task.note,
        baseline=baseline or baseline_of(exam.contenders),
        conditions=conditions,
    )


def baseline_of(contenders: Sequence[Contender]) -> str | None:
    """Return the name of the contender that the others are compared with: beam sampling, of several the grid's."""
    named = [one.name for one in contenders if one.method == BASELINE]
    return GRID_BASELINE if GRID_BASELINE in named else next(iter(named), None)


def joules_of(prediction: Prediction) -> float | None:
    """Return the joules of all devices that were measured; None where none was."""
    measured = [one.joules for one in (prediction.energy or {}).values() if one.joules is not None]
    return sum(measured) if measured else None


def _answer(scored: Scored, contender: Contender, metric: str | None) -> Answer:
    one = scored.prediction
    return Answer(
        contender=one.contender,
        method=contender.method,
        settings=contender.settings,
        question=one.question,
        cluster=one.cluster,
        seed=one.turn,
        score=scored.main(metric),
        perplexity=one.perplexity,
        layers=one.layers,
        seconds=one.seconds - one.prefill_seconds,
        joules=joules_of(one),
        iterations=one.iterations,
        mean_width=one.mean_width,
        accepted=one.drafting.accepted if one.drafting else None,
        rejected=one.drafting.rejected if one.drafting else None,
        widths=one.widths,
    )
