"""Shared by the Plotly figures: their templates, `dsbd` and `dsbd_dark`, and how they stay in a saved notebook."""

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
ACROSS, MOST_LINES = 42, 14  # characters of a line of hover text, and lines
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b88000", "#56b4e9", "#7f7f7f")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x", "triangle-down", "pentagon",
           "bowtie", "hourglass")  # fmt: skip
"""Colours and marks of series, in this order; the marks of up to twelve series differ."""
TEMPLATES: dict[Theme, str] = {"light": "dsbd", "dark": "dsbd_dark"}
UNUSED = ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "toggleSpikelines", "hoverClosestCartesian",
          "hoverCompareCartesian", "sendChartToCloud"]  # fmt: skip
"""Buttons above a figure that are of no use for it; the last would upload it."""
QUIET: dict[str, Any] = {"auto_play": False, "config": {"displaylogo": False}}
"""Options with which Plotly writes a figure; frames wait for the reader."""


def _template(theme: Theme) -> go.layout.Template:
    colors = palette(theme)
    axis = {"gridcolor": colors.band, "linecolor": colors.faint, "zeroline": False, "ticks": "", "automargin": True,
            "title": {"font": {"size": 13}}}  # fmt: skip
    return go.layout.Template(layout={
        "title": {"x": 0, "xref": "container", "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top",
                  "pad": {"t": 14, "l": 12}, "font": {"size": 16}},
        "font": {**FONT, "color": colors.ink}, "paper_bgcolor": colors.paper, "plot_bgcolor": colors.paper,
        "colorway": COLORS, "margin": {"l": 56, "r": 16, "t": 72, "b": 52},
        "xaxis": {**axis, "showgrid": False}, "yaxis": {**axis, "rangemode": "tozero"},
        "hoverlabel": {"align": "left", "font": {"size": 11.5, "color": colors.ink}, "bgcolor": colors.paper,
                       "bordercolor": colors.faint, "namelength": 0},
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colors.faint, "activecolor": colors.accent, "remove": UNUSED},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "itemsizing": "constant"},
    })  # fmt: skip


for _theme, _name in TEMPLATES.items():
    pio.templates[_name] = _template(_theme)


class Figure(go.Figure):
    """A Plotly figure that also shows in a notebook saved as a page, and whose frames wait for the reader.

    Plotly stores only data in a notebook, and a page made of it has no script to draw them. So the figure is stored as
    HTML too; the first one in a notebook brings the script, 5 MB.
    """

    _carrier: tuple[str, str | None] | None = None
    """The run and the cell that brought the script; that cell brings it again in every later run."""

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
        """Return the figure as Plotly writes it: a page, or part of one."""
        return str(super().to_html(*args, **{**QUIET, **options}))

    def write_html(self, *args: Any, **options: Any) -> None:
        """Write the figure as a page, as Plotly does."""
        super().write_html(*args, **{**QUIET, **options})


def brings_script() -> bool:
    """Return whether the current output of the notebook must include Plotly's script."""
    from IPython import get_ipython  # a notebook has it

    shell = get_ipython()
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    run, cell = parent.get("header", {}).get("msg_id", ""), parent.get("metadata", {}).get("cellId")
    carrier = Figure._carrier
    if carrier and (run == carrier[0] or cell is None or cell != carrier[1]):
        return False
    Figure._carrier = run, cell
    return True


def dress(figure: Figure, title: str, theme: Theme, **layout: Any) -> Figure:
    """Set template, title and layout of a figure, and return it. Raises: ArgumentError for an unknown theme."""
    palette(theme)
    return figure.update_layout(template=TEMPLATES[theme], title_text=title, **{"height": HEIGHT, **layout})


def empty_figure(title: str, theme: Theme, words: Words | None = None) -> Figure:
    """Return a titled figure that says that there is nothing to show."""
    figure = dress(Figure(), title, theme, xaxis_visible=False, yaxis_visible=False)
    text = (words or Words())("figure.empty")
    return figure.add_annotation(text=text, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)


def hover_text(lines: Iterable[str]) -> str:
    """Return lines as Plotly takes them, escaped and wrapped, so that the box does not hide the tree around it."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, ACROSS, drop_whitespace=False) or [""]]
    wrapped = wrapped if len(wrapped) <= MOST_LINES else [*wrapped[: MOST_LINES - 1], "…"]
    return "<br>".join(escape(part, quote=False) for part in wrapped)


def marked_nodes(
    nodes: Mapping[int, Attributes], mark: str, sizes: Sequence[float], theme: Theme, words: Words, **more: Any
) -> go.Scatter:
    """Return the nodes of one mark as one trace, so one entry of the legend; hovering shows the facts of a node."""
    style = STYLES[mark]
    color = style.color(theme)
    line = {"width": 0 if style.filled else 1.5, "color": color}
    marker = {"symbol": style.symbol, "size": sizes, "color": color, "line": line, **more.pop("marker", {})}
    hovers = [hover_text(facts_of(id_, node, words)) for id_, node in nodes.items()]
    return go.Scatter(
        name=words(f"mark.{mark}"), marker=marker, **{"hovertext": hovers or [""], "hoverinfo": "text", **more}
    )
