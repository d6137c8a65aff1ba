"""The table of a contest, as records and as Markdown: means, intervals, and each contender beside a baseline."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Any

from dsbd.contest.records import Ratio, Row, Run, Table
from dsbd.contest.statistics import (
    FEWEST_FOR_A_MEDIAN,
    Interval,
    Mean,
    clustered_mean,
    clustered_perplexity,
    clustered_rate,
    clustered_ratio,
    median_interval,
    paired_difference,
    sign_test,
)
from dsbd.contest.task import Task

Figure = Callable[[Run], float]
NONE = "–"
_perplexity: Figure = attrgetter("perplexity")
_score: Figure = attrgetter("score")


def make_table(runs: Sequence[Run], task: Task, baseline: str, conditions: Mapping[str, Any] | None = None) -> Table:
    """Return the table of a task's runs, its rows in the order in which contenders come in them.

    Without a metric, perplexity stands for quality. Intervals are over questions, clustered as the task says; of a
    single question, over its seeds. ``baseline`` is a name or method of contenders; where it is not there, nothing is
    compared.
    """
    if len({run.question for run in runs}) == 1:
        runs = [replace(run, question=f"{run.round}", cluster=f"{run.round}", round=0) for run in runs]
    by_name: dict[str, list[Run]] = {}
    for run in runs:
        by_name.setdefault(run.contender, []).append(run)
    bases = [own for own in by_name.values() if baseline in (own[0].contender, own[0].method)]
    has_metric = bool(task.metrics)
    return Table(
        task=task.name,
        metric=task.metrics[0] if has_metric else "perplexity",
        higher_is_better=has_metric,
        baseline=baseline if bases else None,
        questions=len({run.question for run in runs}),
        clusters=len({run.cluster for run in runs}),
        seeds=len({run.round for run in runs}),
        rows=tuple(_row(own, _nearest(own, bases), has_metric) for own in by_name.values()),
        conditions=conditions or {},
    )


def _nearest(own: Sequence[Run], bases: Sequence[Sequence[Run]]) -> Sequence[Run]:
    """Return the runs of the baseline that has most settings in common; none for a baseline and where none is."""
    if not bases or any(own is base for base in bases):
        return ()

    def agreement(base: Sequence[Run]) -> int:
        return sum(own[0].settings.get(name) == value for name, value in base[0].settings.items())

    return max(bases, key=agreement)


def _row(own: Sequence[Run], base: Sequence[Run], has_metric: bool) -> Row:
    """Return the figures of one contender."""
    first, wide = own[0], [run for run in own if run.mean_width is not None]
    clusters = {run.question: run.cluster for run in own}
    units, figure = list(clusters.values()), _score if has_metric else _perplexity
    each = _by(own, "question", _perplexity).values()
    perplexity = clustered_perplexity([statistics.geometric_mean(values) for values in each], units)
    quality = perplexity
    if has_metric:
        means = [statistics.fmean(values) for values in _by(own, "question", _score).values()]
        quality = clustered_mean(means, units)
        if all(run.score in (0, 1) for run in own):
            right = clustered_rate(means, units)
            quality = replace(quality, low=right.low, high=right.high)
    weights = _by(own, "question", attrgetter("best_log_weight_per_token")).values()
    difference = paired_difference(_by(own, "question", figure), _by(base, "question", figure), clusters)
    tried = _sum(own, "accepted") + _sum(own, "rejected")
    return Row(
        contender=first.contender,
        method=first.method,
        settings=first.settings,
        auto_reason=first.auto_reason,
        quality=quality,
        perplexity=perplexity,
        best_log_weight_per_token=clustered_mean([statistics.fmean(values) for values in weights], units),
        tokens_per_second=_per([(run.layers, run.decode_seconds, run.cluster) for run in own]),
        milliseconds_per_token=median_interval(
            _by(own, "cluster", lambda run: 1000 * run.seconds / run.layers).values()
        ),
        prefill_seconds=statistics.median(run.prefill_seconds for run in own),
        joules_per_token=_per([(run.joules, run.layers, run.cluster) for run in own if run.joules is not None]),
        target_calls=statistics.fmean(run.target_calls for run in own),
        layers_per_iteration=_over(_sum(own, "layers"), _sum(own, "iterations")),
        acceptance_rate=_over(_sum(own, "accepted"), tried),
        mean_width=_over(sum((run.mean_width or 0.0) * run.layers for run in wide), _sum(wide, "layers")),
        kv_peak_bytes=_largest(own, "kv_peak_bytes"),
        peak_allocated_bytes=_largest(own, "peak_allocated_bytes"),
        difference=difference,
        ratio=speed_ratio(own, base),
    )


def speed_ratio(own: Sequence[Run], base: Sequence[Run]) -> Ratio | None:
    """Return the median of the speed ratios, its interval and the sign test; None where no two runs match."""
    theirs = {(run.question, run.round): run.tokens_per_second for run in base}
    both = [run for run in own if (run.question, run.round) in theirs]
    if not both:
        return None
    groups = _by(both, "cluster", lambda run: run.tokens_per_second / theirs[run.question, run.round]).values()
    values = [value for group in groups for value in group]
    return Ratio(
        **asdict(median_interval(groups)),
        baseline=base[0].contender,
        above_1=sum(value > 1 for value in values),
        of=len(values),
        p=sign_test([math.fsum(map(math.log, group)) for group in groups]),
    )


def _by(runs: Sequence[Run], name: str, figure: Figure) -> dict[str, list[float]]:
    """Return a figure of each run, by its question or its cluster."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(getattr(run, name), []).append(figure(run))
    return found


def _per(parts: Sequence[tuple[float, float, str]]) -> Mean | None:
    """Return sum over sum of (top, bottom, cluster)."""
    tops, bottoms, clusters = zip(*parts, strict=True) if parts else ((), (), ())
    return clustered_ratio(tops, bottoms, clusters)


def _largest(runs: Sequence[Run], name: str) -> int | None:
    return max((value for run in runs if (value := getattr(run, name)) is not None), default=None)


def _sum(runs: Sequence[Run], name: str) -> int:
    return sum(getattr(run, name) or 0 for run in runs)


def _over(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None


def _cell(found: Interval | Mean | float | None, digits: int = 2, scale: float = 1.0) -> str:
    """Return a figure with its interval where there is one, or a dash."""
    if found is None:
        return NONE
    if isinstance(found, (int, float)):
        return f"{scale * found:.{digits}f}"
    middle = found.mean if isinstance(found, Mean) else found.median
    if found.low is None or found.high is None or found.low == found.high:
        return f"{scale * middle:.{digits}f}"
    return f"{scale * middle:.{digits}f} [{scale * found.low:.{digits}f}, {scale * found.high:.{digits}f}]"


def _difference(table: Table, row: Row) -> str:
    """Return the difference of quality in points or perplexity, on how many questions better and worse, and p."""
    found = row.difference
    if found is None:
        return NONE
    ups, downs = (found.above, found.below) if table.higher_is_better else (found.below, found.above)
    p = "" if found.p is None else f", p {found.p:.2g}"
    value = _cell(found.of, *((1, 100.0) if table.higher_is_better else (3, 1.0)))
    return f"{value}: {found.verdict} ({ups} better, {downs} worse{p})"


def _quality(table: Table, row: Row) -> str:
    return _cell(row.quality, 1, 100) if table.higher_is_better else NONE


COLUMNS: dict[str, Callable[[Table, Row], str]] = {
    "task": lambda table, row: table.task,
    "contender": lambda table, row: row.contender,
    "ms/token [95 %]": lambda table, row: _cell(row.milliseconds_per_token),
    "tokens/s [95 %]": lambda table, row: _cell(row.tokens_per_second, 1),
    "ratio [95 %]": lambda table, row: _cell(row.ratio),
    "faster on": lambda table, row: NONE if row.ratio is None else f"{row.ratio.above_1} of {row.ratio.of}",
    "% right [95 %]": _quality,
    "difference [95 %]": _difference,
    "perplexity [95 %]": lambda table, row: _cell(row.perplexity, 3),
    "best log-weight/token [95 %]": lambda table, row: _cell(row.best_log_weight_per_token, 3),
    "prefill ms": lambda table, row: _cell(row.prefill_seconds, 1, 1e3),
    "layers/iteration": lambda table, row: _cell(row.layers_per_iteration),
    "acceptance": lambda table, row: _cell(row.acceptance_rate),
    "mean width": lambda table, row: _cell(row.mean_width),
    "KV MB": lambda table, row: _cell(row.kv_peak_bytes, 2, 1e-6),
    "peak allocated MB": lambda table, row: _cell(row.peak_allocated_bytes, 2, 1e-6),
    "J/token [95 %]": lambda table, row: _cell(row.joules_per_token, 3),
}


def markdown_of(tables: Sequence[Table]) -> str:
    """Return one table of all tasks, without columns in which nothing was measured, and what a reader must know."""
    cells = [[cell(table, row) for cell in COLUMNS.values()] for table in tables for row in table.rows]
    if not cells:
        return "nothing measured yet"
    shown = [place for place in range(len(COLUMNS)) if any(row[place] != NONE for row in cells)]
    notes = [
        f"{one.task}: {one.questions} questions in {one.clusters} clusters, {one.seeds} seeds; beside {one.baseline}."
        for one in tables
    ]
    notes += [f"{row.contender}: {row.auto_reason}" for one in tables for row in one.rows if row.auto_reason]
    notes.append(
        f"Intervals are over questions or their clusters; a median has none from fewer than {FEWEST_FOR_A_MEDIAN}. The "
        "ratio is the median of tokens per second over the baseline's on the same question and seed. Where an interval "
        'of a difference holds zero no difference is seen, which is not "equal".'
    )
    heads = list(COLUMNS)
    return "\n\n".join(
        [markdown_table([heads[at] for at in shown], [[row[at] for at in shown] for row in cells]), *notes]
    )


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )
