"""The figure of a benchmark: quality against speed."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dsbd.bench.records import Mean, Race, Table, read_record
from visualize.figures import COLORS, SYMBOLS, Figure, dress, empty_figure
from visualize.race import label_of
from visualize.theme import Theme, palette

FRONT = "front: no other is better in both"
PLOT, ENTRY = 380, 20
"""Pixels of a scatter without its legend, and of an entry of the legend."""


def pareto_figure(source: Table | Race | Mapping[str, Any], *, theme: Theme = "light") -> Figure:
    """Draw quality against tokens per second, with 95 % intervals, and a line through those that none beats in both.

    ``source`` is a table of ``bench`` or ``eval``, or a race, whose intervals are over seeds or questions: a record, or
    its plain data. A system without speed or quality is left out.

    Example:
        >>> visualize.pareto_figure(table)

    Raises:
        RecordError: the data is no table of a benchmark, and no race.
    """
    is_race = isinstance(source, Race) or (isinstance(source, Mapping) and source.get("format") == Race.format)
    table = read_record(Race, source).table if is_race else read_record(Table, source)
    title, figure, points = "Quality against tokens per second", Figure(), list[tuple[float, float]]()
    for index, row in enumerate(table.rows):
        speed, quality = row.tokens_per_second, row.quality
        if speed is None or quality is None:
            continue
        points.append((speed.mean, quality.mean))
        color = COLORS[index % len(COLORS)]
        figure.add_scatter(
            x=[speed.mean],
            y=[quality.mean],
            error_x=_error_bar(speed, color, least=0.0),
            error_y=_error_bar(quality, color, least=0.0 if table.higher_is_better else 1.0),
            mode="markers",
            name=escape(label_of(row.system), quote=False),
            marker={"color": color, "symbol": SYMBOLS[index % len(SYMBOLS)], "size": 11},
        )
    if not points:
        return empty_figure(title, theme)
    upward = 1 if table.higher_is_better else -1
    front = [points[index] for index in pareto_front([(speed, upward * quality) for speed, quality in points])]
    figure.add_scatter(
        x=[speed for speed, _ in front],
        y=[quality for _, quality in front],
        mode="lines",
        name=FRONT,
        line={"color": palette(theme).soft, "dash": "dot", "width": 1.5},
    )
    return dress(
        figure, title, theme, height=PLOT + ENTRY * (len(points) + 1), margin_t=48,
        xaxis={"title": "tokens per second (more is better)", "rangemode": "tozero"},
        yaxis={"title": f"{table.metric.replace('_', ' ')} ({'more' if table.higher_is_better else 'less'} is better)"},
        legend={"y": 0, "yref": "container", "yanchor": "bottom", "maxheight": 1},
    )  # fmt: skip


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return the indices of the points on the front, by ascending first value.

    A point is off the front if another one is at least as large in both values and larger in one. Of equal points the
    first stands for all.

    >>> pareto_front([(1, 5), (2, 4), (2, 3), (0, 4), (3, 1), (1, 5)])
    [0, 1, 4]

    Args:
        points: two values each, larger is better in both. Negate a value of which less is better.
    """
    order = sorted(range(len(points)), key=lambda index: (-points[index][0], -points[index][1], index))
    front, best = list[int](), -math.inf
    for index in order:
        if points[index][1] > best:
            front.append(index)
            best = points[index][1]
    return front[::-1]


def _error_bar(mean: Mean, color: str, least: float) -> dict[str, Any]:
    """Return the error bar of a mean; an end that is None draws none, and none reaches below the least value."""
    above = 0.0 if mean.high is None else mean.high - mean.mean
    below = 0.0 if mean.low is None else mean.mean - max(mean.low, least)
    return {"type": "data", "array": [above], "arrayminus": [below], "color": color, "thickness": 1.2, "width": 3}
