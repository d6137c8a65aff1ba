"""Draws quality against the mean width: how many beams it takes to be as good."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from dsbd.evaluation.statistics import Mean
from dsbd.evaluation.tables import ContenderRow, Table, read_table
from visualize.figures.chart_style import COLORS, DASHES, SYMBOLS, dress, empty_figure, error_bars
from visualize.figures.families import families_of, quality_title
from visualize.look.states import Theme

TITLE = "Quality against the mean width"
JOINED = ("beam_sampling", "beam_search")
"""Families of which the width is the one setting: a line joins their points."""


@dataclass(frozen=True)
class WidthLine:
    """A family: its contenders by ascending mean width."""

    family: str
    names: tuple[str, ...]
    widths: tuple[float, ...]
    """Mean number of beams that a layer yielded."""
    qualities: tuple[Mean, ...]


@dataclass(frozen=True)
class QualityWidthInfo:
    """All families of a table."""

    quality: str
    lines: tuple[WidthLine, ...]


def quality_width_figure(table: Table, *, theme: Theme = "light") -> go.Figure:
    """Draw the quality of each contender, with its 95 % interval, over the mean number of beams of a layer.

    Args:
        table: of an evaluation: a record, or its plain data.
        theme: ``light`` or ``dark``.

    Raises:
        ValueError: the data is no table of an evaluation.
    """
    info = quality_width_info(table)
    return plot_quality_width(info, theme) if info.lines else empty_figure(TITLE, theme)


def quality_width_info(table: Table) -> QualityWidthInfo:
    """Return the data of :func:`quality_width_figure`; contenders whose width was not counted are left out."""
    read = read_table(table)
    lines = (_line(name, rows) for name, rows in families_of(read).items())
    return QualityWidthInfo(quality_title(read), tuple(line for line in lines if line.names))


def _line(family: str, rows: Sequence[ContenderRow]) -> WidthLine:
    found = [(row.mean_width, row.contender, row.quality) for row in rows if row.mean_width is not None and row.quality]
    found.sort(key=lambda point: point[:2])
    return WidthLine(
        family,
        tuple(name for _, name, _ in found),
        tuple(width for width, _, _ in found),
        tuple(quality for _, _, quality in found),
    )


def plot_quality_width(info: QualityWidthInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`QualityWidthInfo`."""
    figure = go.Figure()
    for place, line in enumerate(info.lines):
        color, means = COLORS[place % len(COLORS)], [quality.mean for quality in line.qualities]
        lows, highs = [one.low for one in line.qualities], [one.high for one in line.qualities]
        figure.add_scatter(
            x=line.widths,
            y=means,
            error_y=error_bars(means, lows, highs, color),
            mode="lines+markers" if line.family in JOINED else "markers",
            name=escape(line.family, quote=False),
            hovertext=[
                f"{escape(name, quote=False)}<br>{mean:.3g}" for name, mean in zip(line.names, means, strict=True)
            ],
            hoverinfo="text",
            line={"color": color, "dash": DASHES[place % len(DASHES)]},
            marker={"color": color, "symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9, "opacity": 0.85},
        )
    dress(figure, TITLE, theme)
    figure.update_xaxes(title="mean beams of a layer", rangemode="tozero")
    figure.update_yaxes(title=info.quality, rangemode="normal")
    return figure.update_layout(height=460, legend={"y": -0.18, "yanchor": "top"}, margin={"t": 56})
