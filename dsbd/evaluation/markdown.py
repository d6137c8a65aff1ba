"""The report of an evaluation as Markdown: one sequence kept, all beams kept, Pareto fronts, paired differences."""

from collections.abc import Mapping, Sequence

from dsbd.evaluation.fronts import pareto_front
from dsbd.evaluation.statistics import NO_DIFFERENCE, Difference, Mean
from dsbd.evaluation.tables import ContenderRow, EvaluationTable
from dsbd.measure.bench.tables import NONE, cell, median_cell, table

NOT_MEASURED = "not measured"
NOTES = """\
Intervals are at 95 %, over clusters of questions that share a database or a passage: Wilson's for a share of right
answers, Woodruff's for a ratio of speeds, else Student's t; for perplexity on its logarithms, so its mean is the
geometric one. A difference is taken question by question, seeds averaged first; without an interval it is the same on
every question.
Where the interval holds zero, the report says "{no_difference}": that is not "equal". p is
exact and two-sided, over the questions on which the two differ{mcnemar}; it ignores clusters, the interval does not."""


def report_markdown(tables: Mapping[str, EvaluationTable], complete: bool = True, figures: str | None = None) -> str:
    """Return the whole report, a chapter for each task.

    Args:
        tables: by task.
        complete: False where decodes are missing; the report then says so.
        figures: address of the page with the figures, to link to.
    """
    parts = ["# Evaluation"]
    if not complete:
        parts.append("Not complete: some decodes are missing.")
    if figures is not None:
        parts.append(f"[Figures]({figures})")
    return "\n\n".join([*parts, *(chapter(found) for found in tables.values())]) + "\n"


def chapter(found: EvaluationTable) -> str:
    """Return the chapter of one task."""
    rows = [row for row in found.rows if row.quality is not None]
    parts = [f"## {found.task}", asked_line(found)]
    if found.note:
        parts.append(f"Note: {found.note}.")
    for title, kept in (("One sequence kept", True), ("All beams kept", False)):
        mine = [row for row in rows if row.one_sequence is kept]
        if mine:
            parts += [f"### {title}", _figures(found, mine)]
    parts += ["### Pareto fronts", _fronts(found, rows)]
    compared = [row for row in rows if row.difference is not None]
    if compared:
        parts += [f"### Differences to {found.baseline}", _differences(found, compared)]
    paired = found.seeds == 1 and any(row.right is not None for row in rows)
    mcnemar = ", with one seed the test of McNemar" if paired else ""
    return "\n\n".join([*parts, NOTES.format(no_difference=NO_DIFFERENCE, mcnemar=mcnemar)])


def quality_cell(found: EvaluationTable, row: ContenderRow) -> str:
    """Return the quality with its interval."""
    if row.quality is None:
        return NOT_MEASURED
    value = row.quality
    return _percent(value.mean, value.low, value.high) if _is_share(found) else mean_cell(value, 3)


def asked_line(found: EvaluationTable) -> str:
    """Return how much was asked, and which way is better."""
    clusters = f" in {found.clusters} clusters" if found.clusters < found.questions else ""
    seeds = "one seed" if found.seeds == 1 else f"{found.seeds} seeds"
    better = "more" if found.higher_is_better else "less"
    return f"{found.questions} questions{clusters}, {seeds} each. Quality is {found.metric}: {better} is better."


def _figures(found: EvaluationTable, rows: Sequence[ContenderRow]) -> str:
    heads = ["contender", f"{found.metric} [95 %]", "tokens/s [95 %]", "J/token [95 %]", "layers/iteration",
             "mean width", "perplexity [95 %]"]  # fmt: skip
    return table(heads, [
        [
            row.contender,
            quality_cell(found, row),
            mean_cell(row.tokens_per_second, 1),
            mean_cell(row.joules_per_token, 3),
            cell(row.layers_per_iteration),
            cell(row.mean_width),
            mean_cell(row.perplexity, 3),
        ]
        for row in rows
    ])  # fmt: skip


def _fronts(found: EvaluationTable, rows: Sequence[ContenderRow]) -> str:
    parts = [_front(found, rows, "tokens/s", 1)]
    if any(row.joules_per_token is not None for row in rows):
        parts.append(_front(found, rows, "J/token", -1))
    else:
        parts.append("Energy was not measured: there is no front against J/token.")
    return "\n\n".join(parts)


def _front(found: EvaluationTable, rows: Sequence[ContenderRow], cost: str, sign: int) -> str:
    """Return the contenders that no other beats in both quality and cost; ``sign`` 1: more of the cost is better."""
    costs = [row.tokens_per_second if sign > 0 else row.joules_per_token for row in rows]
    points = [
        (row, price, row.quality)
        for row, price in zip(rows, costs, strict=True)
        if price is not None and row.quality is not None
    ]
    better = 1 if found.higher_is_better else -1
    places = pareto_front([(sign * price.mean, better * quality.mean) for _, price, quality in points])
    ahead = [points[place] for place in places]
    return table(
        [f"ahead in {found.metric} against {cost}", cost, found.metric],
        [[row.contender, mean_cell(price, 3), quality_cell(found, row)] for row, price, _ in ahead],
    )


def _differences(found: EvaluationTable, rows: Sequence[ContenderRow]) -> str:
    heads = ["contender", f"{found.metric} [95 %]", "verdict", "better on", "worse on", "p", "perplexity [95 %]",
             "tokens/s ratio [95 %]"]  # fmt: skip
    lines = []
    for row in rows:
        assert row.difference is not None, "only rows with a difference are compared"
        one = row.difference
        ups, downs = (one.above, one.below) if found.higher_is_better else (one.below, one.above)
        speed, perplexity = row.speed, row.perplexity_difference
        lines.append([
            row.contender,
            difference_cell(found, one),
            verdict(found, one),
            str(ups),
            str(downs),
            NONE if one.p is None else f"{one.p:.2g}",
            NOT_MEASURED if perplexity is None else mean_cell(perplexity.of, 3, signed=True),
            NOT_MEASURED if speed is None else median_cell(speed.median, speed.low, speed.high),
        ])  # fmt: skip
    return table(heads, lines)


def verdict(found: EvaluationTable, one: Difference) -> str:
    """Return ``better``, ``worse``, "no difference seen" or "not measured"."""
    if one.verdict not in ("higher", "lower"):
        return one.verdict
    return "better" if (one.verdict == "higher") is found.higher_is_better else "worse"


def difference_cell(found: EvaluationTable, one: Difference) -> str:
    """Return a difference of quality with its interval."""
    if _is_share(found):
        return _percent(one.of.mean, one.of.low, one.of.high, unit="points", signed=True)
    return mean_cell(one.of, 3, signed=True)


def _is_share(found: EvaluationTable) -> bool:
    return found.metric != "perplexity"


def _percent(value: float, low: float | None, high: float | None, unit: str = "%", signed: bool = False) -> str:
    ends = None if low is None or high is None else (100 * low, 100 * high)
    return _interval(100 * value, ends, 1, f" {unit}", signed)


def mean_cell(value: Mean | None, digits: int, signed: bool = False) -> str:
    """Return a mean with its interval, or "not measured"."""
    if value is None:
        return NOT_MEASURED
    ends = None if value.low is None or value.high is None else (value.low, value.high)
    return _interval(value.mean, ends, digits, "", signed)


def _interval(value: float, ends: tuple[float, float] | None, digits: int, unit: str, signed: bool) -> str:
    form = f"{'+' if signed else ''}.{digits}f"
    shown = f"{value:{form}}{unit}"
    return shown if ends is None or ends[0] == ends[1] else f"{shown} [{ends[0]:{form}}, {ends[1]:{form}}]"
