"""The forest of one iteration, or of all as frames, as a Plotly figure: info, drawing, one public function."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import plotly.graph_objects as go

from dsbd.tracing.records import Iteration
from visualize.drawings import geometry
from visualize.drawings.captions import hover_lines, label
from visualize.drawings.svg import forest_svg
from visualize.figures.chart_style import empty_figure
from visualize.figures.frames import Frame, animated
from visualize.figures.pictured import PicturedFigure
from visualize.look.sizes import SIZES
from visualize.look.states import STATES, YIELDED, Theme, styles
from visualize.look.theme import FONT, MONOSPACE, palette
from visualize.scenes.records import IterationScene, LayerScene, NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, scene_of
from visualize.words.words import Words

RING = 23
TOP, BOTTOM = 84, 60
"""Pixels that the title, the titles of the layers and the legend need."""
THIN, THICK, THICKER = 1.2, 2.4, 4.4
"""Pixels of an edge: to a guess, to a token that its layer yielded, and to one that several beams share."""


@dataclass(frozen=True)
class EdgeGroup:
    """All edges to nodes of one state, those to shared nodes apart, as one line with gaps (None)."""

    state: str
    shared: bool
    """True where several beams end at each node."""
    x: tuple[float | None, ...]
    y: tuple[float | None, ...]


@dataclass(frozen=True)
class NodeGroup:
    """All nodes of one state: one trace and one entry of the legend."""

    state: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[str, ...]
    """Escaped for Plotly."""
    hovers: tuple[str, ...]
    """Escaped for Plotly; ``<br>`` joins the lines."""
    sizes: tuple[float, ...]


@dataclass(frozen=True)
class ForestInfo:
    """What the figure shows."""

    title: str
    width: int
    height: int
    columns: int
    rows: float
    edges: tuple[EdgeGroup, ...]
    nodes: tuple[NodeGroup, ...]
    landed: tuple[tuple[float, float], ...]
    landed_name: str
    layers: tuple[LayerScene, ...]
    untried: tuple[tuple[int, str], ...]
    """Number and title of each layer that was drafted, but that verification did not reach."""


def forest_figure(
    source: Source | Iteration | Scene, iteration: int | Literal["all"] = 0, *, theme: Theme = "light"
) -> PicturedFigure:
    """Draw the forest of one iteration after its verdicts, or of all of them as frames with a slider.

    Args:
        source: a trace, the path of a trace file, a scene, or one iteration.
        iteration: which one, from 0; for a lone iteration 0. ``"all"`` has one frame for each, named by its number from
            1; all frames have the same traces.
        theme: ``light`` or ``dark``.

    Returns: the figure; a titled empty one if the trace has no iterations. In a saved notebook it leaves
        :func:`visualize.forest_svg`.

    Raises:
        TraceError: no such iteration, or no such trace.
    """
    scene = scene_of(source)
    if not scene.iterations:
        return PicturedFigure(empty_figure(Words()("method.dsbd"), theme))
    if iteration == "all":
        infos = [_info(scene, chosen) for chosen in scene.iterations]
        figure = plot_forests(infos, theme, scene.strings)
    else:
        figure = plot_forest(_info(scene, scene.iterations[check_iteration(iteration, len(scene.iterations))]), theme)
    first = 0 if iteration == "all" else iteration
    return figure.with_picture(lambda: forest_svg(scene, first, theme=theme))


def forest_info(source: Source | Iteration | Scene, iteration: int = 0) -> ForestInfo | None:
    """Return the data of :func:`forest_figure`; None for a trace without iterations. Raises: TraceError."""
    scene = scene_of(source)
    if not scene.iterations:
        return None
    return _info(scene, scene.iterations[check_iteration(iteration, len(scene.iterations))])


def _info(scene: Scene, chosen: IterationScene) -> ForestInfo:
    width, height = geometry.size(chosen)
    groups = [(state, [node for node in chosen.nodes if node.state == state]) for state in STATES]
    ends = [(state, shared, [node for node in nodes if node.parent >= 0 and (node.slots > 1) == shared])
            for state, nodes in groups for shared in (False, True)]  # fmt: skip
    verified = {layer.layer for layer in chosen.layers}
    return ForestInfo(
        scene.strings["figure.forest"].format(index=chosen.index + 1),
        width,
        height,
        chosen.last_column,
        chosen.last_row,
        tuple(_edges(state, shared, nodes, chosen) for state, shared, nodes in ends if nodes),
        tuple(_nodes(state, nodes, scene.strings) for state, nodes in groups if nodes),
        tuple((node.column, node.row) for node in chosen.nodes if node.landed),
        scene.strings["state.landed"],
        chosen.layers,
        tuple(
            (number, scene.strings["layer.title"].format(layer=number))
            for number in range(1, chosen.last_column + 1)
            if number not in verified
        ),
    )


def _edges(state: str, shared: bool, nodes: list[NodeScene], iteration: IterationScene) -> EdgeGroup:
    x: list[float | None] = []
    y: list[float | None] = []
    for node in nodes:
        points = list(geometry.edge(iteration.nodes[node.parent], node).points())
        x += [*(point[0] for point in points), None]
        y += [*(point[1] for point in points), None]
    return EdgeGroup(state, shared, tuple(x), tuple(y))


def _nodes(state: str, nodes: list[NodeScene], strings: dict[str, str]) -> NodeGroup:
    return NodeGroup(
        state,
        strings[f"state.{state}"],
        tuple(node.column for node in nodes),
        tuple(node.row for node in nodes),
        tuple("\u2002" + escape(label(node, strings), quote=False) for node in nodes),
        tuple("<br>".join(escape(line, quote=False) for line in hover_lines(node, strings)) for node in nodes),
        tuple(round(styles()[state].size * geometry.size_factor(node), 2) for node in nodes),
    )


def plot_forest(info: ForestInfo, theme: Theme = "light") -> PicturedFigure:
    """Draw a :class:`ForestInfo`."""
    figure = PicturedFigure(data=_traces(info, theme, _kinds([info])))
    return figure.update_layout(**_layout([info], theme), **_heads(info, theme))


def plot_forests(infos: Sequence[ForestInfo], theme: Theme, strings: dict[str, str]) -> PicturedFigure:
    """Draw one frame for each :class:`ForestInfo`, all with the same traces and the same axes."""
    kinds = _kinds(infos)
    frames = [Frame(info.title, _traces(info, theme, kinds), _heads(info, theme)) for info in infos]
    figure = PicturedFigure(data=frames[0].traces)
    figure.update_layout(**_layout(infos, theme), **frames[0].layout)
    animated(figure, frames, palette(theme), strings)
    return figure


@dataclass(frozen=True)
class Kinds:
    """The traces that a set of figures has, in order: groups of edges, the ring, and groups of nodes."""

    edges: tuple[tuple[str, bool], ...]
    landed: bool
    nodes: tuple[tuple[str, str], ...]
    """State and name."""


def _kinds(infos: Sequence[ForestInfo]) -> Kinds:
    return Kinds(
        _unique((edges.state, edges.shared) for info in infos for edges in info.edges),
        any(info.landed for info in infos),
        _unique((nodes.state, nodes.name) for info in infos for nodes in info.nodes),
    )


def _unique(groups: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Each group once, in the order of the legend."""
    return tuple(sorted(set(groups), key=lambda group: (STATES.index(group[0]), group[1])))


def _traces(info: ForestInfo, theme: Theme, kinds: Kinds) -> list[Any]:
    """One trace for each kind, empty where the iteration has none, and one with all bars.

    One trace per style, with gaps: one per edge would be four times slower. One per state, so that the legend has all.
    """
    edges = {(group.state, group.shared): group for group in info.edges}
    nodes = {group.state: group for group in info.nodes}
    traces: list[Any] = [
        _edge_trace(edges.get(kind, EdgeGroup(*kind, (None,), (None,))), theme) for kind in kinds.edges
    ]
    if kinds.landed:
        x, y = zip(*info.landed, strict=True) if info.landed else ((None,), (None,))
        ring = {"symbol": "circle-open", "size": RING, "color": palette(theme).ink, "line": {"width": 1.3}}
        traces.append(go.Scatter(x=x, y=y, mode="markers", marker=ring, hoverinfo="skip", name=info.landed_name))
    nothing: tuple[Any, ...] = ((None,), (None,), ("",), ("",), (1.0,))
    traces += [_node_trace(nodes.get(state, NodeGroup(state, name, *nothing)), theme) for state, name in kinds.nodes]
    return [*traces, _bars(info, theme)]


def _edge_trace(edges: EdgeGroup, theme: Theme) -> go.Scatter:
    style, strong = styles()[edges.state], edges.state in YIELDED
    width = THICKER if edges.shared else THICK if strong else THIN
    line = {"color": style.color(theme), "width": width, "dash": style.dash}
    opacity = 1 if strong else 0.4 if edges.state == "cover" else 0.7
    return go.Scatter(
        x=edges.x, y=edges.y, mode="lines", line=line, hoverinfo="skip", showlegend=False, opacity=opacity
    )


def _node_trace(nodes: NodeGroup, theme: Theme) -> go.Scatter:
    style = styles()[nodes.state]
    color = style.color(theme)
    settled = nodes.state in (*YIELDED, "input")
    return go.Scatter(
        x=nodes.x,
        y=nodes.y,
        mode="markers+text",
        name=nodes.name,
        marker={
            "symbol": style.symbol,
            "size": nodes.sizes,
            "color": color,
            "line": {"width": 0 if style.filled else 1.6, "color": color},
            "opacity": 1,
        },
        text=nodes.labels,
        textposition="middle right",
        textfont={
            "family": MONOSPACE,
            "size": 10 if nodes.state == "cover" else 12.5,
            "color": palette(theme).ink if settled else color,
        },
        hovertext=nodes.hovers,
        hoverinfo="text",
        cliponaxis=False,
    )


def _bars(info: ForestInfo, theme: Theme) -> go.Bar:
    """P(accepted >= k) of every layer as bars."""
    colors = palette(theme)
    bars = [
        (
            layer.layer - 0.04 + _each(layer) * (at + 0.5),
            value,
            _each(layer) * SIZES.bar,
            at < layer.width,
            layer.reason,
        )
        for layer in info.layers
        for at, value in enumerate(layer.at_least)
    ]
    x, y, widths, chosen, reasons = zip(*bars, strict=True) if bars else ((None,), (None,), (1.0,), (False,), ("",))
    return go.Bar(
        x=x,
        y=y,
        width=widths,
        marker={"color": [colors.accent if one else colors.faint for one in chosen]},
        yaxis="y2",
        showlegend=False,
        hovertext=[escape(reason, quote=False) for reason in reasons],
        hoverinfo="text",
    )


def _each(layer: LayerScene) -> float:
    """The columns that one bar of a layer takes."""
    return min(0.62, 0.1 * len(layer.at_least)) / max(len(layer.at_least), 1)


def _layout(infos: Sequence[ForestInfo], theme: Theme) -> dict[str, Any]:
    """What all frames share: size, axes and legend, with room for the largest."""
    colors, hidden = palette(theme), {"visible": False}
    width, height = max(info.width for info in infos), max(info.height for info in infos)
    inner = height - 40
    forest = (height - geometry.BAND) / inner
    rows = max(info.rows for info in infos)
    return {
        "autosize": True,
        "height": inner + TOP + BOTTOM,
        "margin": {"l": 0, "r": 0, "t": TOP, "b": BOTTOM},
        "font": {**FONT, "color": colors.ink},
        "paper_bgcolor": colors.paper,
        "plot_bgcolor": colors.paper,
        "hovermode": "closest",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colors.faint, "activecolor": colors.accent},
        "xaxis": {**hidden, "range": [-geometry.LEFT / geometry.PITCH, (width - geometry.LEFT) / geometry.PITCH]},
        "yaxis": {**hidden, "range": [rows + SIZES.first_row, -SIZES.first_row], "domain": [0, forest]},
        "yaxis2": {**hidden, "range": [0, 1.12], "domain": [forest + 16 / inner, 1], "anchor": "x"},
        "legend": {"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "itemsizing": "constant"},
    }


def _heads(info: ForestInfo, theme: Theme) -> dict[str, Any]:
    """What is an iteration's own: its title, and column, title and width of each layer, drafted ones too."""
    colors, shapes, notes = palette(theme), [], []
    layers = [(layer.layer, layer.title, layer) for layer in info.layers]
    for number, title, layer in [*layers, *((number, title, None) for number, title in info.untried)]:
        left = number + SIZES.band_start
        column = {"type": "rect", "layer": "below", "fillcolor": colors.band, "line": {"width": 0}}
        shapes.append({"x0": left, "x1": left + SIZES.band_width, "yref": "paper", "y0": 0, "y1": 1, **column})
        if layer is not None and layer.threshold is not None:
            line = {"color": colors.faint, "width": 1, "dash": "dot"}
            ends = {"x0": left + 0.07, "x1": left + 0.09 + _each(layer) * len(layer.at_least)}
            shapes.append(
                {"type": "line", "yref": "y2", "y0": layer.threshold, "y1": layer.threshold, "line": line, **ends}
            )
        told = [f"<b>{escape(title, quote=False)}</b>", escape(layer.caption, quote=False) if layer else ""]
        notes.append({
            "x": left + 0.06, "y": 1, "yref": "paper", "xanchor": "left", "yanchor": "bottom", "yshift": 2,
            "text": "<br>".join(told), "align": "left", "showarrow": False, "font": {"size": 11.5, "color": colors.ink},
            "hovertext": escape(layer.reason, quote=False) if layer else "",
        })  # fmt: skip
    head = {"text": info.title, "x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "container",
             "yanchor": "top", "pad": {"t": 12, "l": 8}, "font": {"size": 16}}  # fmt: skip
    return {"title": head, "shapes": shapes, "annotations": notes}
