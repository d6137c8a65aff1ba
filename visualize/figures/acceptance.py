"""Draws how drafts fare by layer, by position and by the target's uncertainty: a panel for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dsbd.evaluation.acceptance import AcceptanceTable, Bin, read_acceptance
from visualize.figures.chart_style import COLORS, DASHES, SYMBOLS, dress, empty_figure, error_bars
from visualize.look.states import Theme

TITLE = "Share of the tried drafts that were accepted"
PANELS = {
    "by_layer": "layer of the forest",
    "by_position": "tokens after the prompt",
    "by_entropy": "entropy of the target's law, nats",
}


@dataclass(frozen=True)
class AcceptanceLine:
    """One contender in one panel: the bins in which something was tried."""

    contender: str
    places: tuple[float, ...]
    """The mean value of each bin."""
    rates: tuple[float, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]


@dataclass(frozen=True)
class AcceptanceInfo:
    """The lines of each panel."""

    panels: dict[str, tuple[AcceptanceLine, ...]]


def acceptance_figure(tables: Sequence[AcceptanceTable | Mapping[str, Any]], *, theme: Theme = "light") -> go.Figure:
    """Draw the acceptance rate with its 95 % interval over prompts, by layer, position and entropy.

    Args:
        tables: one for each contender: records, or their plain data.
        theme: ``light`` or ``dark``.

    Raises:
        ValueError: the data is no such table.
    """
    info = acceptance_info(tables)
    return plot_acceptance(info, theme) if any(info.panels.values()) else empty_figure(TITLE, theme)


def acceptance_info(tables: Sequence[AcceptanceTable | Mapping[str, Any]]) -> AcceptanceInfo:
    """Return the data of :func:`acceptance_figure`."""
    read = [read_acceptance(table) for table in tables]
    return AcceptanceInfo(
        {
            panel: tuple(line for one in read if (line := _line(one.contender, getattr(one, panel))).places)
            for panel in PANELS
        }
    )


def _line(contender: str, bins: Sequence[Bin]) -> AcceptanceLine:
    tried = [(one.middle, one.acceptance) for one in bins if one.acceptance is not None]
    return AcceptanceLine(
        contender,
        tuple(place for place, _ in tried),
        tuple(rate.mean for _, rate in tried),
        tuple(rate.low for _, rate in tried),
        tuple(rate.high for _, rate in tried),
    )


def plot_acceptance(info: AcceptanceInfo, theme: Theme = "light") -> go.Figure:
    """Draw an :class:`AcceptanceInfo`."""
    figure = make_subplots(rows=1, cols=len(PANELS), shared_yaxes=True, horizontal_spacing=0.03)
    names = list(dict.fromkeys(line.contender for lines in info.panels.values() for line in lines))
    for column, lines in enumerate(info.panels.values(), 1):
        for line in lines:
            place = names.index(line.contender)
            color = COLORS[place % len(COLORS)]
            figure.add_scatter(
                x=line.places,
                y=line.rates,
                error_y=error_bars(line.rates, line.lows, line.highs, color),
                mode="lines+markers",
                name=escape(line.contender, quote=False),
                legendgroup=line.contender,
                showlegend=column == 1,
                line={"color": color, "dash": DASHES[place % len(DASHES)]},
                marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 8},
                row=1,
                col=column,
            )
    dress(figure, TITLE, theme)
    for column, (panel, title) in enumerate(PANELS.items(), 1):
        figure.update_xaxes(title=title, rangemode="tozero", col=column)
        if panel == "by_layer":
            figure.update_xaxes(dtick=1, rangemode="normal", col=column)
    figure.update_yaxes(range=[0, 1.02])
    figure.update_yaxes(title="accepted / tried", tickformat=".0%", col=1)
    return figure.update_layout(height=440, legend={"y": -0.2, "yanchor": "top"}, margin={"t": 56})
