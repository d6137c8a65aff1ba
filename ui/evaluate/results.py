"""What an evaluation found, for the page: the table, the charts and the file to take away."""

import io
import zipfile
from dataclasses import replace
from html import escape
from pathlib import Path

import plotly.graph_objects as go

from dsbd.errors import SettingsError
from dsbd.evaluation.markdown import difference_cell, mean_cell, quality_cell, report_markdown, verdict
from dsbd.evaluation.report import Report, score_folder
from dsbd.evaluation.statistics import NO_DIFFERENCE
from dsbd.evaluation.tables import ContenderRow, EvaluationTable
from dsbd.files import write_file
from dsbd.measure.bench.tables import median_cell
from dsbd.tasks.registry import load_task
from visualize import pareto_figure
from visualize.look.states import Theme

from ..asked.evaluation import POINT_LABELS, Asked
from ..asked.form import METHOD_LABELS
from ..decodes import messages

METRICS = {
    "execution_accuracy": "the share of queries that give the right rows on six databases",
    "exact_match": "the share of answers that are one of the right answers",
    "perplexity": "perplexity: how surprising the large model finds the text that was written",
}
"""What quality is."""
AXES = {
    "execution_accuracy": "share of right queries",
    "exact_match": "share of right answers",
    "perplexity": "perplexity",
}
HEADS = ("Method", "Quality [95 %]", "Against {baseline}", "Tokens/s [95 %]", "× as fast [95 %]", "Tokens a pass")
KEPT = ("evaluation.json", "predictions.jsonl", "*/results_*.json", "*/samples_*.jsonl")
REPORT = "report.md"


def scored(folder: Path, asked: Asked) -> Report:
    """Score what a folder has so far, and write results, samples and report there. Raises: SettingsError, TaskError."""
    own = [load_task(asked.task, asked.questions)] if asked.questions is not None else []
    report = score_folder(folder, log_samples=True, tasks=own)
    try:
        write_file(folder / REPORT, report_markdown(report.tables, report.complete))
    except OSError as error:
        raise SettingsError(f"the report cannot be kept: {error.strerror or error}; try again later") from None
    return report


def packed(folder: Path, asked: Asked) -> str:
    """Put everything of an evaluation into one file, and return its path. Raises: SettingsError."""
    path, content = folder / f"dsbd-evaluation-{asked.task}.zip", io.BytesIO()
    try:
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for pattern in (*KEPT, REPORT):
                for file in sorted(folder.glob(pattern)):
                    archive.write(file, file.relative_to(folder))
        write_file(path, content.getvalue())
    except OSError as error:
        raise SettingsError(f"the results cannot be packed: {error.strerror or error}; try again later") from None
    return str(path)


def charts(report: Report) -> str:
    """Quality against speed, with the fronts; in the words of the tables."""
    return messages.figures([(_chart(table, "light"), _chart(table, "dark")) for table in report.tables.values()])


def _chart(table: EvaluationTable, theme: Theme) -> go.Figure:
    rows = tuple(replace(row, contender=label_of(row.contender)) for row in table.rows)
    figure = pareto_figure(replace(table, rows=rows), theme=theme)
    for front in figure.data:
        method, *kept = (front.name or "").split(", ")
        front.name = ", ".join([escape(METHOD_LABELS.get(method, method), quote=False), *kept])
    better = "more" if table.higher_is_better else "less"
    figure.update_yaxes(title_text=f"{AXES.get(table.metric, table.metric)} ({better} is better)")
    return figure.update_layout(title_text="", height=460)


def tables(report: Report) -> str:
    """Markup of all tables."""
    return "".join(_table(found) for found in report.tables.values())


def label_of(contender: str) -> str:
    """A contender in the page's words; values that a grid sweeps stand behind."""
    method, *rest = contender.split(" ")
    words = METHOD_LABELS.get(method, method)
    if rest and rest[0] in POINT_LABELS:
        words, rest = f"{words}, {POINT_LABELS[rest[0]]}", rest[1:]
    return " · ".join([words, *(part.replace("_", " ").replace("=", " ") for part in rest)])


def _asked_said(found: EvaluationTable) -> str:
    """How much was asked, and what quality is."""
    about = f" about {found.clusters} different databases or passages" if found.clusters < found.questions else ""
    times = "once" if found.seeds == 1 else f"{found.seeds} times"
    better = "more" if found.higher_is_better else "less"
    quality = METRICS.get(found.metric, found.metric)
    return f"{found.questions} questions{about}, each asked {times}. Quality is {quality}; {better} is better."


def _table(found: EvaluationTable) -> str:
    heads = [head.format(baseline=label_of(found.baseline).lower() if found.baseline else "others") for head in HEADS]
    head = "".join(f'<th scope="col">{escape(words)}</th>' for words in heads)
    rows = "".join(_row(found, row, heads[1:]) for row in found.rows)
    note = f" Note: {found.note}." if found.note else ""
    return (
        f'<p class="said">{escape(_asked_said(found))}{escape(note)}</p>'
        f'<div class="table-holder" role="region" tabindex="0" aria-label="Results"><table class="figures-table">'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        f'<p class="said">Intervals are at 95 %. “{NO_DIFFERENCE}” means that the interval of the difference holds '
        "zero; it does not mean equal.</p>"
    )


def _row(found: EvaluationTable, row: ContenderRow, heads: list[str]) -> str:
    """A row; each cell holds its column's name, which stands beside it on a narrow screen."""
    is_base = row.contender == found.baseline
    speed = "1" if is_base else median_cell(row.speed.median, row.speed.low, row.speed.high) if row.speed else "–"
    cells = [
        _split(quality_cell(found, row)),
        ("compared with", "") if is_base else _against(found, row),
        _split(mean_cell(row.tokens_per_second, 0)),
        _split(speed),
        (f"{row.layers_per_iteration:.2f}" if row.layers_per_iteration else "1", ""),
    ]
    body = "".join(
        f'<td data-head="{escape(head)}">{_minus(value)}<small>{_minus(below)}</small></td>'
        for head, (value, below) in zip(heads, cells, strict=True)
    )
    ours = " class=ours" if row.method == "dsbd" else ""
    head = f'<th scope="row">{escape(label_of(row.contender))}</th>'
    return f"<tr{ours}>{head}{body}</tr>"


def _against(found: EvaluationTable, row: ContenderRow) -> tuple[str, str]:
    """The verdict, and the difference with its interval below."""
    if row.difference is None:
        return "–", ""
    words = verdict(found, row.difference)
    return words, "" if words == "not measured" else difference_cell(found, row.difference)


def _split(cell: str) -> tuple[str, str]:
    """A figure, and its interval below."""
    value, bracket, interval = cell.partition(" [")
    return value, f"[{interval}" if bracket else ""


def _minus(words: str) -> str:
    return escape(words).replace("-", "−")
