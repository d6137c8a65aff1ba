"""Writes the figures of an evaluation as one stand-alone HTML page; no network."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

import plotly.graph_objects as go

from dsbd.evaluation.tables import EvaluationTable, Table, read_table
from visualize.figures.evaluation import (
    NOT_MEASURED,
    dynamic_width_figure,
    pareto_figure,
    quality_width_figure,
    width_histogram_figure,
)
from visualize.pages.chart_document import Plotly, chart_document, charts, require_plotly
from visualize.pages.trace_page import write_page

TITLE = "DSBD evaluation"
MOST_ROWS = 30
"""A figure with a row for each contender is left out if there are more of them."""


def export_evaluation(tables: Mapping[str, Table], path: str | Path, *, plotly: Plotly = "inline") -> None:
    """Write the figures of an evaluation as one HTML file, with a chapter for each task.

    Args:
        tables: by task: records, or their plain data, as ``python -m dsbd eval --json`` prints them.
        path: the HTML file to write.
        plotly: ``inline`` puts Plotly into the file (about 5 MB); ``beside`` writes ``plotly.min.js`` next to it.

    Example:
        >>> visualize.export_evaluation({"sql": table}, "evaluation.html")

    Raises:
        TraceError: the file cannot be written.
        ValueError: ``plotly`` is neither of its two values, or the data is no table of an evaluation.
    """
    write_page(path, evaluation_page(tables, plotly=plotly), plotly)


def evaluation_page(tables: Mapping[str, Table], *, plotly: Plotly = "inline") -> str:
    """Return the page as a string. Raises: ValueError, as :func:`export_evaluation`."""
    require_plotly(plotly)
    chapters, script = [], plotly
    for table in map(read_table, tables.values()):
        figures = [figure for figure in evaluation_figures(table) if figure.data]
        notes = [f"{table.questions} questions in {table.clusters} clusters; seeds of each question: {table.seeds}."]
        notes += [f"{table.note}."] if table.note else []
        notes += [NOT_MEASURED] if all(row.joules_per_token is None for row in table.rows) else []
        said = "".join(f"<p>{escape(note)}</p>" for note in notes)
        chapters.append(f"<h2>{escape(table.task)}</h2>{said}{charts(figures, script)}")
        script = "beside" if figures else script  # the script stands in the page once
    return chart_document(TITLE, f"<main><h1>{TITLE}</h1>{''.join(chapters)}</main>", plotly)


def evaluation_figures(table: EvaluationTable) -> list[go.Figure]:
    """Return the figures of one task; one that has nothing to show has no data."""
    rows = [dynamic_width_figure(table)] if len(table.rows) <= MOST_ROWS else []
    return [
        pareto_figure(table),
        pareto_figure(table, against="energy"),
        quality_width_figure(table),
        width_histogram_figure(table),
        *rows,
    ]
