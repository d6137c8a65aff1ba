"""The forest of one iteration, or of all iterations as frames, as a Plotly figure."""

from collections.abc import Sequence
from html import escape
from typing import Any, Literal

import networkx as nx
import plotly.graph_objects as go

from visualize.figures.chart_style import Figure, dress_tree, empty_figure, marked_nodes
from visualize.forest import Source, Width, forest_graph, load_trace
from visualize.look.states import MARKS, SIZES, YIELDED, Theme, mark_of, mark_style
from visualize.look.theme import MONOSPACE, palette
from visualize.svg import (
    BAND,
    LEFT,
    PITCH,
    caption,
    edges_of,
    label_of,
    layer_title,
    marks_of,
    size_factor,
    size_of,
    smooth,
)
from visualize.words.words import Words

TOP, BOTTOM = 84, 60
"""Pixels that the title, the titles of the layers and the legend need."""
FRAME_MS = 1200
CONTROLS = 76
"""Pixels below the figure for the slider and the buttons of frames."""
NOTHING: list[Any] = [None]
"""The places of a trace without points: all frames need the same traces."""
THIN, THICK, THICKER = 1.2, 2.4, 4.4
"""Pixels of an edge: to a guess, to a token that its layer yielded, and to one that several beams share."""


def forest_figure(
    source: Source, iteration: int | Literal["all"] = 0, *, theme: Theme = "light", language: str = "en"
) -> Figure:
    """Draw the forest of one iteration after its verdicts, or the forests of all as frames with a slider.

    Iterations count from 0. ``"all"`` makes one frame for each, named by its number from 1; all frames have the same
    traces. A trace without iterations gives a titled empty figure.

    Example:
        >>> visualize.forest_figure(trace, iteration=0)

    Raises:
        TraceError: no such iteration, or no such trace.
        ValueError: ``theme`` or ``language`` is unknown.
    """
    trace, words = load_trace(source), Words(language)
    if not trace.iterations:
        return empty_figure(words("method.dsbd"), theme, words)
    shown = range(len(trace.iterations)) if iteration == "all" else [iteration]
    forests = [forest_graph(trace, at) for at in shown]
    below = [one.nodes[id_] for one in forests for _, id_ in one.edges]
    edges = {(mark_of(node["state"]), node["slots"] > 1) for node in below}
    marks = [mark for mark in MARKS if any(mark in marks_of(one) for one in forests)]
    kinds = [(mark, shared) for mark in marks for shared in (False, True) if (mark, shared) in edges]
    looks = [(_traces(one, kinds, marks, theme, words), _heads(one, theme, words)) for one in forests]
    figure = dress_tree(Figure(data=looks[0][0]), "", theme)
    figure.update_layout(**_room(forests), **looks[0][1])
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
        lines[mark_of(node["state"]), node["slots"] > 1] += [*level, *smooth(bend, end), (None, None)]
    traces: list[Any] = []
    for (mark, shared), points in lines.items():
        style, strong = mark_style(mark), MARKS[mark][0] in YIELDED
        width = THICKER if shared else THICK if strong else THIN
        x, y = zip(*points or [(None, None)], strict=True)
        line = {"color": style.color(theme), "width": width, "dash": style.dash}
        look = {"opacity": 1 if strong else 0.7, "showlegend": False, "hoverinfo": "skip"}
        traces.append(go.Scatter(x=x, y=y, mode="lines", line=line, **look))
    return [*traces, *(_nodes(forest, mark, theme, words) for mark in marks), _bars(forest, theme)]


def _nodes(forest: nx.DiGraph, mark: str, theme: Theme, words: Words) -> go.Scatter:
    nodes = {id_: node for id_, node in forest.nodes.items() if mark_of(node["state"]) == mark}
    style, is_settled = mark_style(mark), MARKS[mark][0] in (*YIELDED, "input")
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
        "height": inner + TOP + BOTTOM,
        "margin": {"l": 0, "r": 0, "t": TOP, "b": BOTTOM},
        "xaxis": {"range": [-LEFT / PITCH, (max(widths) - LEFT) / PITCH]},
        "yaxis": {"range": [rows + SIZES.first_row, -SIZES.first_row], "domain": [0, share]},
        "yaxis2": {"visible": False, "range": [0, 1.12], "domain": [share + 16 / inner, 1], "anchor": "x"},
        "legend": {"y": 0, "yanchor": "top"},
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
    below = {"y": 0, "yanchor": "top", "pad": {"t": BOTTOM, "l": 8}}
    figure.update_layout(
        height=figure.layout.height + CONTROLS,
        margin_b=BOTTOM + CONTROLS,
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
