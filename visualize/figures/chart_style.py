"""The common style of the Plotly charts."""

import plotly.graph_objects as go

from visualize.look.states import Theme
from visualize.look.theme import FONT, palette
from visualize.words.words import Words

HEIGHT = 380


def dress(figure: go.Figure, title: str, theme: Theme) -> go.Figure:
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


def empty_figure(title: str, theme: Theme, words: Words | None = None) -> go.Figure:
    """Return a titled figure that says it has nothing to show."""
    words = words or Words()
    figure = dress(go.Figure(), title, theme)
    figure.add_annotation(text=words("figure.empty"), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure
