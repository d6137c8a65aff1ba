"""The report of an evaluation as one Markdown table for a terminal."""

from dsbd.evaluation.markdown import NOT_MEASURED, quality_cell
from dsbd.evaluation.report import Report
from dsbd.evaluation.tables import ContenderRow, EvaluationTable
from dsbd.measure.bench.tables import cell, median_cell, table

HEADS = ["task", "contender", "metric", "value [95 %]", "questions", "tokens/s", "speed ratio [95 %]", "J/token",
         "layers/iteration", "acceptance", "mean width"]  # fmt: skip


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
        notes.append("Not complete: some decodes are missing. The same command goes on.")
    return "\n\n".join([table(HEADS, [_row(found, row) for found in tables for row in found.rows]), *notes])


def _row(found: EvaluationTable, row: ContenderRow) -> list[str]:
    return [
        found.task,
        row.contender,
        found.metric,
        quality_cell(found, row),
        str(found.questions),
        cell(row.tokens_per_second.mean if row.tokens_per_second else None, 1),
        _speed(found, row),
        cell(row.joules_per_token.mean, 3) if row.joules_per_token else NOT_MEASURED,
        cell(row.layers_per_iteration),
        cell(row.acceptance_rate),
        cell(row.mean_width),
    ]


def _speed(found: EvaluationTable, row: ContenderRow) -> str:
    if row.speed is None:
        return "1" if row.contender == found.baseline else cell(None)
    return median_cell(row.speed.median, row.speed.low, row.speed.high)
