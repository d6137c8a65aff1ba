"""Draws the memory of an iteration, as ``benchmarks/forest_memory.py`` measured it: a panel per context."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from visualize.figures.chart_style import COLORS, DASHES, SYMBOLS, dress, empty_figure
from visualize.look.states import Theme

TITLE = "Peak memory of an iteration above the weights"


@dataclass(frozen=True)
class MemoryLine:
    """One way of holding the beams, along the nodes of the forest."""

    way: str
    nodes: tuple[int, ...]
    megabytes: tuple[float, ...]


@dataclass(frozen=True)
class ForestMemoryInfo:
    """The lines of each context, by its tokens."""

    panels: dict[int, tuple[MemoryLine, ...]]


def forest_memory_figure(report: Mapping[str, Any], *, theme: Theme = "light") -> go.Figure:
    """Draw the measured peak over the nodes of the forest; points that were not measured are left out.

    Args:
        report: as ``benchmarks/forest_memory.py`` writes it.
        theme: ``light`` or ``dark``.
    """
    info = forest_memory_info(report)
    return plot_forest_memory(info, theme) if info.panels else empty_figure(TITLE, theme)


def forest_memory_info(report: Mapping[str, Any]) -> ForestMemoryInfo:
    """Return the data of :func:`forest_memory_figure`."""
    found: dict[int, dict[str, list[tuple[int, float]]]] = {}
    for row in report["rows"]:
        if row["peak_bytes"] is not None:
            point = (row["nodes"], row["peak_bytes"] / 1e6)
            found.setdefault(row["context"], {}).setdefault(row["way"], []).append(point)
    return ForestMemoryInfo(
        {
            context: tuple(
                MemoryLine(way, *(tuple(part) for part in zip(*sorted(points), strict=True)))
                for way, points in ways.items()
            )
            for context, ways in sorted(found.items())
        }
    )


def plot_forest_memory(info: ForestMemoryInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`ForestMemoryInfo`."""
    titles = [f"{context:,} tokens of context" for context in info.panels]
    figure = make_subplots(rows=1, cols=len(titles), shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.02)
    ways = list(dict.fromkeys(line.way for lines in info.panels.values() for line in lines))
    for column, lines in enumerate(info.panels.values(), 1):
        for line in lines:
            place = ways.index(line.way)
            figure.add_scatter(
                x=line.nodes,
                y=line.megabytes,
                mode="lines+markers",
                name=escape(line.way, quote=False),
                legendgroup=line.way,
                showlegend=column == 1,
                line={"color": COLORS[place % len(COLORS)], "dash": DASHES[place % len(DASHES)]},
                marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 8},
                row=1,
                col=column,
            )
        nodes = sorted({size for line in lines for size in line.nodes})
        figure.update_xaxes(type="log", tickvals=nodes, ticktext=[str(size) for size in nodes], col=column)
    dress(figure, TITLE, theme)
    figure.update_xaxes(title="nodes of the forest")
    figure.update_yaxes(type="log", rangemode="normal")
    figure.update_yaxes(title="MB", col=1)
    return figure.update_layout(height=440, legend={"y": -0.2, "yanchor": "top"}, margin={"t": 88})
