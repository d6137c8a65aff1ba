"""Statistics of decodes and their scores, and the table of a benchmark, as records and as Markdown. Needs no torch.

Questions about one database or one passage are a *cluster*: they are not independent. So every standard error sums the
deviations within a cluster first. Repeated decodes of a question (seeds) are averaged before anything else: they tell
nothing about other questions. Intervals are at 95 %.

*Source:* Wilson (1927); Miller, arXiv 2411.00640, for clusters and pairs; Woodruff, Journal of the American Statistical
Association 47 (1952), for the median.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Any, NamedTuple

from dsbd.bench.records import Difference, Interval, Mean, Ratio, Row, Run, Table
from dsbd.bench.task import Task

Figure = Callable[[Run], float]
NONE = "–"
_perplexity: Figure = attrgetter("perplexity")
_score: Figure = attrgetter("score")
NORMAL_95 = 1.959963984540054
FEWEST_FOR_A_MEDIAN = 6
"""All of five prompts lie on one side of the true median in 6 % of all cases, of six in 3 %."""


def clustered_rate(values: Sequence[float], clusters: Sequence[Hashable]) -> Mean:
    """Return the mean of right answers, 1 each or a mean over seeds, with Wilson's interval for clustered questions.

    Near 0 and 1 its coverage wavers, as that of every Wilson interval: 92 % at a share of 0.95 over 20 clusters.
    Correlated questions count as fewer independent ones: as many as have the standard error of :func:`clustered_mean`,
    and Student's t takes the place of the normal quantile. Where all are right, or all wrong, there is no such error to
    read, and each cluster counts as one question. With a cluster for each question this is Wilson's own interval.

    *Source:* Franco, Little, Louis and Slud, Journal of Survey Statistics and Methodology 7 (2019).
    """
    mean, count = clustered_mean(values, clusters), len(values)
    if mean.clusters == count:
        return _wilson(mean, count, NORMAL_95)
    if mean.standard_error is None:
        return mean
    spread, error = mean.mean * (1 - mean.mean), mean.standard_error
    size = float(mean.clusters) if spread == 0 else count if error == 0 else min(spread / error**2, count)
    return _wilson(mean, size, student_95(mean.clusters - 1))


def _wilson(rate: Mean, size: float, quantile: float) -> Mean:
    share, square = rate.mean, quantile**2 / size
    middle = share + square / 2
    half = math.sqrt(square * (share * (1 - share) + square / 4))
    low, high = ((middle + side * half) / (1 + square) for side in (-1, 1))
    return replace(rate, low=max(min(low, share), 0.0), high=min(max(high, share), 1.0))


def clustered_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> Mean:
    """Return the mean of the values, its standard error over clusters, and its interval.

    The squared error is G / (G - 1) times the sum of (sum of the deviations in a cluster)², over n²; the interval takes
    Student's t with G - 1 degrees of freedom. With a cluster for each value this is the usual s / √n.
    """
    mean = statistics.fmean(values)
    groups: defaultdict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        groups[cluster] += value - mean
    count = len(groups)
    if count < 2:
        return Mean(mean, None, None, None, len(values), count)
    squares = math.fsum(total**2 for total in groups.values())
    error = math.sqrt(squares * count / (count - 1)) / len(values)
    half = student_95(count - 1) * error
    return Mean(mean, error, mean - half, mean + half, len(values), count)


def clustered_perplexity(values: Sequence[float], clusters: Sequence[Hashable]) -> Mean:
    """Return the geometric mean of perplexities; its interval is that of their logarithms, and never below 1.

    Few perplexities spread widely upwards and are at least 1: an interval around their arithmetic mean would reach
    values that no text has.
    """
    return _of_logs([math.log(value) for value in values], clusters, least=1.0)


def clustered_ratio(tops: Sequence[float], bottoms: Sequence[float], clusters: Sequence[Hashable]) -> Mean | None:
    """Return sum over sum, such as tokens per second; None where a sum is 0.

    The interval is that of its linearised logarithm, so it holds no rate below 0, however few clusters there are.
    """
    total, ratio = math.fsum(bottoms), math.fsum(tops) / (math.fsum(bottoms) or math.inf)
    if not ratio:
        return None
    scale = len(bottoms) / total
    logs = [math.log(ratio) + scale * (top / ratio - bottom) for top, bottom in zip(tops, bottoms, strict=True)]
    return _of_logs(logs, clusters)


def _of_logs(values: Sequence[float], clusters: Sequence[Hashable], least: float = 0.0) -> Mean:
    """Return the mean of logarithms and its interval, both raised again; the error is theirs times the mean."""
    logs = clustered_mean(values, clusters)
    mean = math.exp(logs.mean)
    if logs.standard_error is None or logs.low is None or logs.high is None:
        return replace(logs, mean=mean)
    low, high = (math.exp(min(end, 700.0)) for end in (logs.low, logs.high))
    return replace(logs, mean=mean, standard_error=mean * logs.standard_error, low=max(low, least), high=high)


def paired_difference(
    ours: Mapping[str, float], theirs: Mapping[str, float], clusters: Mapping[str, Hashable]
) -> Difference | None:
    """Return ours minus theirs over the questions that both answered; None where there is none."""
    differences = {question: ours[question] - theirs[question] for question in ours if question in theirs}
    if not differences:
        return None
    return Difference(
        clustered_mean([*differences.values()], [clusters[question] for question in differences]),
        above=sum(value > 0 for value in differences.values()),
        below=sum(value < 0 for value in differences.values()),
    )


def median_interval(groups: Collection[Sequence[float]]) -> Interval:
    """Return the median of all values; its interval goes from one of the values to another, and assumes no shape.

    How many values are below the true median has an error over the groups, never less than that of independent values.
    The interval reaches that error times Student's t to either side of the middle, counted in values.

    Args:
        groups: values by prompt (or by cluster of questions), at least one, each with at least one value.
    """
    values = sorted(value for group in groups for value in group)
    middle, count = statistics.median(values), len(groups)
    if count < FEWEST_FOR_A_MEDIAN:
        return Interval(middle, None, None)
    sides = [sum((value > middle) - (value < middle) for value in group) / 2 for group in groups]
    squares = math.fsum(side**2 for side in sides) * count / (count - 1)
    reach = student_95(count - 1) * math.sqrt(max(squares, len(values) / 4))
    index = max(math.floor(len(values) / 2 - reach), 0)
    return Interval(middle, values[index], values[-1 - index])


def student_95(degrees: int) -> float:
    """Return the 97.5 % quantile of Student's t, by halving on the closed form of its distribution."""
    low, high = 1.0, 16.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _student_inside(middle, degrees) < 0.95 else (low, middle)
    return high


def _student_inside(bound: float, degrees: int) -> float:
    """Return the probability that t lies within ±bound: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan(bound / math.sqrt(degrees))
    odd = degrees % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0 if degrees == 1 else term
    for step in range(3 if odd else 2, degrees - 1, 2):
        term *= math.cos(angle) ** 2 * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total


class TaskName(NamedTuple):
    """What a table says of a task."""

    name: str
    main_metric: str


def make_table(
    runs: Sequence[Run], task: Task | TaskName, baseline: str, conditions: Mapping[str, Any] | None = None
) -> Table:
    """Return the table of a task's runs, its rows in the order in which systems come in them.

    Without a metric, perplexity stands for quality. Intervals are over questions, clustered as the task says; of a
    single question, over its seeds. ``baseline`` is the name or method of a system; without it nothing is compared.
    """
    if len({run.question for run in runs}) == 1:
        runs = [replace(run, question=f"{run.round}", cluster=f"{run.round}", round=0) for run in runs]
    by_name = _grouped(runs, "system")
    base = next((own for own in by_name.values() if baseline in (own[0].system, own[0].method)), [])
    return Table(
        task=task.name,
        metric=task.main_metric or "perplexity",
        higher_is_better=bool(task.main_metric),
        baseline=baseline if base else None,
        questions=len({run.question for run in runs}),
        clusters=len({run.cluster for run in runs}),
        seeds=len({run.round for run in runs}),
        rows=tuple(_row(own, [] if own is base else base, bool(task.main_metric)) for own in by_name.values()),
        conditions=conditions or {},
    )


def _row(own: Sequence[Run], base: Sequence[Run], has_metric: bool) -> Row:
    """Return the figures of one system."""
    first, clusters = own[0], {run.question: run.cluster for run in own}
    units, figure = list(clusters.values()), _score if has_metric else _perplexity
    perplexity = clustered_perplexity([*_means(own, _perplexity, statistics.geometric_mean).values()], units)
    paces = [[1000 * run.seconds / run.layers for run in cluster] for cluster in _grouped(own, "cluster").values()]
    wide = [run for run in own if run.mean_width is not None]
    return Row(
        system=first.system,
        method=first.method,
        settings=first.settings,
        auto_reason=first.auto_reason,
        quality=clustered_rate([*_means(own, _score).values()], units) if has_metric else perplexity,
        perplexity=perplexity,
        tokens_per_second=clustered_ratio(
            [run.layers for run in own], [run.decode_seconds for run in own], [run.cluster for run in own]
        ),
        milliseconds_per_token=median_interval(paces),
        prefill_seconds=statistics.median(run.prefill_seconds for run in own),
        target_calls=statistics.fmean(run.target_calls for run in own),
        layers_per_iteration=_over(_sum(own, "layers"), _sum(own, "iterations")),
        acceptance_rate=_over(_sum(own, "accepted"), _sum(own, "accepted") + _sum(own, "rejected")),
        mean_width=_over(sum((run.mean_width or 0.0) * run.layers for run in wide), _sum(wide, "layers")),
        kv_peak_bytes=max((run.kv_peak_bytes for run in own if run.kv_peak_bytes is not None), default=None),
        difference=paired_difference(_means(own, figure), _means(base, figure), clusters),
        ratio=speed_ratio(own, base),
    )


def speed_ratio(own: Sequence[Run], base: Sequence[Run]) -> Ratio | None:
    """Return the median of the speed ratios and its interval; None where no two runs match."""
    speeds = {(run.question, run.round): run.tokens_per_second for run in base}
    paired = _grouped([run for run in own if (run.question, run.round) in speeds], "cluster").values()
    ratios = [[run.tokens_per_second / speeds[run.question, run.round] for run in cluster] for cluster in paired]
    if not ratios:
        return None
    above, count = sum(ratio > 1 for cluster in ratios for ratio in cluster), sum(map(len, ratios))
    return Ratio(**asdict(median_interval(ratios)), baseline=base[0].system, above_1=above, of=count)


def _grouped(runs: Sequence[Run], field: str) -> dict[str, list[Run]]:
    """Return the runs by system, question or cluster."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(getattr(run, field), []).append(run)
    return groups


def _means(
    runs: Sequence[Run], figure: Figure, mean: Callable[[list[float]], float] = statistics.fmean
) -> dict[str, float]:
    """Return the mean of a figure over the seeds of each question."""
    return {question: mean([*map(figure, own)]) for question, own in _grouped(runs, "question").items()}


def _sum(runs: Sequence[Run], name: str) -> int:
    return sum(getattr(run, name) or 0 for run in runs)


def _over(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None


def _cell(figure: Interval | Mean | float | None, digits: int = 2, scale: float = 1.0) -> str:
    """Return a figure with its interval where there is one, or a dash."""
    if figure is None:
        return NONE
    if isinstance(figure, (int, float)):
        return f"{scale * figure:.{digits}f}"
    middle = f"{scale * (figure.mean if isinstance(figure, Mean) else figure.median):.{digits}f}"
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return middle
    return f"{middle} [{scale * figure.low:.{digits}f}, {scale * figure.high:.{digits}f}]"


def _difference(table: Table, row: Row) -> str:
    """Return the difference of quality in points or perplexity, and on how many questions better and worse."""
    difference = row.difference
    if difference is None:
        return NONE
    better, worse = difference.above, difference.below
    digits, scale = (1, 100.0) if table.higher_is_better else (3, 1.0)
    if not table.higher_is_better:
        better, worse = worse, better
    return f"{_cell(difference.of, digits, scale)}: {difference.verdict} ({better} better, {worse} worse)"


COLUMNS: dict[str, Callable[[Table, Row], str]] = {
    "task": lambda table, row: table.task,
    "system": lambda table, row: row.system,
    "ms/token [95 %]": lambda table, row: _cell(row.milliseconds_per_token),
    "tokens/s [95 %]": lambda table, row: _cell(row.tokens_per_second, 1),
    "ratio [95 %]": lambda table, row: _cell(row.ratio),
    "faster on": lambda table, row: NONE if row.ratio is None else f"{row.ratio.above_1} of {row.ratio.of}",
    "% right [95 %]": lambda table, row: _cell(row.quality, 1, 100) if table.higher_is_better else NONE,
    "difference [95 %]": _difference,
    "perplexity [95 %]": lambda table, row: _cell(row.perplexity, 3),
    "prefill ms": lambda table, row: _cell(row.prefill_seconds, 1, 1e3),
    "layers/iteration": lambda table, row: _cell(row.layers_per_iteration),
    "acceptance": lambda table, row: _cell(row.acceptance_rate),
    "mean width": lambda table, row: _cell(row.mean_width),
    "KV MB": lambda table, row: _cell(row.kv_peak_bytes, 2, 1e-6),
}


def markdown_of(tables: Sequence[Table]) -> str:
    """Return one table of all tasks, without columns in which nothing was measured, and notes on how to read it."""
    cells = [[cell(table, row) for cell in COLUMNS.values()] for table in tables for row in table.rows]
    if not cells:
        return "nothing measured yet"
    shown = [index for index in range(len(COLUMNS)) if any(row[index] != NONE for row in cells)]
    notes = [
        f"{one.task}: {one.questions} questions in {one.clusters} clusters, {one.seeds} seeds; beside {one.baseline}."
        for one in tables
    ]
    notes += [f"{row.system}: {row.auto_reason}" for one in tables for row in one.rows if row.auto_reason]
    notes.append(
        f"Intervals are over questions or their clusters; a median has none from fewer than {FEWEST_FOR_A_MEDIAN}. The "
        "ratio is the median of tokens per second over the baseline's on the same question and seed. Where an interval "
        'of a difference holds zero no difference is seen, which is not "equal".'
    )
    rows = [[row[index] for index in shown] for row in (list(COLUMNS), *cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n\n".join(["\n".join(f"| {line} |" for line in lines), *notes])
