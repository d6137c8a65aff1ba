"""Draws how often a layer yielded how many beams."""

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from dsbd.evaluation.tables import Table, read_table
from visualize.figures.chart_style import COLORS, dress, empty_figure
from visualize.look.states import Theme

TITLE = "How many beams a layer yields"
PATTERNS = ("", "/", ".", "x", "-")
MOST = len(PATTERNS)
"""Contenders in one figure."""


def width_histogram_figure(
    table: Table, *, contenders: Sequence[str] | None = None, theme: Theme = "light"
) -> go.Figure:
    """Draw the share of layers at each width, duplicates counted, of a few contenders.

    Args:
        table: of an evaluation: a record, or its plain data.
        contenders: names of at most five; None takes the first five whose width changed.
        theme: ``light`` or ``dark``.

    Example:
        >>> visualize.width_histogram_figure(table)

    Raises:
        ValueError: the data is no table of an evaluation, or a contender has no widths in it.
    """
    counted = {row.contender: row.widths for row in read_table(table).rows if row.widths}
    if contenders is None:
        contenders = [name for name, widths in counted.items() if len(widths) > 1][:MOST]
    unknown = [name for name in contenders if name not in counted]
    if unknown or len(contenders) > MOST:
        what = f"{unknown[0]!r} has no widths" if unknown else f"{len(contenders)} contenders are too many"
        raise ValueError(f"{what}; name at most {MOST} of {', '.join(counted) or 'no contender: none were counted'}")
    if not contenders:
        return empty_figure(TITLE, theme)
    figure, widths = go.Figure(), range(1, max(max(counted[name]) for name in contenders) + 1)
    for place, name in enumerate(contenders):
        layers = sum(counted[name].values())
        figure.add_bar(
            x=list(widths),
            y=[counted[name].get(width, 0) / layers for width in widths],
            name=escape(name, quote=False),
            marker={"color": COLORS[place], "pattern": {"shape": PATTERNS[place], "solidity": 0.25}},
        )
    dress(figure, TITLE, theme)
    figure.update_xaxes(title="beams of a layer, duplicates counted", dtick=1)
    figure.update_yaxes(title="share of the layers", tickformat=".0%")
    return figure.update_layout(height=440, legend={"orientation": "v", "y": -0.2, "yanchor": "top"}, margin={"t": 56})
