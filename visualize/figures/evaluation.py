"""Figures of an evaluation: quality against speed, energy or the mean width, and the widths.

They take a table of a bench or an evaluation: a record, or its plain data.
"""

from collections.abc import Sequence
from html import escape
from typing import Literal

from dsbd.evaluation.fronts import pareto_front
from dsbd.evaluation.statistics import Mean
from dsbd.evaluation.tables import ContenderRow, ContestTable, Table, read_table
from visualize.figures.chart_style import COLORS, Figure, dress, empty_figure, mean_bars, series_look
from visualize.look.states import Theme

Cost = Literal["speed", "energy"]
Point = tuple[ContenderRow, Mean, Mean]
"""A contender with its cost and its quality."""
COSTS = {
    "speed": ("tokens_per_second", "tokens per second", "more is better", 1),
    "energy": ("joules_per_token", "joules per token", "less is better", -1),
}
"""Of each cost: the field of a row, its name, which way is better, and the sign that makes more better."""
NOT_MEASURED = "Energy was not measured on this machine."
ONE, ALL = "one sequence kept", "all beams kept"
JOINED = ("beam_sampling", "beam_search")
"""In these families the width is the one setting: a line joins their points."""
PATTERNS = ("", "/", ".", "x", "-")
MOST = len(PATTERNS)
"""Contenders in one histogram."""
BELOW = {"height": 460, "legend": {"y": -0.18, "yanchor": "top"}, "margin": {"t": 56}}
"""Layout of a figure whose legend stands below it."""


def pareto_figure(table: Table, *, against: Cost = "speed", theme: Theme = "light") -> Figure:
    """Draw every contender as a dot, and the Pareto front of each family as a line with 95 % intervals.

    Dots off the fronts are small and pale, and have their intervals in the hover. If energy was not measured, the
    figure against energy says so and has no dot.

    Example:
        >>> visualize.pareto_figure(table)

    Raises:
        ValueError: the data is no table of a contest, or ``against`` is neither of its two values.
    """
    if against not in COSTS:
        raise ValueError(f"against is {against!r}; choose 'speed' or 'energy'")
    field, name, better, sign = COSTS[against]
    read, figure, title = read_table(table), Figure(), f"Quality against {name}"
    families = {family: _measured(rows, field) for family, rows in _families_of(read).items()}
    for place, (family, points) in enumerate((family, points) for family, points in families.items() if points):
        _draw_front(figure, place, family, points, (sign, 1 if read.higher_is_better else -1))
    if not figure.data:
        return empty_figure(title, theme, said=NOT_MEASURED if against == "energy" else None)
    dress(figure, title, theme)
    figure.update_xaxes(title=f"{name} ({better})", rangemode="tozero")
    figure.update_yaxes(title=_quality_title(read), rangemode="normal")
    return figure.update_layout(**BELOW)


def _draw_front(figure: Figure, place: int, family: str, points: Sequence[Point], signs: tuple[int, int]) -> None:
    """Draw the points that no other beats in both cost and quality, along the cost, and the rest behind them."""
    best = pareto_front([(signs[0] * cost.mean, signs[1] * quality.mean) for _, cost, quality in points])
    front = sorted((points[at] for at in best), key=lambda point: point[1].mean)
    color, dash, symbol = series_look(place)
    group = {"legendgroup": family, "name": escape(family, quote=False), "hoverinfo": "text"}
    behind = [point for point in points if point not in front]
    if behind:
        pale = {"color": color, "symbol": symbol, "size": 6, "opacity": 0.35}
        figure.add_scatter(**_places(behind), mode="markers", marker=pale, showlegend=False, **group)
    figure.add_scatter(
        **_places(front),
        error_x=mean_bars([cost for _, cost, _ in front], color),
        error_y=mean_bars([quality for _, _, quality in front], color),
        mode="lines+markers",
        line={"color": color, "dash": dash},
        marker={"color": color, "symbol": symbol, "size": 10},
        **group,
    )


def _places(points: Sequence[Point]) -> dict[str, list[float] | list[str]]:
    return {
        "x": [cost.mean for _, cost, _ in points],
        "y": [quality.mean for _, _, quality in points],
        "hovertext": [f"{_name(row)}<br>{_said(cost)}<br>{_said(quality)}" for row, cost, quality in points],
    }


def quality_width_figure(table: Table, *, theme: Theme = "light") -> Figure:
    """Draw the quality of each contender, with its 95 % interval, over the mean number of beams of a layer.

    Contenders whose width was not counted are left out.

    Example:
        >>> visualize.quality_width_figure(table)

    Raises:
        ValueError: the data is no table of a contest.
    """
    read, figure, title = read_table(table), Figure(), "Quality against the mean width"
    for family, rows in _families_of(read).items():
        found = [(row.mean_width, row.contender, row) for row in rows if row.mean_width is not None]
        if not found:
            continue
        found.sort(key=lambda point: point[:2])
        means = [row.quality for _, _, row in found if row.quality]
        color, dash, symbol = series_look(len(figure.data))
        figure.add_scatter(
            x=[width for width, _, _ in found],
            y=[mean.mean for mean in means],
            error_y=mean_bars(means, color),
            mode="lines+markers" if family in JOINED else "markers",
            name=escape(family, quote=False),
            hovertext=[f"{_name(row)}<br>{mean.mean:.3g}" for (_, _, row), mean in zip(found, means, strict=True)],
            hoverinfo="text",
            line={"color": color, "dash": dash},
            marker={"color": color, "symbol": symbol, "size": 9, "opacity": 0.85},
        )
    if not figure.data:
        return empty_figure(title, theme)
    dress(figure, title, theme)
    figure.update_xaxes(title="mean beams of a layer", rangemode="tozero")
    figure.update_yaxes(title=_quality_title(read), rangemode="normal")
    return figure.update_layout(**BELOW)


def width_histogram_figure(table: Table, *, theme: Theme = "light") -> Figure:
    """Draw the share of layers at each width, duplicates counted, of the first five contenders whose width changed.

    Example:
        >>> visualize.width_histogram_figure(table)

    Raises:
        ValueError: the data is no table of a contest.
    """
    title = "How many beams a layer yields"
    counted = {row.contender: row.widths for row in read_table(table).rows if row.widths and len(row.widths) > 1}
    if not counted:
        return empty_figure(title, theme)
    shown = list(counted.items())[:MOST]
    figure, widths = Figure(), range(1, max(max(found) for _, found in shown) + 1)
    for place, (name, found) in enumerate(shown):
        layers = sum(found.values())
        figure.add_bar(
            x=list(widths),
            y=[found.get(width, 0) / layers for width in widths],
            name=escape(name, quote=False),
            marker={"color": COLORS[place], "pattern": {"shape": PATTERNS[place], "solidity": 0.25}},
        )
    dress(figure, title, theme)
    figure.update_xaxes(title="beams of a layer, duplicates counted", dtick=1)
    figure.update_yaxes(title="share of the layers", tickformat=".0%")
    return figure.update_layout(height=440, legend={"orientation": "v", "y": -0.2, "yanchor": "top"}, margin={"t": 56})


def _families_of(table: ContestTable) -> dict[str, list[ContenderRow]]:
    """Return the rows that have a quality, by method, for ``dsbd`` also by how many beams are kept."""
    found: dict[str, list[ContenderRow]] = {}
    for row in table.rows:
        if row.quality is not None:
            kept = f", {ONE if row.one_sequence else ALL}" if row.method == "dsbd" else ""
            found.setdefault(row.method + kept, []).append(row)
    return found


def _quality_title(table: ContestTable) -> str:
    return f"{table.metric.replace('_', ' ')} ({'more' if table.higher_is_better else 'less'} is better)"


def _measured(rows: Sequence[ContenderRow], cost: str) -> list[Point]:
    """Return the rows whose cost and quality are known, with both."""
    points = [(row, getattr(row, cost), row.quality) for row in rows if row.quality is not None]
    return [point for point in points if point[1] is not None]


def _name(row: ContenderRow) -> str:
    return escape(row.contender, quote=False)


def _said(mean: Mean) -> str:
    return f"{mean.mean:.3g}" if mean.low is None else f"{mean.mean:.3g} [{mean.low:.3g}, {mean.high:.3g}]"
