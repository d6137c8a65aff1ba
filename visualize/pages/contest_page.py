"""Writes the figures of a bench or an evaluation as one stand-alone HTML page without a viewer; no network."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from dsbd.evaluation.statistics import Interval, Mean
from dsbd.evaluation.tables import ContestTable, Table, read_table
from visualize.figures.evaluation import NOT_MEASURED, pareto_figure, quality_width_figure, width_histogram_figure
from visualize.figures.speed import speed_figure, sweep_figures
from visualize.files import write
from visualize.pages.document import Kit, render, script, style

TITLE = "DSBD contest"
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


def export_contest(tables: Mapping[str, Table], path: str | Path) -> None:
    """Write the figures of a bench or an evaluation as one HTML file, with a chapter for each task.

    The tables are by task: records, or their plain data, as ``python -m dsbd bench --json`` and ``eval --json`` print
    them. The file brings Plotly (about 5 MB).

    Example:
        >>> visualize.export_contest({"sql": table}, "evaluation.html")

    Raises:
        TraceError: the file cannot be written.
        ValueError: the data is no table of a contest.
    """
    write(path, contest_page(tables))


def contest_page(tables: Mapping[str, Table]) -> str:
    """Return the page as a string. Raises: ValueError, as :func:`export_contest`."""
    chapters = []
    for table in map(read_table, tables.values()):
        figures = [figure for figure in contest_figures(table) if figure.data]
        chapters.append(f"<h2>{escape(table.task)}</h2>{_told(table)}{_charts(figures)}{_facts(table)}")
    body = Markup(f"<main><h1>{TITLE}</h1>{''.join(chapters)}</main>")
    return render("contest.html", Kit(style(_LOOK) + script(get_plotlyjs()), body), title=TITLE)


def contest_figures(table: ContestTable) -> list[go.Figure]:
    """Return the figures of one task; one that has nothing to show has no data."""
    return [
        speed_figure(table),
        pareto_figure(table),
        pareto_figure(table, against="energy"),
        quality_width_figure(table),
        width_histogram_figure(table),
        *sweep_figures(table),
    ]


def _told(table: ContestTable) -> str:
    """Return the figures in rows, below what belongs to all of them."""
    notes = [f"{table.questions} questions in {table.clusters} clusters; seeds of each question: {table.seeds}."]
    notes += [f"{table.note}."] if table.note else []
    notes += [NOT_MEASURED] if all(row.joules_per_token is None for row in table.rows) else []
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title, _ in COLUMNS.values())
    rows = []
    for row in table.rows:
        cells = "".join(f"<td>{_cell(getattr(row, name), digits)}</td>" for name, (_, digits) in COLUMNS.items())
        rows.append(f'<tr><th scope="row">{escape(row.contender)}</th>{cells}</tr>')
    said = "".join(f"<p>{escape(note)}</p>" for note in notes)
    head = f'<thead><tr><th scope="col">contender</th>{heads}</tr></thead>'
    return f'{said}<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _cell(value: float | Mean | Interval | None, digits: int) -> str:
    figure = value.mean if isinstance(value, Mean) else value.median if isinstance(value, Interval) else value
    return "<small>not measured</small>" if figure is None else f"{figure:.{digits}f}".replace("-", "−")


def _facts(table: ContestTable) -> str:
    facts = {"conditions": table.conditions, "settings": {row.contender: asdict(row.settings) for row in table.rows}}
    told = escape(json.dumps(facts, indent=1, ensure_ascii=False))
    return f"<details><summary>Conditions and settings</summary><pre>{told}</pre></details>"


def _charts(figures: Sequence[go.Figure]) -> str:
    """Return the figures as HTML; the page brings Plotly."""
    look = {"displaylogo": False, "showSendToCloud": False}
    return "\n".join(figure.to_html(full_html=False, include_plotlyjs=False, config=look) for figure in figures)
