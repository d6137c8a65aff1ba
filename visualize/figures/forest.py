"""The forest of one iteration, or of all iterations as frames, as a Plotly figure."""

from collections.abc import Sequence
from html import escape
from typing import Any, Literal

import plotly.graph_objects as go

from visualize.drawings import geometry
from visualize.drawings.captions import hover_lines, label
from visualize.drawings.svg import forest_svg
from visualize.figures.chart_style import empty_figure
from visualize.figures.hover import hover_label, hover_text
from visualize.figures.pictured import PicturedFigure
from visualize.look.sizes import SIZES
from visualize.look.states import MARKS, YIELDED, Theme, mark_of, mark_style
from visualize.look.theme import FONT, MONOSPACE, Palette, palette
from visualize.scenes.records import IterationScene, LayerScene, Scene
from visualize.scenes.source import Source, check_iteration, scene_of
from visualize.words.words import Words

TOP, BOTTOM = 84, 60
"""Pixels that the title, the titles of the layers and the legend need."""
FRAME_MS = 1200
CONTROLS = 76
"""Pixels below the figure for the slider and the buttons of frames."""
NOTHING: list[Any] = [None]
"""The places of a trace without points: all frames need the same traces."""
Kinds = tuple[list[tuple[str, bool]], list[str]]
"""The traces of a figure: edges by mark and by whether several beams share their node, then nodes by mark."""
THIN, THICK, THICKER = 1.2, 2.4, 4.4
"""Pixels of an edge: to a guess, to a token that its layer yielded, and to one that several beams share."""


def forest_figure(
    source: Source | Scene, iteration: int | Literal["all"] = 0, *, theme: Theme = "light"
) -> PicturedFigure:
    """Draw the forest of one iteration after its verdicts, or the forests of all as frames with a slider.

    Iterations count from 0. ``"all"`` makes one frame for each, named by its number from 1; all frames have the same
    traces. A trace without iterations gives a titled empty figure. In a saved notebook the figure leaves
    :func:`visualize.forest_svg`.

    Example:
        >>> visualize.forest_figure(trace, iteration=0)

    Raises:
        TraceError: no such iteration, or no such trace.
    """
    scene = scene_of(source)
    if not scene.iterations:
        return PicturedFigure(empty_figure(Words()("method.dsbd"), theme))
    first = 0 if iteration == "all" else check_iteration(iteration, len(scene.iterations))
    shown = scene.iterations if iteration == "all" else scene.iterations[first : first + 1]
    kinds = _kinds_of(shown)
    looks = [(_traces(one, theme, scene.strings, kinds), _heads(one, theme, scene.strings)) for one in shown]
    figure = PicturedFigure(data=looks[0][0])
    figure.update_layout(**_layout(shown, theme), **looks[0][1])
    if iteration == "all":
        frames = [go.Frame(data=traces, layout=heads) for traces, heads in looks]
        _animate(figure, frames, palette(theme), scene.strings)
    return figure.with_picture(lambda: forest_svg(scene, first, theme=theme))


def _kinds_of(iterations: Sequence[IterationScene]) -> Kinds:
    nodes = [node for iteration in iterations for node in iteration.nodes]
    edges = {(mark_of(node.state), node.slots > 1) for node in nodes if node.parent >= 0}
    marks = {mark_of(node.state) for node in nodes}
    found = [(mark, shared) for mark in MARKS for shared in (False, True) if (mark, shared) in edges]
    return found, [mark for mark in MARKS if mark in marks]


def _traces(iteration: IterationScene, theme: Theme, strings: dict[str, str], kinds: Kinds) -> list[Any]:
    """One trace for each kind, empty if the iteration has none of it, and one with all bars.

    Edges of one style are one line with gaps: one trace for each edge would be four times slower.
    """
    edges, marks = kinds
    traces: list[Any] = [_edges(iteration, mark, shared, theme) for mark, shared in edges]
    traces += [_nodes(iteration, mark, theme, strings) for mark in marks]
    return [*traces, _bars(iteration, theme)]


def _edges(iteration: IterationScene, mark: str, shared: bool, theme: Theme) -> go.Scatter:
    points: list[tuple[float | None, float | None]] = []
    for node in iteration.nodes:
        if node.parent >= 0 and mark_of(node.state) == mark and (node.slots > 1) == shared:
            points += [*geometry.edge(iteration.nodes[node.parent], node).points(), (None, None)]
    x, y = zip(*points or [(None, None)], strict=True)
    style, strong = mark_style(mark), MARKS[mark][0] in YIELDED
    width = THICKER if shared else THICK if strong else THIN
    opacity = 1 if strong else 0.7
    line = {"color": style.color(theme), "width": width, "dash": style.dash}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False, opacity=opacity)


def _nodes(iteration: IterationScene, mark: str, theme: Theme, strings: dict[str, str]) -> go.Scatter:
    nodes = [node for node in iteration.nodes if mark_of(node.state) == mark]
    style = mark_style(mark)
    color = style.color(theme)
    return go.Scatter(
        x=[node.column for node in nodes] or NOTHING,
        y=[node.row for node in nodes] or NOTHING,
        mode="markers+text",
        name=strings[f"mark.{mark}"],
        marker={
            "symbol": style.symbol,
            "size": [round(style.size * geometry.size_factor(node), 2) for node in nodes] or [1.0],
            "color": color,
            "line": {"width": 0 if style.filled else 1.6, "color": color},
            "opacity": 1,
        },
        text=["\u2002" + escape(label(node, strings), quote=False) for node in nodes] or [""],
        textposition="middle right",
        textfont={
            "family": MONOSPACE,
            "size": [10 if node.state == "cover" else 12.5 for node in nodes] or [12.5],
            "color": palette(theme).ink if MARKS[mark][0] in (*YIELDED, "input") else color,
        },
        hovertext=[hover_text(hover_lines(node, strings, short=True)) for node in nodes] or [""],
        hoverinfo="text",
        cliponaxis=False,
    )


def _bars(iteration: IterationScene, theme: Theme) -> go.Bar:
    """P(accepted >= k) of every layer as bars."""
    colors = palette(theme)
    bars = [(layer, at, value) for layer in iteration.layers for at, value in enumerate(layer.at_least)]
    fills = [colors.accent if at < layer.width else colors.faint for layer, at, _ in bars]
    return go.Bar(
        x=[layer.layer - 0.04 + _each(layer) * (at + 0.5) for layer, at, _ in bars] or NOTHING,
        y=[value for _, _, value in bars] or NOTHING,
        width=[_each(layer) * SIZES.bar for layer, _, _ in bars] or [1.0],
        marker={"color": fills or [colors.faint]},
        yaxis="y2",
        showlegend=False,
        hovertext=[escape(layer.reason, quote=False) for layer, _, _ in bars] or [""],
        hoverinfo="text",
    )


def _each(layer: LayerScene) -> float:
    """The columns that one bar of a layer takes."""
    return min(0.62, 0.1 * len(layer.at_least)) / max(len(layer.at_least), 1)


def _layout(iterations: Sequence[IterationScene], theme: Theme) -> dict[str, Any]:
    """What all frames share: size, axes and legend, with room for the largest."""
    colors, hidden = palette(theme), {"visible": False}
    widths, heights = zip(*map(geometry.size, iterations), strict=True)
    inner = max(heights) - 40
    forest = (max(heights) - geometry.BAND) / inner
    rows = max(iteration.last_row for iteration in iterations)
    right = (max(widths) - geometry.LEFT) / geometry.PITCH
    return {
        "autosize": True,
        "height": inner + TOP + BOTTOM,
        "margin": {"l": 0, "r": 0, "t": TOP, "b": BOTTOM},
        "font": {**FONT, "color": colors.ink},
        "paper_bgcolor": colors.paper,
        "plot_bgcolor": colors.paper,
        "hovermode": "closest",
        "hoverlabel": hover_label(theme),
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colors.faint, "activecolor": colors.accent},
        "xaxis": {**hidden, "range": [-geometry.LEFT / geometry.PITCH, right]},
        "yaxis": {**hidden, "range": [rows + SIZES.first_row, -SIZES.first_row], "domain": [0, forest]},
        "yaxis2": {**hidden, "range": [0, 1.12], "domain": [forest + 16 / inner, 1], "anchor": "x"},
        "legend": {"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "itemsizing": "constant"},
    }


def _heads(iteration: IterationScene, theme: Theme, strings: dict[str, str]) -> dict[str, Any]:
    """What differs between iterations: the title, and the head of each layer; drafted layers have one too."""
    verified = {layer.layer for layer in iteration.layers}
    untried = [
        LayerScene(column, Words(strings["language"]).column_title(column, iteration.before))
        for column in range(1, iteration.last_column + 1)
        if column not in verified
    ]
    layers, colors = (*iteration.layers, *untried), palette(theme)
    title = strings["figure.forest"].format(index=iteration.index + 1)
    head = {"text": title, "x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "container",
            "yanchor": "top", "pad": {"t": 12, "l": 8}, "font": {"size": 16}}  # fmt: skip
    shapes = [shape for layer in layers for shape in _shapes(layer, theme)]
    notes = [
        {
            "x": layer.layer + SIZES.band_start + 0.06, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom",
            "yshift": 2, "text": f"<b>{escape(layer.title, quote=False)}</b><br>{escape(layer.caption, quote=False)}",
            "align": "left", "showarrow": False, "font": {"size": 11.5, "color": colors.ink},
            "hovertext": escape(layer.reason, quote=False),
        }
        for layer in layers
    ]  # fmt: skip
    return {"title": head, "shapes": shapes, "annotations": notes}


def _shapes(layer: LayerScene, theme: Theme) -> list[dict[str, Any]]:
    """The column of a layer, and its threshold as a line."""
    colors, left = palette(theme), layer.layer + SIZES.band_start
    ends = {"x0": left, "x1": left + SIZES.band_width, "yref": "paper", "y0": 0, "y1": 1}
    column = {"type": "rect", "layer": "below", "fillcolor": colors.band, "line": {"width": 0}, **ends}
    if layer.threshold is None:
        return [column]
    line = {"color": colors.faint, "width": 1, "dash": "dot"}
    ends = {"x0": left + 0.07, "x1": left + 0.09 + _each(layer) * len(layer.at_least), "yref": "y2"}
    return [column, {"type": "line", "y0": layer.threshold, "y1": layer.threshold, "line": line, **ends}]


def _animate(figure: go.Figure, frames: Sequence[go.Frame], colors: Palette, strings: dict[str, str]) -> None:
    """Give a figure its frames, named by their number from 1, a slider, and buttons to play and to pause.

    All frames need traces of the same kinds, in the same order as the figure.
    """
    names = [str(number) for number in range(1, len(frames) + 1)]
    for name, frame in zip(names, frames, strict=True):
        frame.update(name=name, traces=list(range(len(figure.data))))
    figure.frames = frames
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    playing = {"fromcurrent": True, "frame": {"duration": FRAME_MS, "redraw": True}, "transition": {"duration": 0}}
    steps = [{"label": name, "method": "animate", "args": [[name], still]} for name in names]
    buttons = [
        {"label": "▶", "method": "animate", "args": [None, playing]},
        {"label": "❚❚", "method": "animate", "args": [[None], still]},
    ]
    bottom = figure.layout.margin.b
    below = {"y": 0, "yanchor": "top", "pad": {"t": bottom, "l": 8}}
    figure.update_layout(
        height=figure.layout.height + CONTROLS,
        margin_b=bottom + CONTROLS,
        sliders=[{
            **below, "x": 0.12, "len": 0.86, "steps": steps, "ticklen": 3, "font": {"size": 10},
            "currentvalue": {"prefix": f"{strings['ui.iteration']} ", "font": {"size": 12}},
            "bordercolor": colors.faint, "bgcolor": colors.band, "activebgcolor": colors.accent,
        }],
        updatemenus=[{
            **below, "type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "buttons": buttons,
            "showactive": False, "bgcolor": colors.band, "bordercolor": colors.faint,
        }],
    )  # fmt: skip
