"""Draws a race as a scatter: quality against speed, each decoder with its intervals."""

from collections.abc import Mapping
from html import escape
from typing import Any

from dsbd.evaluation.fronts import pareto_front
from dsbd.evaluation.race_records import Race, read_race
from visualize.figures.chart_style import COLORS, SYMBOLS, Figure, dress, empty_figure, mean_bars
from visualize.look.states import Theme
from visualize.look.theme import palette
from visualize.scenes.race import label_of

TITLE = "Quality against speed"
SPEED = "tokens per second (more is better)"
QUALITY = {True: ("share of right answers (more is better)", 0.0), False: ("perplexity (less is better)", 1.0)}
"""Title of the axis and the least possible value, by whether more is better."""
FRONT = "front: no other is both faster and better"


def race_figure(race: Race | Mapping[str, Any], *, theme: Theme = "light") -> Figure:
    """Draw quality against tokens per second, with 95 % intervals over seeds or questions.

    It takes a record or its plain data. A decoder without speed or quality is left out.

    Example:
        >>> visualize.race_figure(race)

    Raises:
        ValueError: the data is no race.
    """
    read, figure = read_race(race), Figure()
    title, least = QUALITY[read.higher_is_better]
    points = []
    for racer in read.racers:
        speed, quality, place = racer.row.tokens_per_second, racer.row.quality, len(figure.data)
        if speed is None or quality is None:
            continue
        points.append((speed.mean, quality.mean))
        color = COLORS[place % len(COLORS)]
        figure.add_scatter(
            x=[speed.mean],
            y=[quality.mean],
            error_x=mean_bars([speed], color, least=0.0),
            error_y=mean_bars([quality], color, least=least),
            mode="markers",
            name=escape(label_of(racer.name), quote=False),
            marker={"color": color, "symbol": SYMBOLS[place % len(SYMBOLS)], "size": 11},
        )
    if not points:
        return empty_figure(TITLE, theme)
    better = 1 if read.higher_is_better else -1
    front = [points[place] for place in pareto_front([(speed, better * quality) for speed, quality in points])]
    figure.add_scatter(
        x=[speed for speed, _ in front],
        y=[quality for _, quality in front],
        mode="lines",
        name=FRONT,
        line={"color": palette(theme).soft, "dash": "dot", "width": 1.5},
    )
    dress(figure, TITLE, theme)
    figure.update_xaxes(title=SPEED, rangemode="tozero")
    figure.update_yaxes(title=title, rangemode="tozero")
    return figure.update_layout(height=440, legend={"y": -0.2, "yanchor": "top"}, margin={"t": 48})
