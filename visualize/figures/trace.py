"""A decode as Plotly figures: the forest of one iteration, or of all as frames; the whole as one tree; its widths."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Literal

import networkx as nx
import plotly.graph_objects as go

from visualize.figures import UNUSED, Figure, dress, empty_figure, marked_nodes
from visualize.forest import Source, Width, check_graph, forest_graph, load_trace
from visualize.svg import (
    BAND,
    LEFT,
    PITCH,
    Attributes,
    Point,
    caption,
    edges_of,
    label_of,
    layer_title,
    marks_of,
    size_factor,
    size_of,
    smooth,
)
from visualize.theme import MARK_OF, MARKS, MONOSPACE, SIZES, STYLES, TREE_MARKS, YIELDED, Theme, palette
from visualize.tokens import MARKS as SPACES
from visualize.tokens import columns
from visualize.words import Words

FOREST_TOP, FOREST_BOTTOM = 84, 60
"""Pixels that the title, the titles of the layers and the legend need."""
FRAME_MS = 1200
CONTROLS = 76
"""Pixels below the figure for the slider and the buttons of frames."""
NO_AXIS = {"visible": False, "fixedrange": True}
TREE = {"autosize": True, "hovermode": "closest", "bargap": 0}
NOTHING: list[Any] = [None]
"""The places of a trace without points: all frames need the same traces."""
THIN, THICK, THICKER = 1.2, 2.4, 4.4
"""Pixels of an edge: to a guess, to a token that its layer yielded, and to one that several beams share."""


def forest_figure(
    source: Source | nx.DiGraph,
    iteration: int | Literal["all"] = 0,
    *,
    theme: Theme = "light",
    language: str = "en",
) -> Figure:
    """Draw the forest of one iteration after its verdicts, or the forests of all as frames with a slider.

    Iterations count from 0. ``"all"`` makes one frame for each, named by its number from 1; all frames have the same
    traces. A trace without iterations gives a titled empty figure. A graph of :func:`forest_graph`, changed as you
    like, is drawn as it is. The figure is as wide as its forest.

    Example:
        >>> visualize.forest_figure(trace, iteration=0)

    Raises:
        TraceError: no such iteration, or no such trace.
        ArgumentError: ``theme`` or ``language`` is unknown.
    """
    words = Words(language)
    if isinstance(source, nx.DiGraph):
        if "bands" in source.graph:
            return decode_figure(source, theme=theme, language=language)
        forests, iteration = [check_graph(source, "layers")], 0
    else:
        trace = load_trace(source)
        if not trace.iterations:
            return empty_figure(words("method.dsbd"), theme, words)
        forests = [
            forest_graph(trace, at) for at in (range(len(trace.iterations)) if iteration == "all" else [iteration])
        ]
    below = [one.nodes[id_] for one in forests for _, id_ in one.edges]
    edges = {(MARK_OF[node["state"]], node["slots"] > 1) for node in below}
    marks = [mark for mark in MARKS if any(mark in marks_of(one) for one in forests)]
    kinds = [(mark, shared) for mark in marks for shared in (False, True) if (mark, shared) in edges]
    looks = [(_traces(one, kinds, marks, theme, words), _heads(one, theme, words)) for one in forests]
    figure = dress(Figure(data=looks[0][0]), "", theme, **_room(forests)).update_layout(looks[0][1])
    if iteration == "all":
        _animate(figure, [go.Frame(data=traces, layout=heads) for traces, heads in looks], theme, words)
    return figure


def _traces(
    forest: nx.DiGraph, kinds: Sequence[tuple[str, bool]], marks: Sequence[str], theme: Theme, words: Words
) -> list[Any]:
    """Edges by mark and by whether several beams share their node, then nodes by mark, then the bars of all layers.

    Edges of one kind are one line with gaps: one trace for each edge would be four times slower.
    """
    lines: dict[tuple[str, bool], list[Any]] = {kind: [] for kind in kinds}
    for below, (start, bend, end) in edges_of(forest, words):
        node = forest.nodes[below]
        level = [start] if start[0] < bend[0] else []
        lines[MARK_OF[node["state"]], node["slots"] > 1] += [*level, *smooth(bend, end), (None, None)]
    traces: list[Any] = []
    for (mark, shared), points in lines.items():
        style, strong = STYLES[mark], MARKS[mark][0] in YIELDED
        width = THICKER if shared else THICK if strong else THIN
        x, y = zip(*points or [(None, None)], strict=True)
        line = {"color": style.color(theme), "width": width, "dash": style.dash}
        look = {"opacity": 1 if strong else 0.7, "showlegend": False, "hoverinfo": "skip"}
        traces.append(go.Scatter(x=x, y=y, mode="lines", line=line, **look))
    return [*traces, *(_nodes(forest, mark, theme, words) for mark in marks), _bars(forest, theme)]


def _nodes(forest: nx.DiGraph, mark: str, theme: Theme, words: Words) -> go.Scatter:
    nodes = {id_: node for id_, node in forest.nodes.items() if MARK_OF[node["state"]] == mark}
    style, is_settled = STYLES[mark], MARKS[mark][0] in (*YIELDED, "input")
    sizes = [round(style.size * size_factor(node), 2) for node in nodes.values()] or [1.0]
    return marked_nodes(
        nodes, mark, sizes, theme, words,
        x=[node["column"] for node in nodes.values()] or NOTHING,
        y=[node["row"] for node in nodes.values()] or NOTHING,
        mode="markers+text",
        text=["\u2002" + escape(label_of(id_, node, words), quote=False) for id_, node in nodes.items()] or [""],
        textposition="middle right",
        textfont={
            "family": MONOSPACE,
            "size": [10 if node["state"] == "cover" else 12.5 for node in nodes.values()] or [12.5],
            "color": palette(theme).ink if is_settled else style.color(theme),
        },
        marker={"opacity": 1},
        cliponaxis=False,
    )  # fmt: skip


def _bars(forest: nx.DiGraph, theme: Theme) -> go.Bar:
    """P(accepted >= k) of every layer."""
    colors = palette(theme)
    bars = [(one, at, value) for one in forest.graph["layers"] for at, value in enumerate(one.chances)]
    return go.Bar(
        x=[one.layer - 0.04 + _each(one) * (at + 0.5) for one, at, _ in bars] or NOTHING,
        y=[value for _, _, value in bars] or NOTHING,
        width=[_each(one) * SIZES.bar for one, _, _ in bars] or [1.0],
        marker={"color": [colors.accent if at < one.width else colors.faint for one, at, _ in bars] or [colors.faint]},
        customdata=[at + 1 for _, at, _ in bars] or NOTHING,
        hovertemplate="P(≥%{customdata}) = %{y:.3f}<extra></extra>",
        yaxis="y2",
        showlegend=False,
    )


def _each(width: Width) -> float:
    """The columns that one bar of a layer takes."""
    return min(0.62, 0.1 * len(width.chances)) / max(len(width.chances), 1)


def _room(forests: Sequence[nx.DiGraph]) -> dict[str, Any]:
    """The size and the axes, with room for the largest forest."""
    widths, heights = zip(*map(size_of, forests), strict=True)
    inner, rows = max(heights) - 40, max(one.graph["last_row"] for one in forests)
    share = (max(heights) - BAND) / inner
    return {
        "width": max(widths),  # in less room edges would run through labels
        "height": inner + FOREST_TOP + FOREST_BOTTOM,
        "dragmode": False,
        "modebar": {"remove": [*UNUSED, "zoom2d", "pan2d", "resetScale2d"]},
        "margin": {"l": 0, "r": 0, "t": FOREST_TOP, "b": FOREST_BOTTOM},
        "xaxis": {**NO_AXIS, "range": [-LEFT / PITCH, (max(widths) - LEFT) / PITCH]},
        "yaxis": {**NO_AXIS, "range": [rows + SIZES.first_row, -SIZES.first_row], "domain": [0, share]},
        "yaxis2": {**NO_AXIS, "range": [0, 1.12], "domain": [share + 16 / inner, 1], "anchor": "x"},
        "legend": {"y": 0, "yanchor": "top"},
        **TREE,
    }


def _heads(forest: nx.DiGraph, theme: Theme, words: Words) -> dict[str, Any]:
    """What differs between iterations: the title, and the head of each layer; drafted layers have one too."""
    colors, widths = palette(theme), {one.layer: one for one in forest.graph["layers"]}
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for layer in range(1, forest.graph["last_column"] + 1):
        width, left = widths.get(layer), layer + SIZES.band_start
        ends = {"x0": left, "x1": left + SIZES.band_width, "yref": "paper", "y0": 0, "y1": 1}
        shapes.append({"type": "rect", "layer": "below", "fillcolor": colors.band, "line": {"width": 0}, **ends})
        if width and width.threshold is not None:
            line = {"color": colors.faint, "width": 1, "dash": "dot"}
            ends = {"x0": left + 0.07, "x1": left + 0.09 + _each(width) * len(width.chances), "yref": "y2"}
            shapes.append({"type": "line", "y0": width.threshold, "y1": width.threshold, "line": line, **ends})
        head = f"<b>{escape(layer_title(layer, width, forest, words), quote=False)}</b><br>"
        notes.append({
            "x": left + 0.06, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 2,
            "text": head + (escape(caption(width, words), quote=False) if width else ""), "align": "left",
            "showarrow": False, "font": {"size": 11.5, "color": colors.ink},
        })  # fmt: skip
    title = {"text": words("figure.forest", index=forest.graph["iteration"] + 1)}
    return {"title": title, "shapes": shapes, "annotations": notes}


def _animate(figure: Figure, frames: Sequence[go.Frame], theme: Theme, words: Words) -> None:
    """Give a figure its frames, named by their number from 1, a slider, and buttons to play and to pause.

    All frames need traces of the same kinds, in the same order as the figure.
    """
    colors, names = palette(theme), [str(number) for number in range(1, len(frames) + 1)]
    for name, frame in zip(names, frames, strict=True):
        frame.update(name=name, traces=list(range(len(figure.data))))
    figure.frames = frames
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    playing = {"fromcurrent": True, "frame": {"duration": FRAME_MS, "redraw": True}, "transition": {"duration": 0}}
    below = {"y": 0, "yanchor": "top", "pad": {"t": FOREST_BOTTOM, "l": 8}}
    figure.update_layout(
        height=figure.layout.height + CONTROLS,
        margin_b=FOREST_BOTTOM + CONTROLS,
        sliders=[{
            **below, "x": 0.12, "len": 0.86, "ticklen": 3, "font": {"size": 10},
            "steps": [{"label": name, "method": "animate", "args": [[name], still]} for name in names],
            "currentvalue": {"prefix": f"{words('ui.iteration')} ", "font": {"size": 12}},
            "bordercolor": colors.faint, "bgcolor": colors.band, "activebgcolor": colors.accent,
        }],
        updatemenus=[{
            **below, "type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "showactive": False,
            "buttons": [{"label": "▶", "method": "animate", "args": [None, playing]},
                        {"label": "❚❚", "method": "animate", "args": [[None], still]}],
            "bgcolor": colors.band, "bordercolor": colors.faint,
        }],
    )  # fmt: skip


# The whole decode

TOP, BOTTOM = 52, 52
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


def decode_figure(source: Source | nx.DiGraph, *, theme: Theme = "light", language: str = "en") -> Figure:
    """Draw the whole decode as one tree: the text as a line under its words, every other guess as a twig below it.

    Each band is one pass of the large model. Hovering tells the exact state of a node and its numbers. Marks, bands and
    numbers of passes carry ``customdata``: the number of the iteration, from 0, and the id of the node or None.

    ``source`` may be a graph of :func:`forest_graph` too. The figure is as wide as its place, or titled and empty if
    the trace has no iterations; a decode of more than 64 tokens can be dragged.

    Example:
        >>> visualize.decode_figure(trace)

    Raises:
        TraceError: no such trace.
        ArgumentError: ``theme`` or ``language`` is invalid.
    """
    tree = check_graph(source, "bands") if isinstance(source, nx.DiGraph) else forest_graph(source)
    words = Words(language)
    colors, figure, title = palette(theme), Figure(), decode_title(tree, words)
    if not tree.graph["bands"]:
        return empty_figure(title, theme, words)
    text = [node for node in tree.nodes.values() if node["row"] == 0]
    longest = max((columns(word_of(node)) for node in text), default=0)
    line = round(NUMBERS + longest * GLYPH * math.sin(math.radians(WORD_ANGLE)) + 2 * WORD_GAP, 1)
    height = line + (tree.graph["last_row"] + 1) * ROW
    _draw_bands(figure, tree, height, theme, words)
    for mark in TREE_MARKS:
        look = {"color": STYLES[mark].color(theme), "width": 1}
        _draw_lines(figure, _twigs(tree, mark, line), look, opacity=FAINT)
    _draw_lines(figure, [[(0, line), (tree.graph["tokens"], line)]], {"color": colors.ink, "width": 3})
    passes = [words("figure.forest", index=number) for number in range(1, len(tree.graph["bands"]) + 1)]
    for mark in TREE_MARKS:
        nodes = {id_: node for id_, node in tree.nodes.items() if MARK_OF[node["state"]] == mark}
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
    return dress(
        figure, title, theme,
        height=round(height) + TOP + BOTTOM,
        margin={"l": 8, "r": 8, "t": TOP, "b": BOTTOM},
        dragmode="pan",
        xaxis={"visible": False, "range": [-0.4, min(max(1, tree.graph["last_position"]), SHOWN) + 0.9]},
        yaxis={**NO_AXIS, "range": [height, 0]},
        legend={"y": 0, "yanchor": "top"},
        **TREE,
    )  # fmt: skip


def decode_title(tree: nx.DiGraph, words: Words) -> str:
    """Return how many passes of the large model the text took, and how many the same distribution takes without
    guesses.
    """
    alone = tree.graph["tokens"]
    passes = sum(band.first <= alone for band in tree.graph["bands"])  # other versions may go on behind the text
    return words(
        "figure.instead" if tree.graph["is_lossless"] and passes < alone else "figure.decode",
        tokens=words.counted("tokens", alone),
        passes=words.counted("passes", passes),
        alone=alone,
    )


def word_of(node: Attributes) -> str:
    """Return the label of a node on the line, without the mark for the space before a word."""
    return str(node["label"].removeprefix(SPACES[" "]) or node["label"])


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
        if node["row"] and MARK_OF[node["state"]] == mark:
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

    Raises: TraceError; ArgumentError for a language without a table.
    """
    iterations, words = load_trace(source).iterations, Words(language)
    if not iterations:
        return empty_figure(words("figure.width"), theme, words)
    colors, figure = palette(theme), Figure()
    widths = {iteration.index + 1: [layer.width for layer in iteration.layers] for iteration in iterations}
    chosen = Counter((number, width) for number, found in widths.items() for width in found)
    figure.add_bar(x=list(widths), y=[len(found) for found in widths.values()], marker_color=colors.faint)
    figure.add_scatter(
        x=[number for number, _ in chosen],
        y=[width for _, width in chosen],
        mode="markers",
        name=words("figure.layer_width"),
        customdata=list(chosen.values()),
        hovertemplate="%{customdata} × %{y}<extra></extra>",
        marker={"size": [6 + 4 * min(count, 5) for count in chosen.values()], "color": colors.faint, "opacity": 0.7},
        yaxis="y2",
    )
    figure.add_scatter(
        x=list(widths),
        y=[sum(found) / len(found) if found else None for found in widths.values()],
        mode="lines+markers",
        name=words("figure.mean_width"),
        line={"color": colors.accent, "width": 2},
        marker={"size": 5},
        yaxis="y2",
    )
    figure.data[0].showlegend = False
    figure.add_annotation(text=words("figure.layers"), x=0, y=1, xref="paper", yref="paper", xanchor="left",
                          yanchor="bottom", showarrow=False)  # fmt: skip
    return dress(
        figure, words("figure.width"), theme, height=420, bargap=0.3,
        xaxis={"title": words("figure.iteration"), "dtick": max(1, len(iterations) // 10), "anchor": "y2",
               "range": [0.3, len(iterations) + 0.7]},
        yaxis={"domain": [0.64, 1]},
        yaxis2={"domain": [0, 0.46], "rangemode": "tozero"},
        legend={"y": 0.47, "yanchor": "bottom"},
    )  # fmt: skip
