"""Scores the decodes of a contest, and makes the table of a task: means, intervals, differences to the baseline."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsbd.evaluation.exam import Exam
from dsbd.evaluation.statistics import (
    Mean,
    Rate,
    Scores,
    clustered_mean,
    clustered_perplexity,
    clustered_rate,
    clustered_ratio,
    paired_difference,
)
from dsbd.evaluation.tables import ContenderRow, EvaluationTable
from dsbd.measure.bench.contenders import BASELINE, Contender
from dsbd.measure.bench.contest import limited
from dsbd.measure.bench.grids import GRID_BASELINE
from dsbd.measure.bench.paired import speed_ratios
from dsbd.measure.bench.records import Run
from dsbd.measure.intervals import median_interval
from dsbd.methods import resolve
from dsbd.tasks.records import Question, Task


@dataclass(frozen=True)
class ScoredRun:
    """One decode of one question, and its score."""

    contender: Contender
    """With nothing ``auto``."""
    run: Run
    score: float | None = None
    """The task's main metric; None where there is no right answer."""
    answer: str = ""
    """What of the text is scored; empty where there is no task."""
    reason: str = ""
    """Why it is wrong, where that is known; untrusted."""


def score_run(contender: Contender, run: Run, task: Task, question: Question) -> ScoredRun:
    """Score one decode; the answer is taken from the text before the first of the task's ``until``."""
    answer = task.answer(run.text)
    score = task.score(question, answer)
    main = None if task.main_metric is None else float(score.metrics[task.main_metric])
    return ScoredRun(contender, run, main, answer, score.reason)


def score_all(exam: Exam, runs: Iterable[Run]) -> dict[str, list[ScoredRun]]:
    """Score the decodes of an exam, by task; the same text for the same question is scored once.

    Args:
        exam: with ``auto`` resolved.
        runs: of its questions.
    """
    asked = {(one.name, question.id): (one, question) for one in exam.runs for question in one.questions}
    contenders = {one.name: one for one in exam.contenders}
    known: dict[tuple[str, str, str], ScoredRun] = {}
    found: dict[str, list[ScoredRun]] = {}
    for run in runs:
        of, question = asked[run.task, run.question]
        contender, key = limited(contenders[run.contender], of.max_new_tokens), (run.task, run.question, run.text)
        if key not in known:
            known[key] = score_run(contender, run, of.task, question)
        found.setdefault(run.task, []).append(replace(known[key], contender=contender, run=run))
    return found


def tables_of(
    exam: Exam, scored: Mapping[str, Sequence[ScoredRun]], conditions: Mapping[str, Any]
) -> dict[str, EvaluationTable]:
    """Return the table of each task that has an answer; the contenders stand in the order of the exam."""
    order = [one.name for one in exam.contenders]
    return {
        run.name: make_table(
            sorted(scored[run.name], key=lambda one: order.index(one.contender.name)),
            task=run.name,
            metric=run.task.main_metric,
            higher_is_better=run.task.metrics.get(run.task.main_metric or "", False),
            note=run.task.note,
            baseline=baseline_of(exam.contenders),
            conditions=conditions,
        )
        for run in exam.runs
        if run.name in scored
    }


def baseline_of(contenders: Iterable[Contender]) -> str | None:
    """Return the name of the contender that the others are compared with: beam sampling, of several the grid's."""
    named = [one.name for one in contenders if one.method == BASELINE]
    return GRID_BASELINE if GRID_BASELINE in named else next(iter(named), None)


def make_table(
    scored: Sequence[ScoredRun],
    *,
    task: str,
    metric: str | None,
    higher_is_better: bool = True,
    note: str = "",
    baseline: str | None = None,
    conditions: Mapping[str, Any] | None = None,
) -> EvaluationTable:
    """Return the table of a task.

    Args:
        scored: decodes of every contender, in the order in which the rows shall stand.
        task: its name.
        metric: the name of its main metric; None takes perplexity, of which less is better.
        higher_is_better: of the metric.
        note: a note that belongs to every figure of the task.
        baseline: the contender that the others are compared with; None, or one that is not there, compares nothing.
        conditions: machine, versions and models.
    """
    by_contender: dict[str, list[ScoredRun]] = {}
    for one in scored:
        by_contender.setdefault(one.contender.name, []).append(one)
    base = by_contender.get(baseline or "")
    return EvaluationTable(
        task=task,
        metric=metric or "perplexity",
        higher_is_better=higher_is_better and metric is not None,
        note=note,
        baseline=baseline if base else None,
        questions=len({one.run.question for one in scored}),
        clusters=len({one.run.cluster for one in scored}),
        seeds=len({one.run.round for one in scored}),
        rows=tuple(_row(own, metric is not None, None if own is base else base) for own in by_contender.values()),
        conditions=conditions or {},
    )


def _row(own: Sequence[ScoredRun], has_metric: bool, base: Sequence[ScoredRun] | None) -> ContenderRow:
    contender, runs = own[0].contender, [one.run for one in own]
    resolved, clusters = resolve(contender.settings), {run.question: run.cluster for run in runs}
    scores, perplexities = _by_question(own, _score), _by_question(own, _perplexity)
    right, perplexity = _right(scores, clusters), _mean_perplexity(perplexities, clusters)
    wide = [run for run in runs if run.mean_width is not None]
    quality, difference, perplexity_difference, ratios = perplexity, None, None, list[list[float]]()
    if has_metric:
        quality = _mean_score(scores, clusters, right)
    if base is not None:
        ratios = speed_ratios(runs, [one.run for one in base])
        perplexity_difference = paired_difference(perplexities, _by_question(base, _perplexity), clusters)
        difference = perplexity_difference
        if has_metric:
            difference = paired_difference(scores, _by_question(base, _score), clusters)
    return ContenderRow(
        contender=contender.name,
        method=contender.method,
        settings=contender.settings,
        one_sequence=1 in (resolved.max_width, resolved.input_beams),
        quality=quality,
        right=right,
        perplexity=perplexity,
        tokens_per_second=_per([(run.layers, run.decode_seconds, run.cluster) for run in runs]),
        joules_per_token=_per([(run.joules, run.layers, run.cluster) for run in runs if run.joules is not None]),
        layers_per_iteration=_ratio(_sum(runs, "layers"), _sum(runs, "iterations")),
        acceptance_rate=_ratio(_sum(runs, "accepted"), _sum(runs, "accepted", "rejected")),
        mean_width=_ratio(sum((run.mean_width or 0.0) * run.layers for run in wide), _sum(wide, "layers")),
        widths=_widths(runs),
        difference=difference,
        perplexity_difference=perplexity_difference,
        speed=median_interval(ratios) if ratios else None,
    )


def _score(one: ScoredRun) -> float | None:
    return one.score


def _perplexity(one: ScoredRun) -> float | None:
    return one.run.perplexity


def _by_question(own: Sequence[ScoredRun], figure: Callable[[ScoredRun], float | None]) -> Scores:
    """Return a figure of each question, one value for every seed."""
    found: dict[str, list[float]] = {}
    for one in own:
        value = figure(one)
        if value is not None:
            found.setdefault(one.run.question, []).append(value)
    return found


def _mean_perplexity(values: Scores, clusters: Mapping[str, str]) -> Mean | None:
    means = [statistics.geometric_mean(own) for own in values.values()]
    return clustered_perplexity(means, [clusters[name] for name in values]) if means else None


def _right(scores: Scores, clusters: Mapping[str, str]) -> Rate | None:
    """Return the share of right answers; None where a score is neither 0 nor 1."""
    if not scores or any(value not in (0, 1) for own in scores.values() for value in own):
        return None
    return clustered_rate([statistics.fmean(own) for own in scores.values()], [clusters[name] for name in scores])


def _mean_score(scores: Scores, clusters: Mapping[str, str], right: Rate | None) -> Mean | None:
    """Return the mean of the metric; a share of right answers has the interval of Wilson."""
    if not scores:
        return None
    mean = clustered_mean([statistics.fmean(own) for own in scores.values()], [clusters[name] for name in scores])
    return mean if right is None else replace(mean, low=right.low, high=right.high)


def _per(parts: Sequence[tuple[float, float, str]]) -> Mean | None:
    """Return sum over sum of (top, bottom, cluster)."""
    tops, bottoms, clusters = zip(*parts, strict=True) if parts else ((), (), ())
    return clustered_ratio(tops, bottoms, clusters)


def _widths(runs: Sequence[Run]) -> dict[int, int] | None:
    total: Counter[int] = Counter()
    for run in runs:
        total.update(run.widths or {})
    return dict(sorted(total.items())) or None


def _sum(runs: Sequence[Run], *names: str) -> int:
    return sum(getattr(run, name) or 0 for run in runs for name in names)


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None
