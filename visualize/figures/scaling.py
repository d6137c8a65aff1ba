"""Draws how the cost of a token grows, as ``benchmarks/scaling.py`` measured it: a panel per axis, limits dashed."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from visualize.figures.chart_style import dress, empty_figure
from visualize.look.states import Theme

TITLE = "Milliseconds per token as the work grows"
AXIS_TITLES = {
    "prompt_tokens": "tokens of the prompt",
    "num_beams": "beams",
    "draft_depth": "draft depth",
    "max_new_tokens": "new tokens",
}
CODES = (("#0072b2", "circle"), ("#d55e00", "square"), ("#009e73", "diamond"))
COLUMNS = 2


@dataclass(frozen=True)
class Growth:
    """One contender along one axis."""

    contender: str
    values: tuple[int, ...]
    milliseconds: tuple[float, ...]
    limits: tuple[float, ...]


@dataclass(frozen=True)
class ScalingInfo:
    """The growth of each contender along each axis, in ascending order of the values."""

    axes: dict[str, tuple[Growth, ...]]


def scaling_figure(report: Mapping[str, Any], *, theme: Theme = "light") -> go.Figure:
    """Draw the measured time per token and its limit, along every axis that was swept."""
    info = scaling_info(report)
    return plot_scaling(info, theme) if info.axes else empty_figure(TITLE, theme)


def scaling_info(report: Mapping[str, Any]) -> ScalingInfo:
    """Return the data of :func:`scaling_figure`."""
    found: dict[str, dict[str, list[tuple[int, float, float]]]] = {}
    for row in report["rows"]:
        point = (row["value"], row["milliseconds_per_token"], row["limit_milliseconds_per_token"])
        found.setdefault(row["axis"], {}).setdefault(row["contender"], []).append(point)
    return ScalingInfo(
        {axis: tuple(_growth(name, sorted(points)) for name, points in named.items()) for axis, named in found.items()}
    )


def _growth(contender: str, points: list[tuple[int, float, float]]) -> Growth:
    values, milliseconds, limits = zip(*points, strict=True)
    return Growth(contender, values, milliseconds, limits)


def plot_scaling(info: ScalingInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`ScalingInfo`."""
    rows = -(-len(info.axes) // COLUMNS)
    titles = [AXIS_TITLES.get(axis, axis) for axis in info.axes]
    figure = make_subplots(rows=rows, cols=COLUMNS, subplot_titles=titles, horizontal_spacing=0.1)
    for place, growths in enumerate(info.axes.values()):
        cell = {"row": place // COLUMNS + 1, "col": place % COLUMNS + 1}
        for growth, (color, symbol) in zip(growths, CODES, strict=False):
            named = {"legendgroup": growth.contender, "showlegend": place == 0}
            shown = escape(growth.contender, quote=False)
            figure.add_scatter(
                x=growth.values, y=growth.milliseconds, mode="lines+markers", name=shown,
                line={"color": color}, marker={"symbol": symbol, "size": 8}, **named, **cell,
            )  # fmt: skip
            figure.add_scatter(
                x=growth.values, y=growth.limits, mode="lines", name=f"{shown}: limit",
                line={"color": color, "dash": "dash"}, **named, **cell,
            )  # fmt: skip
        figure.update_xaxes(tickvals=sorted({value for growth in growths for value in growth.values}), **cell)
    dress(figure, TITLE, theme)
    legend = {"y": -0.12 / rows, "yanchor": "top"}
    return figure.update_layout(height=360 * rows + 80, margin={"t": 96}, legend=legend)
