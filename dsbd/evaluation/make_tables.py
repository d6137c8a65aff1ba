"""Scores the decodes of a contest, and makes its tables: means, intervals, differences and ratios to baselines."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import Any

from dsbd.evaluation.exam import Exam
from dsbd.evaluation.statistics import (
    Mean,
    Scores,
    clustered_mean,
    clustered_perplexity,
    clustered_rate,
    clustered_ratio,
    median_interval,
    paired_difference,
    sign_test,
)
from dsbd.evaluation.tables import FEWEST_PROMPTS, ContenderRow, ContestTable, SpeedRatio
from dsbd.measure.bench.contenders import BASELINE, Contender
from dsbd.measure.bench.contest import limited
from dsbd.measure.bench.grids import GRID_BASELINE
from dsbd.measure.bench.records import Run
from dsbd.methods import resolve
from dsbd.tasks.task import Question, Task

Figure = Callable[["ScoredRun"], float]


@dataclass(frozen=True)
class ScoredRun:
    """One decode of one question, and its score."""

    contender: Contender
    """With nothing ``auto``."""
    run: Run
    score: float | None = None
    """The task's main metric; None where there is no right answer."""
    answer: str = ""
    """The part of the text that is scored; empty if there is no task."""
    reason: str = ""
    """Why it is wrong, where that is known; untrusted."""


def score_run(contender: Contender, run: Run, task: Task, question: Question) -> ScoredRun:
    """Score one decode; the answer is taken from the text before the first of the task's ``until``."""
    answer = task.answer(run.text)
    score = task.score(question, answer)
    main = None if task.main_metric is None else float(score.metrics[task.main_metric])
    return ScoredRun(contender, run, main, answer, score.reason)


def score_all(exam: Exam, runs: Iterable[Run]) -> dict[str, list[ScoredRun]]:
    """Score the decodes of an exam, by task; the same text for the same question is scored once."""
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
) -> dict[str, ContestTable]:
    """Return the table of each task that has an answer; the contenders stand in the order of the exam."""
    order = [one.name for one in exam.contenders]
    return {
        run.name: make_table(
            sorted(scored[run.name], key=lambda one: order.index(one.contender.name)),
            task=run.name,
            metric=run.task.main_metric,
            higher_is_better=run.task.metrics.get(run.task.main_metric or "", False),
            note=run.task.note,
            baselines=baselines_of(exam.contenders),
            conditions=conditions,
        )
        for run in exam.runs
        if run.name in scored
    }


def baselines_of(contenders: Iterable[Contender]) -> tuple[str, str]:
    """Return what all are compared with: beam sampling, of a grid its own point, and then that of transformers."""
    return (GRID_BASELINE if GRID_BASELINE in {one.name for one in contenders} else BASELINE, "hf_beam_sampling")


def make_table(
    scored: Sequence[ScoredRun],
    *,
    task: str,
    metric: str | None,
    higher_is_better: bool = True,
    note: str = "",
    baselines: Sequence[str] = (),
    conditions: Mapping[str, Any] | None = None,
) -> ContestTable:
    """Return the table of a task, its rows in the order of ``scored``.

    Without a metric it takes perplexity. ``baselines`` are names or methods of contenders; one that is not there
    compares nothing.
    """
    by_name: dict[str, list[ScoredRun]] = {}
    for one in scored:
        by_name.setdefault(one.contender.name, []).append(one)
    measured = [own[0].contender for own in by_name.values()]
    known = tuple(name for name in baselines if any(name in (one.name, one.method) for one in measured))
    score = _perplexity if metric is None else _score
    rows = []
    for own in by_name.values():
        contender = own[0].contender
        others = {name: by_name[counterpart(contender, name, measured).name] for name in known}
        row = _row(contender, own, metric is not None)
        ratios = {name: speed_ratio(own, base) for name, base in others.items() if base is not own}
        row = replace(row, ratios={name: ratio for name, ratio in ratios.items() if ratio is not None})
        rows.append(_compared(row, own, others[known[0]], score) if known and known[0] in row.ratios else row)
    return ContestTable(
        task=task,
        metric=metric or "perplexity",
        higher_is_better=higher_is_better and metric is not None,
        note=note,
        baselines=known,
        questions=len({one.run.question for one in scored}),
        clusters=len({one.run.cluster for one in scored}),
        seeds=len({one.run.round for one in scored}),
        rows=tuple(rows),
        conditions=conditions or {},
    )


def counterpart(contender: Contender, wanted: str, measured: Sequence[Contender]) -> Contender:
    """Return the baseline to compare with: the one of this name, else of this method with most settings in common."""
    own = asdict(contender.settings) | {"num_beams": contender.settings.max_width or contender.settings.num_beams}

    def agreement(other: Contender) -> int:
        return sum(own[name] == value for name, value in asdict(other.settings).items() if name in other.reads)

    named = [other for other in measured if other.name == wanted]
    return named[0] if named else max((other for other in measured if other.method == wanted), key=agreement)


def _row(contender: Contender, own: Sequence[ScoredRun], has_metric: bool) -> ContenderRow:
    """Return the figures of one contender, without those that compare it with others."""
    runs = [one.run for one in own]
    resolved, clusters = resolve(contender.settings), _clusters(own)
    units, wide = list(clusters.values()), [run for run in runs if run.mean_width is not None]
    perplexity = clustered_perplexity(
        [statistics.geometric_mean(one) for one in _by_question(own, _perplexity).values()], units
    )
    quality, right = perplexity, None
    if has_metric:
        means = [statistics.fmean(one) for one in _by_question(own, _score).values()]
        quality = clustered_mean(means, units)
        if all(one.score in (0, 1) for one in own):
            right = clustered_rate(means, units)
            quality = replace(quality, low=right.low, high=right.high)
    weights = [statistics.fmean(one) for one in _by_question(own, _log_weight).values()]
    return ContenderRow(
        contender=contender.name,
        method=contender.method,
        settings=contender.settings,
        auto_reason=contender.auto_reason,
        one_sequence=1 in (resolved.max_width, resolved.input_beams),
        quality=quality,
        right=right,
        perplexity=perplexity,
        best_log_weight_per_token=clustered_mean(weights, units),
        tokens_per_second=_per([(run.layers, run.decode_seconds, run.cluster) for run in runs]),
        milliseconds_per_token=median_interval(_by_cluster(own, lambda one: one.run.milliseconds_per_token)),
        prefill_seconds=statistics.median(run.prefill_seconds for run in runs),
        joules_per_token=_per([(run.joules, run.layers, run.cluster) for run in runs if run.joules is not None]),
        target_calls=statistics.fmean(run.target_calls for run in runs),
        layers_per_iteration=_ratio(_sum(runs, "layers"), _sum(runs, "iterations")),
        acceptance_rate=_ratio(_sum(runs, "accepted"), _sum(runs, "accepted", "rejected")),
        mean_width=_ratio(sum((run.mean_width or 0.0) * run.layers for run in wide), _sum(wide, "layers")),
        widths=_widths(runs),
        kv_peak_bytes=_largest(runs, "kv_peak_bytes"),
        peak_allocated_bytes=_largest(runs, "peak_allocated_bytes"),
    )


def _compared(row: ContenderRow, own: Sequence[ScoredRun], base: Sequence[ScoredRun], score: Figure) -> ContenderRow:
    """Add the differences of quality to the baseline's."""
    clusters = _clusters(own)
    difference, perplexity, weight = (
        paired_difference(_by_question(own, figure), _by_question(base, figure), clusters)
        for figure in (score, _perplexity, _log_weight)
    )
    equal = None
    if score is _perplexity and perplexity and weight and perplexity.of.clusters >= FEWEST_PROMPTS:
        equal = (perplexity.of.low or 0.0) <= 0 <= (weight.of.high or 0.0)
    return replace(row, difference=difference, perplexity_difference=perplexity, equal_quality=equal)


def speed_ratio(own: Sequence[ScoredRun], base: Sequence[ScoredRun]) -> SpeedRatio | None:
    """Return the median of the speed ratios, its interval and the sign test; None where no two runs match."""
    groups = speed_ratios(own, base)
    values = [value for group in groups for value in group]
    if not values:
        return None
    return SpeedRatio(
        **asdict(median_interval(groups)),
        baseline=base[0].contender.name,
        above_1=sum(value > 1 for value in values),
        of=len(values),
        sign_test_p=sign_test([math.fsum(map(math.log, group)) for group in groups]),
    )


def speed_ratios(own: Sequence[ScoredRun], base: Sequence[ScoredRun]) -> list[list[float]]:
    """Return tokens per second over those of another contender on the same prompt and seed, by cluster."""
    theirs = {other.run.key[1:]: other.run.tokens_per_second for other in base}
    both = [one for one in own if one.run.key[1:] in theirs]
    return _by_cluster(both, lambda one: one.run.tokens_per_second / theirs[one.run.key[1:]])


_perplexity: Figure = attrgetter("run.perplexity")
_log_weight: Figure = attrgetter("run.best_log_weight_per_token")


def _score(one: ScoredRun) -> float:
    assert one.score is not None, "a task with a metric scores every answer"
    return one.score


def _clusters(own: Sequence[ScoredRun]) -> dict[str, str]:
    return {one.run.question: one.run.cluster for one in own}


def _by_question(own: Sequence[ScoredRun], figure: Figure) -> Scores:
    """Return a figure of each question, one value for every seed."""
    found: dict[str, list[float]] = {}
    for one in own:
        found.setdefault(one.run.question, []).append(figure(one))
    return found


def _by_cluster(own: Sequence[ScoredRun], figure: Figure) -> list[list[float]]:
    """Return a figure of each run, by cluster: a plain prompt, or questions that are not independent."""
    found: dict[str, list[float]] = {}
    for one in own:
        found.setdefault(one.run.cluster, []).append(figure(one))
    return list(found.values())


def _per(parts: Sequence[tuple[float, float, str]]) -> Mean | None:
    """Return sum over sum of (top, bottom, cluster)."""
    tops, bottoms, clusters = zip(*parts, strict=True) if parts else ((), (), ())
    return clustered_ratio(tops, bottoms, clusters)


def _widths(runs: Sequence[Run]) -> dict[int, int] | None:
    total: Counter[int] = Counter()
    for run in runs:
        total.update(run.widths or {})
    return dict(sorted(total.items())) or None


def _largest(runs: Sequence[Run], name: str) -> int | None:
    return max((value for run in runs if (value := getattr(run, name)) is not None), default=None)


def _sum(runs: Sequence[Run], *names: str) -> int:
    return sum(getattr(run, name) or 0 for run in runs for name in names)


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None
