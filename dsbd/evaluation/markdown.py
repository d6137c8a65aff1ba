"""The report of an evaluation as Markdown: one table, and the differences to the baseline."""

from collections.abc import Sequence

from dsbd.evaluation.report import Report
from dsbd.evaluation.statistics import NO_DIFFERENCE, Difference, Mean
from dsbd.evaluation.tables import ContenderRow, EvaluationTable
from dsbd.measure.bench.tables import NONE, cell, median_cell, table

NOT_MEASURED = "not measured"
HEADS = ["task", "contender", "kept", "metric", "value [95 %]", "questions", "tokens/s [95 %]",
         "ratio of tokens/s [95 %]", "J/token [95 %]", "perplexity [95 %]", "layers/iteration", "acceptance",
         "mean width"]  # fmt: skip
NOTES = """\
Intervals are at 95 %, over clusters of questions that share a database or a passage: Wilson's for a share of right
answers, Woodruff's for a ratio of speeds, else Student's t; for perplexity on its logarithms, so its mean is the
geometric one. A difference is taken question by question, seeds averaged first; without an interval it is the same on
every question.
Where the interval holds zero, the report says "{no_difference}": that is not "equal". p is
exact and two-sided, over the questions on which the two differ{mcnemar}; it ignores clusters, the interval does not."""


def summary_table(report: Report) -> str:
    """Return one row for each task and contender, and below what the reader must know."""
    tables = list(report.tables.values())
    notes = [f"{found.task}: {found.note}." for found in tables if found.note]
    notes += [
        f"{found.task}: {found.questions} questions in {found.clusters} clusters; intervals are over clusters."
        for found in tables
        if found.clusters < found.questions
    ]
    bases = {found.baseline for found in tables if found.baseline}
    if bases:
        notes.append(f"Speed ratios are to {', '.join(sorted(bases))} on the same questions and seeds, their median.")
    notes.append("Intervals: Wilson's for a share of right answers, Woodruff's for a speed ratio, else Student's t.")
    if not report.complete:
        notes.append("Not complete: some decodes are missing. The same command with --resume continues.")
    return "\n\n".join([table(HEADS, [_summary(found, row) for found in tables for row in found.rows]), *notes])


def _summary(found: EvaluationTable, row: ContenderRow) -> list[str]:
    speed = "1" if row.contender == found.baseline else NONE
    return [
        found.task,
        row.contender,
        "one sequence" if row.one_sequence else "all beams",
        found.metric,
        NOT_MEASURED if row.quality is None else _of_metric(found, row.quality),
        str(found.questions),
        interval_cell(row.tokens_per_second, 1),
        speed if row.speed is None else median_cell(row.speed.median, row.speed.low, row.speed.high),
        interval_cell(row.joules_per_token, 3),
        interval_cell(row.perplexity, 3),
        cell(row.layers_per_iteration),
        cell(row.acceptance_rate),
        cell(row.mean_width),
    ]


def report_markdown(report: Report, figures: str) -> str:
    """Return the table, and below it the differences of each task; ``figures`` is the address of a page to link to."""
    parts = ["# Evaluation", f"[Figures]({figures})", summary_table(report)]
    for found in report.tables.values():
        compared = [row for row in found.rows if row.difference is not None]
        if compared:
            paired = found.seeds == 1 and any(row.right is not None for row in found.rows)
            mcnemar = ", with one seed the test of McNemar" if paired else ""
            notes = NOTES.format(no_difference=NO_DIFFERENCE, mcnemar=mcnemar)
            parts += [f"## Differences to {found.baseline}: {found.task}", _differences(found, compared), notes]
    return "\n\n".join(parts) + "\n"


def _differences(found: EvaluationTable, rows: Sequence[ContenderRow]) -> str:
    heads = ["contender", f"{found.metric} [95 %]", "verdict", "better on", "worse on", "p", "perplexity [95 %]",
             "ratio of tokens/s [95 %]"]  # fmt: skip
    lines = []
    for row in rows:
        assert row.difference is not None, "only rows with a difference are compared"
        one = row.difference
        ups, downs = (one.above, one.below) if found.higher_is_better else (one.below, one.above)
        speed, perplexity = row.speed, row.perplexity_difference
        lines.append([
            row.contender,
            _of_metric(found, one.of, "points", signed=True),
            verdict(found, one),
            str(ups),
            str(downs),
            NONE if one.p is None else f"{one.p:.2g}",
            NOT_MEASURED if perplexity is None else interval_cell(perplexity.of, 3, signed=True),
            NOT_MEASURED if speed is None else median_cell(speed.median, speed.low, speed.high),
        ])  # fmt: skip
    return table(heads, lines)


def verdict(found: EvaluationTable, one: Difference) -> str:
    """Return ``better``, ``worse``, "no difference seen" or "not measured"."""
    if one.verdict not in ("higher", "lower"):
        return one.verdict
    return "better" if (one.verdict == "higher") is found.higher_is_better else "worse"


def _of_metric(found: EvaluationTable, value: Mean, unit: str = "%", signed: bool = False) -> str:
    """Return a mean of the table's metric: a share in per cent, or a perplexity."""
    if found.metric == "perplexity":
        return interval_cell(value, 3, signed=signed)
    return _interval(100 * value.mean, [end and 100 * end for end in (value.low, value.high)], 1, f" {unit}", signed)


def interval_cell(value: Mean | None, digits: int, signed: bool = False) -> str:
    """Return a mean with its interval, or "not measured"."""
    return NOT_MEASURED if value is None else _interval(value.mean, [value.low, value.high], digits, "", signed)


def _interval(value: float, ends: Sequence[float | None], digits: int, unit: str, signed: bool) -> str:
    form = f"{'+' if signed else ''}.{digits}f"
    shown = f"{value:{form}}{unit}"
    low, high = ends
    return shown if low is None or high is None or low == high else f"{shown} [{low:{form}}, {high:{form}}]"
