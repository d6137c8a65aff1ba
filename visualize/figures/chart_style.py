"""The common style of the Plotly charts."""

import textwrap
from collections.abc import Iterable
from html import escape

from visualize.figures.pictured import PicturedFigure
from visualize.look.states import Theme
from visualize.look.theme import FONT, palette
from visualize.words.words import Words

HEIGHT = 380
ACROSS = 42
"""Characters of a line beside the pointer."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon")
"""Colours, dashes and marks of series, in this order: no two series differ in their colour only."""


def series_look(place: int) -> tuple[str, str, str]:
    """Return the colour, the dash and the mark of a series."""
    at = place % len(COLORS)
    return COLORS[at], DASHES[at], SYMBOLS[at]


def dress(figure: PicturedFigure, title: str, theme: Theme) -> PicturedFigure:
    """Give a chart its title, fonts and plain axes; return it."""
    colors = palette(theme)
    figure.update_layout(
        title={"text": title, "x": 0, "xref": "paper", "xanchor": "left", "font": {"size": 16}},
        font=FONT, font_color=colors.ink,
        paper_bgcolor=colors.paper, plot_bgcolor=colors.paper, height=HEIGHT,
        margin={"l": 56, "r": 16, "t": 72, "b": 52},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
    )  # fmt: skip
    figure.update_xaxes(showgrid=False, zeroline=False, linecolor=colors.faint, ticks="")
    figure.update_yaxes(gridcolor=colors.band, zeroline=False, rangemode="tozero")
    return figure


def empty_figure(title: str, theme: Theme, words: Words | None = None, said: str | None = None) -> PicturedFigure:
    """Return a titled figure that says ``said``, or that there is nothing to show."""
    words = words or Words()
    figure = dress(PicturedFigure(), title, theme)
    figure.add_annotation(text=said or words("figure.empty"), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure


def hover_text(lines: Iterable[str]) -> str:
    """Return lines as Plotly takes them, escaped and wrapped: a box that leaves the tree around it to be seen."""
    short = (part for line in lines for part in textwrap.wrap(line, ACROSS, drop_whitespace=False) or [""])
    return "<br>".join(escape(part, quote=False) for part in short)


def dress_tree(figure: PicturedFigure, title: str, theme: Theme) -> PicturedFigure:
    """Give a tree its title, fonts, and axes that are not seen; return it."""
    colors = palette(theme)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure.update_layout(
        title={"text": title, "x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "container",
               "yanchor": "top", "pad": {"t": 13, "l": 8}, "font": {"size": 16}},
        autosize=True, font={**FONT, "color": colors.ink}, paper_bgcolor=colors.paper, plot_bgcolor=colors.paper,
        hovermode="closest", bargap=0,
        hoverlabel={"align": "left", "font": {"size": 11.5, "color": colors.ink}, "bgcolor": colors.paper,
                    "bordercolor": colors.faint, "namelength": 0},
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": colors.faint, "activecolor": colors.accent},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "itemsizing": "constant"},
    )  # fmt: skip
