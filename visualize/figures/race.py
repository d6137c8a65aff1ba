"""Draws a race as a scatter: quality against speed, each decoder with its intervals."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from dsbd.evaluation.races import Race, read_race
from dsbd.evaluation.statistics import Mean
from visualize.figures.chart_style import COLORS, SYMBOLS, dress, empty_figure, error_bars
from visualize.look.states import Theme
from visualize.scenes.race import label_of

TITLE = "Quality against speed"
SPEED = "tokens per second (more is better)"
QUALITY = {
    True: "share of right answers (more is better)",
    False: "perplexity (less is better)",
}
LEAST = {QUALITY[True]: 0.0, QUALITY[False]: 1.0}
"""Below which no figure can be."""


@dataclass(frozen=True)
class Dot:
    """One decoder."""

    label: str
    speed: Mean
    quality: Mean


def race_figure(race: Race | Mapping[str, Any], *, theme: Theme = "light") -> go.Figure:
    """Draw quality against tokens per second, with 95 % intervals over seeds or questions.

    Args:
        race: a record, or its plain data.
        theme: ``light`` or ``dark``.

    Raises:
        ValueError: the data is no race.
    """
    read = read_race(race)
    dots = race_dots(read)
    return plot_race(dots, QUALITY[read.higher_is_better], theme) if dots else empty_figure(TITLE, theme)


def race_dots(race: Race) -> tuple[Dot, ...]:
    """Return the data of :func:`race_figure`; a decoder without speed or quality is left out."""
    rows = [(racer.name, racer.row.tokens_per_second, racer.row.quality) for racer in race.racers]
    return tuple(
        Dot(label_of(name), speed, quality)
        for name, speed, quality in rows
        if speed is not None and quality is not None
    )


def plot_race(dots: tuple[Dot, ...], quality: str, theme: Theme = "light") -> go.Figure:
    """Draw the dots, one series for each, so that the legend names them."""
    figure, least = go.Figure(), LEAST[quality]
    for place, dot in enumerate(dots):
        color, symbol = COLORS[place % len(COLORS)], SYMBOLS[place % len(SYMBOLS)]
        figure.add_scatter(
            x=[dot.speed.mean],
            y=[dot.quality.mean],
            error_x=_bars(dot.speed, color, 0.0),
            error_y=_bars(dot.quality, color, least),
            mode="markers",
            name=escape(dot.label, quote=False),
            marker={"color": color, "symbol": symbol, "size": 11},
        )
    dress(figure, TITLE, theme)
    figure.update_xaxes(title=SPEED, rangemode="tozero")
    figure.update_yaxes(title=quality, rangemode="tozero")
    return figure.update_layout(height=440, legend={"y": -0.2, "yanchor": "top"}, margin={"t": 48})


def _bars(mean: Mean, color: str, least: float) -> dict[str, object]:
    return error_bars([mean.mean], [None if mean.low is None else max(mean.low, least)], [mean.high], color)
