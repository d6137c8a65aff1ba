"""Draws speed and quality side by side, a row per contender: what the dynamic width is worth."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dsbd.evaluation.statistics import Mean
from dsbd.evaluation.tables import Table, read_table
from visualize.figures.chart_style import COLORS, dress, empty_figure, error_bars
from visualize.figures.families import quality_title
from visualize.look.states import Theme

TITLE = "Speed and quality, side by side"
ROW_PIXELS = 40


@dataclass(frozen=True)
class DynamicWidthInfo:
    """The rows of a table that have speed and quality."""

    quality: str
    names: tuple[str, ...]
    widths: tuple[float | None, ...]
    """Mean beams of a layer."""
    speeds: tuple[Mean, ...]
    """Tokens per second."""
    qualities: tuple[Mean, ...]


def dynamic_width_figure(table: Table, *, theme: Theme = "light") -> go.Figure:
    """Draw tokens per second and quality of each contender with 95 % intervals; its mean width is beside its name.

    Args:
        table: of an evaluation: a record, or its plain data.
        theme: ``light`` or ``dark``.

    Raises:
        ValueError: the data is no table of an evaluation.
    """
    info = dynamic_width_info(table)
    return plot_dynamic_width(info, theme) if info.names else empty_figure(TITLE, theme)


def dynamic_width_info(table: Table) -> DynamicWidthInfo:
    """Return the data of :func:`dynamic_width_figure`."""
    read = read_table(table)
    found = [
        (row.contender, row.mean_width, row.tokens_per_second, row.quality)
        for row in read.rows
        if row.tokens_per_second is not None and row.quality is not None
    ]
    return DynamicWidthInfo(
        quality_title(read),
        tuple(name for name, _, _, _ in found),
        tuple(width for _, width, _, _ in found),
        tuple(speed for _, _, speed, _ in found),
        tuple(quality for _, _, _, quality in found),
    )


def plot_dynamic_width(info: DynamicWidthInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`DynamicWidthInfo`."""
    labels = [
        escape(name, quote=False) + ("" if width is None else f"<br>mean width {width:.2f}")
        for name, width in zip(info.names, info.widths, strict=True)
    ]
    figure = make_subplots(rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.04)
    _add(figure, 1, labels, info.speeds)
    _add(figure, 2, labels, info.qualities)
    dress(figure, TITLE, theme)
    figure.update_xaxes(title="tokens per second", rangemode="tozero", col=1)
    figure.update_xaxes(title=info.quality, rangemode="normal", col=2)
    figure.update_yaxes(autorange="reversed", showgrid=True, automargin=True)
    return figure.update_layout(showlegend=False, height=150 + ROW_PIXELS * len(labels), margin={"t": 56})


def _add(figure: go.Figure, column: int, labels: Sequence[str], means: Sequence[Mean]) -> None:
    middles, color = [one.mean for one in means], COLORS[column - 1]
    figure.add_scatter(
        x=middles,
        y=labels,
        error_x=error_bars(middles, [one.low for one in means], [one.high for one in means], color),
        mode="markers+text",
        text=[f"{value:.3g}" for value in middles],
        textposition="top center",
        marker={"color": color, "symbol": ("circle", "diamond")[column - 1], "size": 10},
        row=1,
        col=column,
    )
