"""The whole decode as one tree, as a Plotly figure."""

from collections.abc import Iterable
from html import escape
from typing import Any

from visualize.drawings.captions import hover_lines, isolated
from visualize.drawings.decode_tree import ROW, WORD_ANGLE, WORD_GAP, DecodeTree, band_title, decode_title, word
from visualize.drawings.geometry import Point
from visualize.figures.chart_style import empty_figure
from visualize.figures.hover import hover_label, hover_text
from visualize.figures.pictured import PicturedFigure
from visualize.look.states import TREE_MARKS, Theme, mark_of, mark_style
from visualize.look.theme import FONT, palette
from visualize.scenes.records import NodeScene, Scene
from visualize.scenes.source import Source, scene_of
from visualize.words.words import Words

TOP, BOTTOM = 76, 12
"""Pixels above and below the drawing."""
SHOWN = 64
"""Tokens that are seen before the reader drags the figure."""
FAINT = 0.55
ON_LINE, IN_TWIG = 10, 6
"""Pixels across a mark."""
REMOVED_BUTTONS = ["autoScale2d", "hoverClosestCartesian", "hoverCompareCartesian", "toggleSpikelines"]


def decode_figure(source: Source | Scene, *, theme: Theme = "light", language: str = "en") -> PicturedFigure:
    """Draw the whole decode as one tree: the text as a line under its words, every other guess as a twig below it.

    Each band is one pass of the large model. Hovering tells the exact state of a node and its arithmetic. Marks, bands
    and numbers of passes carry ``customdata``: the recorded index of the iteration, and the id of the node or None.

    It is as wide as its place, or titled and empty if the trace has no iterations; a decode of more than 64 tokens can
    be dragged. A scene keeps its language.

    Example:
        >>> visualize.decode_figure(trace)

    Raises:
        TraceError: no such trace.
        ValueError: ``theme`` or ``language`` is invalid.
    """
    scene = scene_of(source, language)
    words = Words(scene.strings["language"])
    if scene.iterations:
        return _plot(scene, theme, words)
    return empty_figure(decode_title(scene, words), theme, words)


def _plot(scene: Scene, theme: Theme, words: Words) -> PicturedFigure:
    figure, colors = PicturedFigure(), palette(theme)
    tree = DecodeTree(scene.whole)
    _draw_bands(figure, tree, theme, words)
    for mark in TREE_MARKS:
        _draw_lines(figure, tree.twigs(mark), {"color": mark_style(mark).color(theme), "width": 1}, opacity=FAINT)
    _draw_lines(figure, tree.text(), {"color": colors.ink, "width": 3})
    told = {(it.index, node.id): node for it in scene.iterations for node in it.nodes if node.parent >= 0}
    for mark in TREE_MARKS:
        _draw_marks(figure, mark, tree, told, theme, words)
    for node in scene.whole.nodes:
        if node.row == 0:
            x, y = tree.place(node)
            figure.add_annotation(
                x=x, y=y, text=escape(isolated(word(node)), quote=False), textangle=-WORD_ANGLE, xanchor="left",
                yanchor="bottom", xshift=-4, yshift=WORD_GAP - 2, showarrow=False, borderpad=0,
                font={"size": 11, "color": colors.ink},
            )  # fmt: skip
    hidden = {"visible": False}
    return figure.update_layout(
        title={"text": decode_title(scene, words), "x": 0, "xref": "paper", "xanchor": "left", "y": 1,
               "yref": "container", "yanchor": "top", "pad": {"t": 14}, "font": {"size": 16}},
        autosize=True, height=round(tree.height) + TOP + BOTTOM,
        margin={"l": 8, "r": 8, "t": TOP, "b": BOTTOM},
        font={**FONT, "color": colors.ink}, paper_bgcolor=colors.paper, plot_bgcolor=colors.paper,
        hovermode="closest", dragmode="pan", bargap=0,
        hoverlabel=hover_label(theme),
        modebar={"remove": REMOVED_BUTTONS, "bgcolor": "rgba(0,0,0,0)", "color": colors.faint,
                 "activecolor": colors.accent},
        xaxis={**hidden, "range": [-0.4, min(tree.columns, SHOWN) + 0.9]},
        yaxis={**hidden, "range": [tree.height, 0]},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "itemsizing": "constant"},
    )  # fmt: skip


def _draw_bands(figure: PicturedFigure, tree: DecodeTree, theme: Theme, words: Words) -> None:
    """Draw the bands as bars, which can be hovered over and clicked on, and their numbers."""
    colors, bands = palette(theme), tree.bands
    middles = [(band.first + band.last) / 2 for band in bands]
    hover = {
        "customdata": [(band.iteration, None) for band in bands],
        "hovertext": [escape(band_title(band, words), quote=False) for band in bands],
        "hoverinfo": "text", "showlegend": False,
    }  # fmt: skip
    fills = [(colors.paper, colors.band)[band.iteration % 2] for band in bands]
    figure.add_bar(
        x=middles,
        y=[tree.height] * len(bands),
        width=[band.won for band in bands],
        marker={"color": fills, "line": {"width": 0}},
        **hover,
    )
    figure.add_scatter(
        x=middles,
        y=[ROW * 0.7] * len(bands),
        mode="text",
        text=[str(band.iteration + 1) for band in bands],
        textfont={"size": 11, "color": colors.soft},
        **hover,
    )


def _draw_lines(figure: PicturedFigure, pieces: Iterable[list[Point]], line: dict[str, Any], **look: Any) -> None:
    """Draw pieces of lines as one line with gaps (None)."""
    points = [point for piece in pieces for point in (*piece, (None, None))]
    x, y = [x for x, _ in points], [y for _, y in points]
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False, **look)


def _draw_marks(
    figure: PicturedFigure,
    mark: str,
    tree: DecodeTree,
    told: dict[tuple[int, int], NodeScene],
    theme: Theme,
    words: Words,
) -> None:
    """Draw all nodes of one mark: one entry of the legend."""
    nodes = [node for node in tree.whole.nodes if mark_of(node.state) == mark]
    places = [tree.place(node) for node in nodes]
    style = mark_style(mark)
    color = style.color(theme)
    figure.add_scatter(
        x=[x for x, _ in places],
        y=[y for _, y in places],
        mode="markers",
        name=words(f"mark.{mark}"),
        marker={
            "symbol": style.symbol,
            "size": [IN_TWIG if node.row else ON_LINE for node in nodes],
            "opacity": [FAINT if node.row else 1 for node in nodes],
            "color": color,
            "line": {"width": 0 if style.filled else 1.4, "color": color},
        },
        customdata=[(node.iteration, node.id) for node in nodes],
        hovertext=[_hover(told[node.iteration, node.id], node.iteration, words) for node in nodes],
        hoverinfo="text",
    )


def _hover(node: NodeScene, iteration: int, words: Words) -> str:
    return hover_text([*hover_lines(node, words.table, short=True), words("figure.forest", index=iteration + 1)])
