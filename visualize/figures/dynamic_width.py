"""Draws speed and quality side by side, a row per contender: what the dynamic width is worth."""

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dsbd.evaluation.statistics import Mean
from dsbd.evaluation.tables import Table, read_table
from visualize.figures.chart_style import COLORS, dress, empty_figure, mean_bars
from visualize.figures.families import quality_title
from visualize.look.states import Theme

TITLE = "Speed and quality, side by side"
ROW_PIXELS = 40


def dynamic_width_figure(table: Table, *, theme: Theme = "light") -> go.Figure:
    """Draw tokens per second and quality of each contender with 95 % intervals; its mean width is beside its name.

    Args:
        table: of an evaluation: a record, or its plain data.
        theme: ``light`` or ``dark``.

    Example:
        >>> visualize.dynamic_width_figure(table)

    Raises:
        ValueError: the data is no table of an evaluation.
    """
    read = read_table(table)
    rows = [row for row in read.rows if row.tokens_per_second is not None and row.quality is not None]
    if not rows:
        return empty_figure(TITLE, theme)
    labels = [
        escape(row.contender, quote=False) + ("" if row.mean_width is None else f"<br>mean width {row.mean_width:.2f}")
        for row in rows
    ]
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.04)
    _add(figure, 1, labels, [row.tokens_per_second for row in rows if row.tokens_per_second])
    _add(figure, 2, labels, [row.quality for row in rows if row.quality])
    dress(figure, TITLE, theme)
    figure.update_xaxes(title="tokens per second", rangemode="tozero", col=1)
    figure.update_xaxes(title=quality_title(read), rangemode="normal", col=2)
    figure.update_yaxes(autorange="reversed", showgrid=True, automargin=True)
    return figure.update_layout(showlegend=False, height=150 + ROW_PIXELS * len(labels), margin={"t": 56})


def _add(figure: go.Figure, column: int, labels: Sequence[str], means: Sequence[Mean]) -> None:
    color = COLORS[column - 1]
    figure.add_scatter(
        x=[mean.mean for mean in means],
        y=labels,
        error_x=mean_bars(means, color),
        mode="markers+text",
        text=[f"{mean.mean:.3g}" for mean in means],
        textposition="top center",
        marker={"color": color, "symbol": ("circle", "diamond")[column - 1], "size": 10},
        row=1,
        col=column,
    )
