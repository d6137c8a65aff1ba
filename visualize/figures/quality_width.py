"""Draws quality against the mean width: how many beams it takes to be as good."""

from html import escape

import plotly.graph_objects as go

from dsbd.evaluation.tables import Table, read_table
from visualize.figures.chart_style import COLORS, DASHES, SYMBOLS, dress, empty_figure, mean_bars
from visualize.figures.families import families_of, quality_title
from visualize.look.states import Theme

TITLE = "Quality against the mean width"
JOINED = ("beam_sampling", "beam_search")
"""In these families the width is the one setting: a line joins their points."""


def quality_width_figure(table: Table, *, theme: Theme = "light") -> go.Figure:
    """Draw the quality of each contender, with its 95 % interval, over the mean number of beams of a layer.

    Contenders whose width was not counted are left out.

    Args:
        table: of an evaluation: a record, or its plain data.
        theme: ``light`` or ``dark``.

    Example:
        >>> visualize.quality_width_figure(table)

    Raises:
        ValueError: the data is no table of an evaluation.
    """
    read, figure = read_table(table), go.Figure()
    for family, rows in families_of(read).items():
        found = [(row.mean_width, row.contender, row.quality) for row in rows if row.mean_width is not None]
        found.sort(key=lambda point: point[:2])
        means = [quality for _, _, quality in found if quality]
        if not found:
            continue
        place = len(figure.data)
        color = COLORS[place % len(COLORS)]
        figure.add_scatter(
            x=[width for width, _, _ in found],
            y=[mean.mean for mean in means],
            error_y=mean_bars(means, color),
            mode="lines+markers" if family in JOINED else "markers",
            name=escape(family, quote=False),
            hovertext=[
                f"{escape(name, quote=False)}<br>{mean.mean:.3g}"
                for (_, name, _), mean in zip(found, means, strict=True)
            ],
            hoverinfo="text",
            line={"color": color, "dash": DASHES[place % len(DASHES)]},
            marker={"color": color, "symbol": SYMBOLS[place % len(SYMBOLS)], "size": 9, "opacity": 0.85},
        )
    if not figure.data:
        return empty_figure(TITLE, theme)
    dress(figure, TITLE, theme)
    figure.update_xaxes(title="mean beams of a layer", rangemode="tozero")
    figure.update_yaxes(title=quality_title(read), rangemode="normal")
    return figure.update_layout(height=460, legend={"y": -0.18, "yanchor": "top"}, margin={"t": 56})
