"""A whole decode as Plotly figures: as one tree, and its widths."""

import math
from collections.abc import Iterable
from html import escape
from typing import Any

import networkx as nx

from visualize.figures.chart_style import Figure, dress, dress_tree, empty_figure, marked_nodes
from visualize.forest import Source, decode_graph, load_trace
from visualize.look.states import TREE_MARKS, Theme, mark_of, mark_style
from visualize.look.theme import palette
from visualize.svg import Attributes, Point, smooth
from visualize.tokens import MARKS, columns
from visualize.words.words import Words

TOP, BOTTOM = 76, 12
"""Pixels above and below the drawing."""
SHOWN = 64
"""Tokens that are seen before the reader drags the figure."""
ROW, NUMBERS = 13.0, 20.0
"""Pixels between two rows of twigs, and for the numbers of the passes."""
GLYPH, WORD_ANGLE, WORD_GAP = 6.3, 60, 9.0
"""Of the words: pixels of a character, degrees by which they rise, and pixels from the text to them."""
FAINT = 0.55
ON_LINE, IN_TWIG = 10, 6
"""Pixels across a mark."""
CURVE_POINTS = 9
REMOVED_BUTTONS = ["autoScale2d", "hoverClosestCartesian", "hoverCompareCartesian", "toggleSpikelines"]


def decode_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> Figure:
    """Draw the whole decode as one tree: the text as a line under its words, every other guess as a twig below it.

    Each band is one pass of the large model. Hovering tells the exact state of a node and its numbers. Marks, bands and
    numbers of passes carry ``customdata``: the number of the iteration, from 0, and the id of the node or None.

    It is as wide as its place, or titled and empty if the trace has no iterations; a decode of more than 64 tokens can
    be dragged.

    Example:
        >>> visualize.decode_figure(trace)

    Raises:
        TraceError: no such trace.
        ValueError: ``theme`` or ``language`` is invalid.
    """
    trace, words = load_trace(source), Words(language)
    tree, colors, figure = decode_graph(trace), palette(theme), Figure()
    title = decode_title(tree, words, is_lossless=trace.settings.lossless)
    if not trace.iterations:
        return empty_figure(title, theme, words)
    text = [node for node in tree.nodes.values() if node["row"] == 0]
    longest = max((columns(word_of(node)) for node in text), default=0)
    line = round(NUMBERS + longest * GLYPH * math.sin(math.radians(WORD_ANGLE)) + 2 * WORD_GAP, 1)
    height = line + (tree.graph["last_row"] + 1) * ROW
    _draw_bands(figure, tree, height, theme, words)
    for mark in TREE_MARKS:
        look = {"color": mark_style(mark).color(theme), "width": 1}
        _draw_lines(figure, _twigs(tree, mark, line), look, opacity=FAINT)
    _draw_lines(figure, [[(0, line), (tree.graph["tokens"], line)]], {"color": colors.ink, "width": 3})
    passes = [words("figure.forest", index=number) for number in range(1, len(trace.iterations) + 1)]
    for mark in TREE_MARKS:
        nodes = {id_: node for id_, node in tree.nodes.items() if mark_of(node["state"]) == mark}
        sizes = [IN_TWIG if node["row"] else ON_LINE for node in nodes.values()]
        figure.add_trace(marked_nodes(
            nodes, mark, sizes, theme, words,
            x=[node["position"] for node in nodes.values()],
            y=[line + node["row"] * ROW for node in nodes.values()],
            mode="markers",
            marker={"opacity": [FAINT if node["row"] else 1 for node in nodes.values()]},
            customdata=[(node["iteration"], id_, passes[node["iteration"]]) for id_, node in nodes.items()],
            hovertemplate="%{hovertext}<br>%{customdata[2]}<extra></extra>",
        ))  # fmt: skip
    for node in text:
        figure.add_annotation(
            x=node["position"], y=line, text=escape(f"\u2068{word_of(node)}\u2069", quote=False), textangle=-WORD_ANGLE,
            xanchor="left", yanchor="bottom", xshift=-4, yshift=WORD_GAP - 2, showarrow=False, borderpad=0,
            font={"size": 11, "color": colors.ink},
        )  # fmt: skip
    return dress_tree(figure, title, theme).update_layout(
        height=round(height) + TOP + BOTTOM,
        margin={"l": 8, "r": 8, "t": TOP, "b": BOTTOM},
        dragmode="pan",
        modebar={"remove": REMOVED_BUTTONS},
        xaxis={"range": [-0.4, min(max(1, tree.graph["last_position"]), SHOWN) + 0.9]},
        yaxis={"range": [height, 0]},
        legend={"y": 1, "yanchor": "bottom"},
    )


def decode_title(tree: nx.DiGraph, words: Words, *, is_lossless: bool) -> str:
    """Return how many passes of the large model the text took, and how many the same law takes without guesses."""
    bands = tree.graph["bands"]
    passes, alone = len(bands), bands[-1].last if bands else 0
    return words(
        "figure.instead" if is_lossless and passes < alone else "figure.decode",
        tokens=words.counted("tokens", tree.graph["tokens"]),
        passes=words.counted("passes", passes),
        alone=alone,
    )


def word_of(node: Attributes) -> str:
    """Return the label of a node on the line, without the mark for the space before a word."""
    return str(node["label"].removeprefix(MARKS[" "]) or node["label"])


def _draw_bands(figure: Figure, tree: nx.DiGraph, height: float, theme: Theme, words: Words) -> None:
    """Draw the passes that won a token as bars, which can be hovered over and clicked on, and their numbers."""
    colors, bands = palette(theme), [band for band in tree.graph["bands"] if band.last >= band.first]
    won = [band.last - band.first + 1 for band in bands]
    told = [words("figure.pass", index=band.iteration + 1, tokens=words.counted("tokens", count))
            for band, count in zip(bands, won, strict=True)]  # fmt: skip
    common = {
        "x": [(band.first + band.last) / 2 for band in bands],
        "customdata": [(band.iteration, None) for band in bands],
        "hovertext": [escape(one, quote=False) for one in told],
        "hoverinfo": "text",
        "showlegend": False,
    }
    fills = [(colors.paper, colors.band)[band.iteration % 2] for band in bands]
    figure.add_bar(y=[height] * len(bands), width=won, marker={"color": fills, "line": {"width": 0}}, **common)
    numbers, font = [str(band.iteration + 1) for band in bands], {"size": 11, "color": colors.soft}
    figure.add_scatter(y=[ROW * 0.7] * len(bands), mode="text", text=numbers, textfont=font, **common)


def _twigs(tree: nx.DiGraph, mark: str, line: float) -> Iterable[list[Point]]:
    """The edges to the nodes of a mark below the text, as curves."""
    for id_, node in tree.nodes.items():
        if node["row"] and mark_of(node["state"]) == mark:
            above = next((tree.nodes[parent]["row"] for parent in tree.predecessors(id_)), 0)
            start, end = (node["position"] - 1, line + above * ROW), (node["position"], line + node["row"] * ROW)
            yield [start, end] if start[1] == end[1] else smooth(start, end, CURVE_POINTS)


def _draw_lines(figure: Figure, pieces: Iterable[list[Point]], line: dict[str, Any], **look: Any) -> None:
    """Draw pieces of lines as one line with gaps (None)."""
    points = [point for piece in pieces for point in (*piece, (None, None))]
    x, y = [x for x, _ in points], [y for _, y in points]
    figure.add_scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False, **look)


def width_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> Figure:
    """Draw the chosen width of each layer, and how many layers of each iteration became final.

    Example:
        >>> visualize.width_figure(trace)

    Raises: TraceError; ValueError for a language without a table.
    """
    iterations, words = load_trace(source).iterations, Words(language)
    if not iterations:
        return empty_figure(words("figure.width"), theme, words)
    colors, figure = palette(theme), Figure()
    widths = {iteration.index + 1: [layer.width for layer in iteration.layers] for iteration in iterations}
    figure.add_bar(
        x=list(widths),
        y=[len(found) for found in widths.values()],
        name=words("figure.layers"),
        marker_color=colors.faint,
        opacity=0.55,
    )
    figure.add_scatter(
        x=[iteration for iteration, found in widths.items() for _ in found],
        y=[width for found in widths.values() for width in found],
        mode="markers",
        name=words("figure.layer_width"),
        marker={"symbol": "circle-open", "size": 9, "color": colors.accent, "line": {"width": 1.5}},
    )
    figure.add_scatter(
        x=list(widths),
        y=[sum(found) / len(found) if found else None for found in widths.values()],
        mode="lines+markers",
        name=words("figure.mean_width"),
        line={"color": colors.accent, "width": 2},
        marker={"size": 5},
    )
    dress(figure, words("figure.width"), theme)
    axis = {"title": words("figure.iteration"), "dtick": max(1, len(iterations) // 16)}
    return figure.update_layout(xaxis=axis, bargap=0.3)
