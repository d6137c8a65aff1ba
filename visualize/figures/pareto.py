"""Draws the Pareto fronts of quality against tokens per second, or against joules per token, one front per family."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import plotly.graph_objects as go

from dsbd.evaluation.fronts import pareto_front
from dsbd.evaluation.statistics import Mean
from dsbd.evaluation.tables import ContenderRow, EvaluationTable, Table, read_table
from visualize.figures.chart_style import COLORS, DASHES, SYMBOLS, dress, empty_figure, mean_bars
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


def pareto_figure(table: Table, *, against: Cost = "speed", theme: Theme = "light") -> go.Figure:
    """Draw every contender as a dot, and the Pareto front of each family as a line with 95 % intervals.

    Dots off the fronts are small and pale, and have their intervals in the hover.

    Args:
        table: of an evaluation: a record, or its plain data.
        against: ``speed`` or ``energy``. If energy was not measured, the figure says so and has no dot.
        theme: ``light`` or ``dark``.

    Example:
        >>> visualize.pareto_figure(table)

    Raises:
        ValueError: the data is no table of an evaluation, or ``against`` is neither of its two values.
    """
    if against not in AXES:
        raise ValueError(f"against is {against!r}; choose 'speed' or 'energy'")
    read, figure = read_table(table), go.Figure()
    families = {name: _dots(rows, against) for name, rows in families_of(read).items()}
    families = {name: dots for name, dots in families.items() if dots}
    if not families:
        return empty_figure(TITLES[against], theme, said=NOT_MEASURED if against == "energy" else None)
    for place, (family, dots) in enumerate(families.items()):
        _draw(figure, place, family, dots, front_of(dots, read, against))
    dress(figure, TITLES[against], theme)
    figure.update_xaxes(title=AXES[against], rangemode="tozero")
    figure.update_yaxes(title=quality_title(read), rangemode="normal")
    return figure.update_layout(height=460, legend={"y": -0.18, "yanchor": "top"}, margin={"t": 56})


def _dots(rows: Sequence[ContenderRow], against: Cost) -> list[Dot]:
    costs = [row.tokens_per_second if against == "speed" else row.joules_per_token for row in rows]
    return [
        Dot(row.contender, cost, row.quality)
        for row, cost in zip(rows, costs, strict=True)
        if cost is not None and row.quality is not None
    ]


def front_of(dots: Sequence[Dot], table: EvaluationTable, against: Cost) -> list[Dot]:
    """Return the dots that no other dot beats in both cost and quality, along the cost."""
    signs = (1 if against == "speed" else -1), (1 if table.higher_is_better else -1)
    places = pareto_front([(signs[0] * dot.cost.mean, signs[1] * dot.quality.mean) for dot in dots])
    return sorted((dots[place] for place in places), key=lambda dot: dot.cost.mean)


def _draw(figure: go.Figure, place: int, family: str, dots: Sequence[Dot], front: Sequence[Dot]) -> None:
    color, symbol = COLORS[place % len(COLORS)], SYMBOLS[place % len(SYMBOLS)]
    group = {"legendgroup": family, "name": escape(family, quote=False), "hoverinfo": "text"}
    behind = [dot for dot in dots if dot not in front]
    if behind:
        pale = {"color": color, "symbol": symbol, "size": 6, "opacity": 0.35}
        figure.add_scatter(**_places(behind), mode="markers", marker=pale, showlegend=False, **group)
    figure.add_scatter(
        **_places(front),
        error_x=mean_bars([dot.cost for dot in front], color),
        error_y=mean_bars([dot.quality for dot in front], color),
        mode="lines+markers",
        line={"color": color, "dash": DASHES[place % len(DASHES)]},
        marker={"color": color, "symbol": symbol, "size": 10},
        **group,
    )


def _places(dots: Sequence[Dot]) -> dict[str, list[float] | list[str]]:
    return {
        "x": [dot.cost.mean for dot in dots],
        "y": [dot.quality.mean for dot in dots],
        "hovertext": [f"{escape(dot.name, quote=False)}<br>{_said(dot.cost)}<br>{_said(dot.quality)}" for dot in dots],
    }


def _said(mean: Mean) -> str:
    return f"{mean.mean:.3g}" if mean.low is None else f"{mean.mean:.3g} [{mean.low:.3g}, {mean.high:.3g}]"
