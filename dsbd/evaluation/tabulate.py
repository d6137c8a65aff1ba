"""Makes the table of a task from its answers: means, intervals, and the comparison with the baseline."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dsbd.evaluation.statistics import (
    Difference,
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
from dsbd.measure.intervals import Interval, median_interval
from dsbd.methods import resolve
from dsbd.settings import DecodingSettings

Figure = Literal["score", "perplexity"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One decode of one question, scored."""

    contender: str
    method: str
    settings: DecodingSettings
    """For ``transformers`` those of the method of ours that it corresponds to; nothing is ``auto``."""
    question: str
    cluster: str
    seed: int
    score: float | None
    """The task's main metric; None where a task has no right answers."""
    perplexity: float | None
    layers: int
    """Tokens the beams were decoded to."""
    seconds: float
    """Of decoding, prefill left out."""
    joules: float | None = None
    """All devices together; None where not measured."""
    iterations: int | None = None
    mean_width: float | None = None
    accepted: int | None = None
    rejected: int | None = None
    widths: Mapping[int, int] | None = None
    """How many layers yielded how many beams."""


def make_table(
    answers: Sequence[Answer],
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
        answers: of every contender, in the order in which the rows shall stand.
        task: its name.
        metric: the name of its main metric; None takes perplexity, of which less is better.
        higher_is_better: of the metric.
        note: what must stand beside any figure of the task.
        baseline: the contender that the others are compared with; None, or one that is not there, compares nothing.
        conditions: machine, versions and models.
    """
    by_contender: dict[str, list[Answer]] = {}
    for answer in answers:
        by_contender.setdefault(answer.contender, []).append(answer)
    base = by_contender.get(baseline or "")
    figure: Figure = "perplexity" if metric is None else "score"
    return EvaluationTable(
        task=task,
        metric=metric or "perplexity",
        higher_is_better=higher_is_better and metric is not None,
        note=note,
        baseline=baseline if base else None,
        questions=len({answer.question for answer in answers}),
        clusters=len({answer.cluster for answer in answers}),
        seeds=len({answer.seed for answer in answers}),
        rows=tuple(_row(own, figure, None if own is base else base) for own in by_contender.values()),
        conditions=conditions or {},
    )


def _row(answers: Sequence[Answer], figure: Figure, base: Sequence[Answer] | None) -> ContenderRow:
    first, right = answers[0], _right(answers)
    resolved = resolve(first.settings)
    layers = sum(answer.layers for answer in answers)
    return ContenderRow(
        contender=first.contender,
        method=first.method,
        settings=first.settings,
        one_sequence=1 in (resolved.max_width, resolved.input_beams),
        quality=_quality(answers, figure, right),
        right=right,
        perplexity=_mean(answers, "perplexity"),
        tokens_per_second=_tokens_per_second(answers),
        joules_per_token=_joules_per_token([answer for answer in answers if answer.joules is not None]),
        layers_per_iteration=_ratio(layers, _sum(answers, "iterations")),
        acceptance_rate=_ratio(_sum(answers, "accepted"), _sum(answers, "accepted", "rejected")),
        mean_width=_mean_width([answer for answer in answers if answer.mean_width is not None]),
        widths=_widths(answers),
        difference=None if base is None else _difference(answers, base, figure),
        perplexity_difference=None if base is None else _difference(answers, base, "perplexity"),
        speed=None if base is None else _speed(answers, base),
    )


def _scores(answers: Sequence[Answer], figure: Figure) -> Scores:
    """Return a figure of each question, one value for every seed."""
    found: dict[str, list[float]] = {}
    for answer in answers:
        value = getattr(answer, figure)
        if value is not None:
            found.setdefault(answer.question, []).append(value)
    return found


def _clusters(answers: Sequence[Answer]) -> dict[str, str]:
    return {answer.question: answer.cluster for answer in answers}


def _mean(answers: Sequence[Answer], figure: Figure) -> Mean | None:
    """Return the mean over the questions, for perplexity the geometric one; the seeds of a question come first."""
    scores, clusters = _scores(answers, figure), _clusters(answers)
    if not scores:
        return None
    names = [clusters[name] for name in scores]
    if figure == "perplexity":
        return clustered_perplexity([statistics.geometric_mean(own) for own in scores.values()], names)
    return clustered_mean([statistics.fmean(own) for own in scores.values()], names)


def _right(answers: Sequence[Answer]) -> Rate | None:
    scores, clusters = _scores(answers, "score"), _clusters(answers)
    if not scores or any(value not in (0, 1) for own in scores.values() for value in own):
        return None
    return clustered_rate([statistics.fmean(own) for own in scores.values()], [clusters[name] for name in scores])


def _quality(answers: Sequence[Answer], figure: Figure, right: Rate | None) -> Mean | None:
    """Return the mean of the metric; a share of right answers has the interval of Wilson."""
    mean = _mean(answers, figure)
    if mean is None or right is None or figure != "score":
        return mean
    return replace(mean, low=right.low, high=right.high)


def _tokens_per_second(answers: Sequence[Answer]) -> Mean | None:
    clusters = [answer.cluster for answer in answers]
    return clustered_ratio([answer.layers for answer in answers], [answer.seconds for answer in answers], clusters)


def _joules_per_token(answers: Sequence[Answer]) -> Mean | None:
    clusters = [answer.cluster for answer in answers]
    return clustered_ratio(
        [answer.joules or 0.0 for answer in answers], [answer.layers for answer in answers], clusters
    )


def _mean_width(answers: Sequence[Answer]) -> float | None:
    return _ratio(sum((answer.mean_width or 0.0) * answer.layers for answer in answers), _sum(answers, "layers"))


def _widths(answers: Sequence[Answer]) -> dict[int, int] | None:
    total: Counter[int] = Counter()
    for answer in answers:
        total.update(answer.widths or {})
    return dict(sorted(total.items())) or None


def _difference(answers: Sequence[Answer], base: Sequence[Answer], figure: Figure) -> Difference | None:
    return paired_difference(_scores(answers, figure), _scores(base, figure), _clusters(answers))


def _speed(answers: Sequence[Answer], base: Sequence[Answer]) -> Interval | None:
    """Return tokens per second over the baseline's on the same question and seed; the interval is over clusters."""
    theirs = {(answer.question, answer.seed): answer for answer in base}
    groups: dict[str, list[float]] = {}
    for answer in answers:
        other = theirs.get((answer.question, answer.seed))
        if other is not None and answer.seconds and other.layers:
            ratio = (answer.layers / answer.seconds) * (other.seconds / other.layers)
            groups.setdefault(answer.cluster, []).append(ratio)
    return median_interval(list(groups.values())) if groups else None


def _sum(answers: Sequence[Answer], *names: str) -> int:
    return sum(getattr(answer, name) or 0 for answer in answers for name in names)


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None
