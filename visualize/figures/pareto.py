"""Draws the Pareto fronts of quality against tokens per second, or against joules per token, one front per family."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import plotly.graph_objects as go

from dsbd.evaluation.fronts import pareto_front
from dsbd.evaluation.statistics import Mean
from dsbd.evaluation.tables import ContenderRow, EvaluationTable, Table, read_table
from visualize.figures.chart_style import COLORS, DASHES, SYMBOLS, dress, empty_figure, error_bars
from visualize.figures.families import families_of, quality_title
from visualize.look.states import Theme

Cost = Literal["speed", "energy"]
AXES = {"speed": "tokens per second (more is better)", "energy": "joules per token (less is better)"}
TITLES = {"speed": "Quality against tokens per second", "energy": "Quality against joules per token"}
NOT_MEASURED = "Energy was not measured on this machine."


@dataclass(frozen=True)
class Dot:
    """One contender: its cost and its quality, each with its interval."""

    name: str
    cost: Mean
    quality: Mean


@dataclass(frozen=True)
class Front:
    """A family of contenders."""

    family: str
    dots: tuple[Dot, ...]
    front: tuple[int, ...]
    """Places of the dots that no other dot of the family beats in both respects, along the cost."""


@dataclass(frozen=True)
class ParetoInfo:
    """All families of a table."""

    against: Cost
    quality: str
    fronts: tuple[Front, ...]


def pareto_figure(table: Table, *, against: Cost = "speed", theme: Theme = "light") -> go.Figure:
    """Draw every contender as a dot, and the Pareto front of each family as a line with 95 % intervals.

    Args:
        table: of an evaluation: a record, or its plain data.
        against: ``speed`` or ``energy``. Where energy was not measured, the figure says so and has no point.
        theme: ``light`` or ``dark``.

    Raises:
        ValueError: the data is no table of an evaluation, or ``against`` is neither of its two values.
    """
    info = pareto_info(table, against)
    said = NOT_MEASURED if against == "energy" else None
    return plot_pareto(info, theme) if info.fronts else empty_figure(TITLES[against], theme, said=said)


def pareto_info(table: Table, against: Cost = "speed") -> ParetoInfo:
    """Return the data of :func:`pareto_figure`."""
    if against not in AXES:
        raise ValueError(f"against is {against!r}; choose 'speed' or 'energy'")
    read = read_table(table)
    fronts = (_front(read, name, rows, against) for name, rows in families_of(read).items())
    return ParetoInfo(against, quality_title(read), tuple(one for one in fronts if one.dots))


def _front(table: EvaluationTable, family: str, rows: Sequence[ContenderRow], against: Cost) -> Front:
    costs = [row.tokens_per_second if against == "speed" else row.joules_per_token for row in rows]
    dots = tuple(
        Dot(row.contender, cost, row.quality)
        for row, cost in zip(rows, costs, strict=True)
        if cost is not None and row.quality is not None
    )
    signs = (1 if against == "speed" else -1), (1 if table.higher_is_better else -1)
    places = pareto_front([(signs[0] * dot.cost.mean, signs[1] * dot.quality.mean) for dot in dots])
    return Front(family, dots, tuple(sorted(places, key=lambda place: dots[place].cost.mean)))


def plot_pareto(info: ParetoInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`ParetoInfo`; the dots off the fronts are small and pale, and have their intervals in the hover."""
    figure = go.Figure()
    for place, front in enumerate(info.fronts):
        color, symbol = COLORS[place % len(COLORS)], SYMBOLS[place % len(SYMBOLS)]
        behind = [dot for at, dot in enumerate(front.dots) if at not in front.front]
        group = {"legendgroup": front.family, "name": escape(front.family, quote=False), "hoverinfo": "text"}
        if behind:
            figure.add_scatter(
                x=[dot.cost.mean for dot in behind],
                y=[dot.quality.mean for dot in behind],
                mode="markers",
                hovertext=[_hover(dot) for dot in behind],
                marker={"color": color, "symbol": symbol, "size": 6, "opacity": 0.35},
                showlegend=False,
                **group,
            )
        ahead = [front.dots[at] for at in front.front]
        costs, qualities = [dot.cost for dot in ahead], [dot.quality for dot in ahead]
        figure.add_scatter(
            x=[cost.mean for cost in costs],
            y=[quality.mean for quality in qualities],
            error_x=_bars(costs, color),
            error_y=_bars(qualities, color),
            mode="lines+markers",
            hovertext=[_hover(dot) for dot in ahead],
            line={"color": color, "dash": DASHES[place % len(DASHES)]},
            marker={"color": color, "symbol": symbol, "size": 10},
            **group,
        )
    dress(figure, TITLES[info.against], theme)
    figure.update_xaxes(title=AXES[info.against], rangemode="tozero")
    figure.update_yaxes(title=info.quality, rangemode="normal")
    return figure.update_layout(height=460, legend={"y": -0.18, "yanchor": "top"}, margin={"t": 56})


def _bars(means: Sequence[Mean], color: str) -> dict[str, object]:
    return error_bars([one.mean for one in means], [one.low for one in means], [one.high for one in means], color)


def _hover(dot: Dot) -> str:
    return f"{escape(dot.name, quote=False)}<br>{_said(dot.cost)}<br>{_said(dot.quality)}"


def _said(mean: Mean) -> str:
    return f"{mean.mean:.3g}" if mean.low is None else f"{mean.mean:.3g} [{mean.low:.3g}, {mean.high:.3g}]"
