"""Writes the figures of a bench or an evaluation as one stand-alone HTML page without a viewer; no network."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Literal

import plotly.graph_objects as go

from dsbd.evaluation.tables import EvaluationTable, Table, read_table
from dsbd.measure.bench.records import BenchSummary, bench_summary
from visualize.figures.bench import Summary, bench_figures
from visualize.figures.evaluation import NOT_MEASURED, pareto_figure, quality_width_figure, width_histogram_figure
from visualize.pages.document import Kit, document, script, style
from visualize.pages.plotly_script import plotly_origins, plotly_tag
from visualize.pages.trace_page import write_page
from visualize.viewer.bundle import plotly_js_path

Plotly = Literal["inline", "beside"]
BENCH, EVALUATION = "DSBD bench", "DSBD evaluation"
"""Titles of the pages."""
COLUMNS = {
    "milliseconds_per_token": ("ms/token", 2),
    "tokens_per_second": ("tokens/s", 1),
    "layers_per_iteration": ("layers/iteration", 2),
    "acceptance_rate": ("acceptance", 2),
    "mean_width": ("mean width", 2),
    "perplexity": ("perplexity", 2),
    "best_log_weight_per_token": ("best log-weight/token", 2),
}

_LOOK = """body { margin: 0 auto; max-width: 1080px; padding: 24px; background: #fffffe; color: #22272e;
  font: 15px/1.5 ui-sans-serif, system-ui, sans-serif; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px 4px 0; text-align: right; border-bottom: 1px solid #d8dde3; white-space: nowrap; }
th:first-child { text-align: left; }
pre { white-space: pre-wrap; }
"""


_BODY = """<main>
<h1>{title}</h1>
{notes}
<div class="wide">{table}</div>
{figures}
<details><summary>Conditions and settings</summary><pre>{conditions}</pre></details>
</main>"""


def export_bench(summary: Summary, path: str | Path, *, plotly: Plotly = "inline") -> None:
    """Write the figures of a bench (a record, or what ``python -m dsbd bench --json`` prints) as one HTML file.

    ``inline`` puts Plotly into the file (about 5 MB), ``beside`` writes ``plotly.min.js`` next to it.

    Example:
        >>> visualize.export_bench(bench, "bench.html")

    Raises:
        TraceError: the file cannot be written.
        ValueError: ``plotly`` is neither of its two values, or the data is no summary of a bench.
    """
    write_page(path, bench_page(summary, plotly=plotly), plotly)


def bench_page(summary: Summary, *, plotly: Plotly = "inline") -> str:
    """Return the page as a string. Raises: ValueError for an unknown ``plotly``, or data that is no summary."""
    bench = bench_summary(summary)
    drawings = bench_figures(bench)
    figures = [figure for figure in drawings.values() if figure.data]
    absent = [name for name, figure in drawings.items() if not figure.data]
    settings = {row.contender: asdict(row.settings) for row in bench.contenders}
    facts = {"conditions": bench.conditions, "settings": settings}
    body = _BODY.format(
        title=BENCH,
        notes="".join(f"<p>{escape(note)}</p>" for note in _notes(bench, absent)),
        table=_table(bench),
        figures=_charts(figures),
        conditions=escape(json.dumps(facts, indent=1, ensure_ascii=False)),
    )
    return _document(BENCH, body, plotly)


def _notes(bench: BenchSummary, absent: list[str]) -> list[str]:
    notes = [f"{bench.prompts} prompts × {bench.rounds} runs of each, interleaved after a warm-up."]
    notes += bench.control.notes() if bench.control is not None else []
    if not bench.complete:
        notes.append("Not complete: some runs are missing.")
    if absent:
        notes.append(f"Not measured: {', '.join(absent)}.")
    return [*notes, f"Equal quality: {bench.quality_rule}."]


def _table(bench: BenchSummary) -> str:
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title, _ in COLUMNS.values())
    rows = []
    for row in bench.contenders:
        cells = "".join(f"<td>{_cell(getattr(row, name), digits)}</td>" for name, (_, digits) in COLUMNS.items())
        rows.append(f'<tr><th scope="row">{escape(row.contender)}</th>{cells}</tr>')
    return f'<table><thead><tr><th scope="col">contender</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _cell(value: float | None, digits: int) -> str:
    return "<small>not measured</small>" if value is None else f"{value:.{digits}f}".replace("-", "−")


def export_evaluation(tables: Mapping[str, Table], path: str | Path, *, plotly: Plotly = "inline") -> None:
    """Write the figures of an evaluation as one HTML file, with a chapter for each task.

    The tables are by task: records, or their plain data, as ``python -m dsbd eval --json`` prints them. ``inline`` puts
    Plotly into the file (about 5 MB), ``beside`` writes ``plotly.min.js`` next to it.

    Example:
        >>> visualize.export_evaluation({"sql": table}, "evaluation.html")

    Raises:
        TraceError: the file cannot be written.
        ValueError: ``plotly`` is neither of its two values, or the data is no table of an evaluation.
    """
    write_page(path, evaluation_page(tables, plotly=plotly), plotly)


def evaluation_page(tables: Mapping[str, Table], *, plotly: Plotly = "inline") -> str:
    """Return the page as a string. Raises: ValueError, as :func:`export_evaluation`."""
    chapters = []
    for table in map(read_table, tables.values()):
        figures = [figure for figure in evaluation_figures(table) if figure.data]
        notes = [f"{table.questions} questions in {table.clusters} clusters; seeds of each question: {table.seeds}."]
        notes += [f"{table.note}."] if table.note else []
        notes += [NOT_MEASURED] if all(row.joules_per_token is None for row in table.rows) else []
        said = "".join(f"<p>{escape(note)}</p>" for note in notes)
        chapters.append(f"<h2>{escape(table.task)}</h2>{said}{_charts(figures)}")
    return _document(EVALUATION, f"<main><h1>{EVALUATION}</h1>{''.join(chapters)}</main>", plotly)


def evaluation_figures(table: EvaluationTable) -> list[go.Figure]:
    """Return the figures of one task; one that has nothing to show has no data."""
    return [
        pareto_figure(table),
        pareto_figure(table, against="energy"),
        quality_width_figure(table),
        width_histogram_figure(table),
    ]


def _charts(figures: Sequence[go.Figure]) -> str:
    look = {"displaylogo": False}
    return "\n".join(figure.to_html(full_html=False, include_plotlyjs=False, config=look) for figure in figures)


def _document(title: str, body: str, plotly: Plotly) -> str:
    """Return the page with Plotly before its charts. Raises: ValueError."""
    if plotly not in ("inline", "beside"):
        raise ValueError(f"plotly is {plotly!r}; choose 'inline' or 'beside'")
    tag = script(plotly_js_path().read_text(encoding="utf-8")) if plotly == "inline" else plotly_tag("beside")
    return document(title, [body], Kit(style(_LOOK) + tag, scripts=plotly_origins(plotly)))
