"""A decode as Plotly figures: the forest of one iteration, or of all as frames; the whole as one tree; its widths."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Literal

import networkx as nx
import plotly.graph_objects as go

from visualize import svg
from visualize.figures import UNUSED, Figure, dress, empty_figure, marked_nodes
from visualize.forest import LayerWidth, Source, check_graph, forest_graph, load_trace
from visualize.theme import MARK_OF, MARKS, MONOSPACE, SIZES, STYLES, TREE_MARKS, YIELDED, Theme, palette
from visualize.tokens import MARKS as SPACES
from visualize.tokens import columns
from visualize.words import Words

FOREST_TOP, FOREST_BOTTOM = 84, 60  # pixels above for the titles, and below for the legend
FRAME_MS = 1200
CONTROLS = 76  # pixels below a figure with frames, for slider and buttons
NO_AXIS = {"visible": False, "fixedrange": True}
TREE = {"autosize": True, "hovermode": "closest", "bargap": 0}
ZOOMED = {"remove": [button for button in UNUSED if not button.startswith("zoom")]}
NOTHING: list[Any] = [None]  # the coordinates of a trace without points: all frames need the same traces
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
        numbers = range(len(trace.iterations)) if iteration == "all" else [iteration]
        forests = [forest_graph(trace, number) for number in numbers]
    below = [one.nodes[id_] for one in forests for _, id_ in one.edges]
    edges = {(MARK_OF[node["state"]], node["multiplicity"] > 1) for node in below}
    marks = [mark for mark in MARKS if any(mark in svg.marks_of(one) for one in forests)]
    kinds = [(mark, shared) for mark in marks for shared in (False, True) if (mark, shared) in edges]
    looks = [(_traces(one, kinds, marks, theme, words), _heads(one, theme, words)) for one in forests]
    figure = dress(Figure(data=looks[0][0]), "", theme, **_axes(forests)).update_layout(looks[0][1])
    if iteration == "all":
        _animate(figure, [go.Frame(data=traces, layout=heads) for traces, heads in looks], theme, words)
    return figure


def _traces(
    forest: nx.DiGraph, kinds: Sequence[tuple[str, bool]], marks: Sequence[str], theme: Theme, words: Words
) -> list[Any]:
    """Return edges by mark and by whether several beams share their node, then nodes by mark, then all bars.

    Edges of one kind are one line with gaps: one trace for each edge would be four times slower.
    """
    lines: dict[tuple[str, bool], list[Any]] = {kind: [] for kind in kinds}
    for below, (start, bend, end) in svg.edges_of(forest, words):
        node = forest.nodes[below]
        level = [start] if start[0] < bend[0] else []
        lines[MARK_OF[node["state"]], node["multiplicity"] > 1] += [*level, *svg.smooth(bend, end), (None, None)]
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
    sizes = [round(style.size * svg.size_factor(node), 2) for node in nodes.values()] or [1.0]
    return marked_nodes(
        nodes, mark, sizes, theme, words,
        x=[node["column"] for node in nodes.values()] or NOTHING,
        y=[node["row"] for node in nodes.values()] or NOTHING,
        mode="markers+text",
        text=["\u2002" + escape(svg.label_of(id_, node, words), quote=False) for id_, node in nodes.items()] or [""],
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
    """Draw P(accepted >= k) of every layer."""
    colors = palette(theme)
    bars = [(layer, k, chance) for layer in forest.graph["layers"] for k, chance in enumerate(layer.chances)]
    fills = [colors.accent if k < layer.width else colors.faint for layer, k, _ in bars]
    return go.Bar(
        x=[layer.layer - 0.04 + _bar_pitch(layer) * (k + 0.5) for layer, k, _ in bars] or NOTHING,
        y=[chance for _, _, chance in bars] or NOTHING,
        width=[_bar_pitch(layer) * SIZES.bar for layer, _, _ in bars] or [1.0],
        marker={"color": fills or [colors.faint]},
        customdata=[k + 1 for _, k, _ in bars] or NOTHING,
        hovertemplate="P(≥%{customdata}) = %{y:.3f}<extra></extra>",
        yaxis="y2",
        showlegend=False,
    )


def _bar_pitch(width: LayerWidth) -> float:
    """Return the part of a column that one bar of a layer takes."""
    return min(0.62, 0.1 * len(width.chances)) / max(len(width.chances), 1)


def _axes(forests: Sequence[nx.DiGraph]) -> dict[str, Any]:
    """Return the size and the axes, with room for the largest forest."""
    widths, _ = zip(*map(svg.size_of, forests), strict=True)
    rows, head = max(one.graph["last_row"] for one in forests), svg.BAND + svg.BARS
    height = round((rows + SIZES.free_rows) * svg.ROW)
    inner = head + height - 40
    share = height / inner
    return {
        "width": max(widths),  # if narrower, edges would run through labels
        "height": inner + FOREST_TOP + FOREST_BOTTOM,
        "dragmode": False,
        "modebar": ZOOMED,
        "margin": {"l": 0, "r": 0, "t": FOREST_TOP, "b": FOREST_BOTTOM},
        "xaxis": {"visible": False, "range": [-svg.LEFT / svg.PITCH, (max(widths) - svg.LEFT) / svg.PITCH]},
        "yaxis": {"visible": False, "range": [rows + SIZES.first_row, -SIZES.first_row], "domain": [0, share]},
        "yaxis2": {**NO_AXIS, "range": [0, 1.12], "domain": [share + 16 / inner, 1], "anchor": "x"},
        "legend": {"y": 0, "yanchor": "top"},
        **TREE,
    }


def _heads(forest: nx.DiGraph, theme: Theme, words: Words) -> dict[str, Any]:
    """Return what differs between iterations: the title, and the head of each layer, verified or only drafted."""
    colors, widths = palette(theme), {one.layer: one for one in forest.graph["layers"]}
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for layer in range(1, forest.graph["last_column"] + 1):
        width, left = widths.get(layer), layer + SIZES.band_start
        ends = {"x0": left, "x1": left + SIZES.band_width, "yref": "paper", "y0": 0, "y1": 1}
        shapes.append({"type": "rect", "layer": "below", "fillcolor": colors.band, "line": {"width": 0}, **ends})
        if width and width.threshold is not None:
            line = {"color": colors.faint, "width": 1, "dash": "dot"}
            ends = {"x0": left + 0.07, "x1": left + 0.09 + _bar_pitch(width) * len(width.chances), "yref": "y2"}
            shapes.append({"type": "line", "y0": width.threshold, "y1": width.threshold, "line": line, **ends})
        head = f"<b>{escape(svg.layer_title(layer, width, forest, words), quote=False)}</b><br>"
        notes.append({
            "x": left + 0.06, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 2,
            "text": head + (escape(svg.caption(width, words), quote=False) if width else ""), "align": "left",
            "showarrow": False, "font": {"size": 11.5, "color": colors.ink},
        })  # fmt: skip
    title = {"text": words("figure.forest", index=forest.graph["iteration"] + 1)}
    return {"title": title, "shapes": shapes, "annotations": notes}


def _animate(figure: Figure, frames: Sequence[go.Frame], theme: Theme, words: Words) -> None:
    """Give a figure its frames, named by their number from 1, a slider, and buttons to play and to pause.

    All frames need traces of the same kinds, in the order of the figure.
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

TOP, BOTTOM = 52, 52  # pixels above and below the drawing
SHOWN = 64  # tokens in view before the reader drags the figure
ROW, NUMBERS = 13.0, 20.0  # pixels between two rows of twigs, and for the numbers of the passes
GLYPH, WORD_ANGLE, WORD_GAP = 6.3, 60, 9.0
"""For the words: pixels of a character, degrees by which they rise, and pixels between them and the text."""
FAINT = 0.55
ON_LINE, IN_TWIG = 10, 6  # pixels across a mark
CURVE_POINTS = 9


def decode_figure(source: Source | nx.DiGraph, *, theme: Theme = "light", language: str = "en") -> Figure:
    """Draw the whole decode as one tree: the text as a line under its words, every other guess as a twig below it.

    Each band is one pass of the large model. Hovering shows the exact state of a node and its numbers. Marks, bands and
    numbers of passes carry ``customdata``: the number of the iteration, from 0, and the id of the node or None.

    ``source`` may also be a graph of :func:`forest_graph`. The figure fills the width of its container; without
    iterations it is titled and empty. A decode of more than 64 tokens can be dragged.

    Example:
        >>> visualize.decode_figure(trace)

    Raises:
        TraceError: no such trace.
        ArgumentError: ``theme`` or ``language`` is invalid.
    """
    tree = check_graph(source, "bands") if isinstance(source, nx.DiGraph) else forest_graph(source)
    words = Words(language)
    colors, figure, title = palette(theme), Figure(), _decode_title(tree, words)
    if not tree.graph["bands"]:
        return empty_figure(title, theme, words)
    text = [node for node in tree.nodes.values() if node["row"] == 0]
    longest = max((columns(_word(node)) for node in text), default=0)
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
            x=node["position"], y=line, text=escape(f"\u2068{_word(node)}\u2069", quote=False), textangle=-WORD_ANGLE,
            xanchor="left", yanchor="bottom", xshift=-4, yshift=WORD_GAP - 2, showarrow=False, borderpad=0,
            font={"size": 11, "color": colors.ink},
        )  # fmt: skip
    return dress(
        figure, title, theme,
        height=round(height) + TOP + BOTTOM,
        margin={"l": 8, "r": 8, "t": TOP, "b": BOTTOM},
        dragmode="pan",
        modebar=ZOOMED,
        xaxis={"visible": False, "range": [-0.4, min(max(1, tree.graph["last_position"]), SHOWN) + 0.9]},
        yaxis={**NO_AXIS, "range": [height, 0]},
        legend={"y": 0, "yanchor": "top"},
        **TREE,
    )  # fmt: skip


def _decode_title(tree: nx.DiGraph, words: Words) -> str:
    """Say how many passes of the large model the text took, and how many it would take without guesses."""
    alone = tree.graph["tokens"]
    passes = sum(band.first <= alone for band in tree.graph["bands"])  # other versions may go on after the text
    return words(
        "figure.instead" if tree.graph["is_lossless"] and passes < alone else "figure.decode",
        tokens=words.counted("tokens", alone),
        passes=words.counted("passes", passes),
        alone=alone,
    )


def _word(node: svg.Attributes) -> str:
    """Return the label of a node on the line, without the mark for the space before a word."""
    return str(node["label"].removeprefix(SPACES[" "]) or node["label"])


def _draw_bands(figure: Figure, tree: nx.DiGraph, height: float, theme: Theme, words: Words) -> None:
    """Draw the passes that added a token as bars, to hover over and to click on, and their numbers."""
    colors, bands = palette(theme), [band for band in tree.graph["bands"] if band.last >= band.first]
    counts = [band.last - band.first + 1 for band in bands]
    hovers = [words("figure.pass", index=band.iteration + 1, tokens=words.counted("tokens", count))
              for band, count in zip(bands, counts, strict=True)]  # fmt: skip
    common = {
        "x": [(band.first + band.last) / 2 for band in bands],
        "customdata": [(band.iteration, None) for band in bands],
        "hovertext": [escape(text, quote=False) for text in hovers],
        "hoverinfo": "text",
        "showlegend": False,
    }
    fills = [(colors.paper, colors.band)[band.iteration % 2] for band in bands]
    figure.add_bar(y=[height] * len(bands), width=counts, marker={"color": fills, "line": {"width": 0}}, **common)
    numbers, font = [str(band.iteration + 1) for band in bands], {"size": 11, "color": colors.soft}
    figure.add_scatter(y=[ROW * 0.7] * len(bands), mode="text", text=numbers, textfont=font, **common)


def _twigs(tree: nx.DiGraph, mark: str, line: float) -> Iterable[list[svg.Point]]:
    """Yield the edges to the nodes of a mark below the text, as curves."""
    for id_, node in tree.nodes.items():
        if node["row"] and MARK_OF[node["state"]] == mark:
            above = next((tree.nodes[parent]["row"] for parent in tree.predecessors(id_)), 0)
            start, end = (node["position"] - 1, line + above * ROW), (node["position"], line + node["row"] * ROW)
            yield [start, end] if start[1] == end[1] else svg.smooth(start, end, CURVE_POINTS)


def _draw_lines(figure: Figure, pieces: Iterable[list[svg.Point]], line: dict[str, Any], **look: Any) -> None:
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
    counts = Counter((number, width) for number, layers in widths.items() for width in layers)
    figure.add_bar(x=list(widths), y=list(map(len, widths.values())), marker_color=colors.faint, showlegend=False)
    figure.add_scatter(
        x=[number for number, _ in counts], y=[width for _, width in counts], yaxis="y2", mode="markers",
        name=words("figure.layer_width"), customdata=list(counts.values()),
        hovertemplate="%{customdata} × %{y}<extra></extra>",
        marker={"size": [6 + 4 * min(count, 5) for count in counts.values()], "color": colors.faint, "opacity": 0.7},
    )  # fmt: skip
    figure.add_scatter(
        x=list(widths), y=[sum(layers) / len(layers) if layers else None for layers in widths.values()], yaxis="y2",
        mode="lines+markers", name=words("figure.mean_width"),
        line={"color": colors.accent, "width": 2}, marker={"size": 5},
    )  # fmt: skip
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
