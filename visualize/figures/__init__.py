"""The common style of the Plotly charts."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from visualize.svg import Attributes, facts_of
from visualize.theme import FONT, STYLES, Theme, palette
from visualize.words import Words

HEIGHT = 380
ACROSS = 42
"""Characters of a line beside the pointer."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon")
"""Colours and marks of series, in this order: no two series differ in their colour only."""


class Figure(go.Figure):
    """A Plotly figure that a notebook saved as a page still shows, and whose frames wait for the reader.

    Plotly leaves only data in a notebook, and a page made of it has no script to draw them. So the figure stands there
    as HTML too; the first one in a notebook brings the script, 5 MB.
    """

    _carrier: tuple[str, str | None] | None = None
    """The run and the cell that brought the script; that cell brings it whenever it runs again."""

    def __repr__(self) -> str:
        return f"Figure({self.layout.title.text!r}, {len(self.data)} traces)"

    def _ipython_display_(self) -> None:
        self.show()

    def show(self, *args: Any, **options: Any) -> None:
        """Show the figure as Plotly does; in a notebook as HTML too."""
        if args or options or pio.renderers.default != "plotly_mimetype":
            super().show(*args, **options)
            return
        from IPython.display import display  # a notebook has it

        html = self.to_html(full_html=False, include_plotlyjs=brings_script())
        display({**self._repr_mimebundle_(), "text/html": html}, raw=True)

    def to_html(self, *args: Any, **options: Any) -> str:
        """Return the figure as a page or a part of one, as Plotly writes it."""
        return str(super().to_html(*args, **{"auto_play": False, **options}))

    def write_html(self, *args: Any, **options: Any) -> None:
        """Write the figure as a page, as Plotly does."""
        super().write_html(*args, **{"auto_play": False, **options})


def brings_script() -> bool:
    """Return whether an output that a notebook makes now must hold Plotly's script."""
    from IPython import get_ipython  # a notebook has it

    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    run, cell = parent.get("header", {}).get("msg_id", ""), parent.get("metadata", {}).get("cellId")
    brought = Figure._carrier
    if brought and (run == brought[0] or cell is None or cell != brought[1]):
        return False
    Figure._carrier = run, cell
    return True


def dress(figure: Figure, title: str, theme: Theme) -> Figure:
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


def empty_figure(title: str, theme: Theme, words: Words | None = None, said: str | None = None) -> Figure:
    """Return a titled figure that says ``said``, or that there is nothing to show."""
    words = words or Words()
    figure = dress(Figure(), title, theme)
    figure.add_annotation(text=said or words("figure.empty"), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)
    return figure


def hover_text(lines: Iterable[str]) -> str:
    """Return lines as Plotly takes them, escaped and wrapped: a box that leaves the tree around it to be seen."""
    short = (part for line in lines for part in textwrap.wrap(line, ACROSS, drop_whitespace=False) or [""])
    return "<br>".join(escape(part, quote=False) for part in short)


def dress_tree(figure: Figure, title: str, theme: Theme) -> Figure:
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


def marked_nodes(
    nodes: Mapping[int, Attributes], mark: str, sizes: Sequence[float], theme: Theme, words: Words, **more: Any
) -> go.Scatter:
    """Return the nodes of one mark as one trace: one entry of the legend, with what is known of each node as hover."""
    style = STYLES[mark]
    color = style.color(theme)
    line = {"width": 0 if style.filled else 1.5, "color": color}
    marker = {"symbol": style.symbol, "size": sizes, "color": color, "line": line, **more.pop("marker", {})}
    hovers = [hover_text(facts_of(id_, node, words)) for id_, node in nodes.items()]
    return go.Scatter(
        name=words(f"mark.{mark}"), marker=marker, **{"hovertext": hovers or [""], "hoverinfo": "text", **more}
    )
