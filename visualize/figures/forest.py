"""The forest of one iteration as a Plotly figure: info, drawing, one public function."""

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from dsbd.tracing.records import Iteration
from visualize.drawings import geometry
from visualize.drawings.captions import hover_lines, label
from visualize.figures.chart_style import empty_figure
from visualize.look.sizes import SIZES
from visualize.look.states import STATES, YIELDED, Theme, styles
from visualize.look.theme import FONT, MONOSPACE, palette
from visualize.scenes.records import IterationScene, LayerScene, NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, scene_of
from visualize.words.words import Words

RING = 23
TOP, BOTTOM = 40, 60
"""Pixels that the titles of the layers and the legend need."""


@dataclass(frozen=True)
class EdgeGroup:
    """All edges to nodes of one state, as one line with gaps (None)."""

    state: str
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


def forest_figure(source: Source | Iteration | Scene, iteration: int = 0, *, theme: Theme = "light") -> go.Figure:
    """Draw the forest of one iteration after its verdicts.

    Args:
        source: a trace, the path of a trace file, a scene, or one iteration.
        iteration: which one, from 0; for a lone iteration 0.
        theme: ``light`` or ``dark``.

    Returns: the figure; a titled empty one if the trace has no iterations.

    Raises:
        TraceError: no such iteration, or no such trace.
    """
    info = forest_info(source, iteration)
    return empty_figure(Words()("method.dsbd"), theme) if info is None else plot_forest(info, theme)


def forest_info(source: Source | Iteration | Scene, iteration: int = 0) -> ForestInfo | None:
    """Return the data of :func:`forest_figure`; None for a trace without iterations. Raises: TraceError."""
    scene = scene_of(source)
    if not scene.iterations:
        return None
    chosen = scene.iterations[check_iteration(iteration, len(scene.iterations))]
    width, height = geometry.size(chosen)
    groups = [(state, [node for node in chosen.nodes if node.state == state]) for state in STATES]
    return ForestInfo(
        scene.strings["figure.forest"].format(index=chosen.index + 1),
        width,
        height,
        chosen.last_column,
        chosen.last_row,
        tuple(_edges(state, nodes, chosen) for state, nodes in groups if any(node.parent >= 0 for node in nodes)),
        tuple(_nodes(state, nodes, scene.strings) for state, nodes in groups if nodes),
        tuple((node.column, node.row) for node in chosen.nodes if node.landed),
        scene.strings["state.landed"],
        chosen.layers,
    )


def _edges(state: str, nodes: list[NodeScene], iteration: IterationScene) -> EdgeGroup:
    x: list[float | None] = []
    y: list[float | None] = []
    for node in nodes:
        if node.parent >= 0:
            points = list(geometry.edge(iteration.nodes[node.parent], node).points())
            x += [*(point[0] for point in points), None]
            y += [*(point[1] for point in points), None]
    return EdgeGroup(state, tuple(x), tuple(y))


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


def plot_forest(info: ForestInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`ForestInfo`."""
    figure = go.Figure()
    _draw_edges(figure, info, theme)
    _draw_nodes(figure, info, theme)
    for layer in info.layers:
        _draw_layer(figure, layer, theme)
    colors, inner = palette(theme), info.height - TOP
    forest = (info.height - geometry.BAND) / inner
    hidden = {"visible": False}
    figure.update_layout(
        width=info.width,
        height=info.height + BOTTOM,
        margin={"l": 0, "r": 0, "t": TOP, "b": BOTTOM},
        font={**FONT, "color": colors.ink},
        paper_bgcolor=colors.paper,
        plot_bgcolor=colors.paper,
        hovermode="closest",
        xaxis={**hidden, "range": [-geometry.LEFT / geometry.PITCH, (info.width - geometry.LEFT) / geometry.PITCH]},
        yaxis={**hidden, "range": [info.rows + SIZES.first_row, -SIZES.first_row], "domain": [0, forest]},
        yaxis2={**hidden, "range": [0, 1.12], "domain": [forest + 16 / inner, 1], "anchor": "x"},
        legend={"orientation": "h", "y": 0, "yanchor": "top", "x": 0, "itemsizing": "constant"},
        meta={"title": info.title},
    )
    return figure


def _draw_edges(figure: go.Figure, info: ForestInfo, theme: Theme) -> None:
    """Draw the edges: one Plotly trace per style, with gaps; one per edge would be four times slower."""
    for edges in info.edges:
        style, strong = styles()[edges.state], edges.state in YIELDED
        line = {"color": style.color(theme), "width": 2.4 if strong else 1.2, "dash": style.dash}
        opacity = 1 if strong else 0.4 if edges.state == "cover" else 0.7
        figure.add_scatter(
            x=edges.x, y=edges.y, mode="lines", line=line, hoverinfo="skip", showlegend=False, opacity=opacity
        )


def _draw_nodes(figure: go.Figure, info: ForestInfo, theme: Theme) -> None:
    """Draw one Plotly trace per state, so that the legend has all states, and a ring around landed beams."""
    ink = palette(theme).ink
    if info.landed:
        x, y = zip(*info.landed, strict=True)
        ring = {"symbol": "circle-open", "size": RING, "color": ink, "line": {"width": 1.3}}
        figure.add_scatter(x=x, y=y, mode="markers", marker=ring, hoverinfo="skip", name=info.landed_name)
    for nodes in info.nodes:
        style = styles()[nodes.state]
        color = style.color(theme)
        outline = {"width": 0 if style.filled else 1.6, "color": color}
        settled = nodes.state in (*YIELDED, "input")
        figure.add_scatter(
            x=nodes.x,
            y=nodes.y,
            mode="markers+text",
            name=nodes.name,
            marker={"symbol": style.symbol, "size": nodes.sizes, "color": color, "line": outline, "opacity": 1},
            text=nodes.labels,
            textposition="middle right",
            textfont={
                "family": MONOSPACE,
                "size": 10 if nodes.state == "cover" else 12.5,
                "color": ink if settled else color,
            },
            hovertext=nodes.hovers,
            hoverinfo="text",
            cliponaxis=False,
        )


def _draw_layer(figure: go.Figure, layer: LayerScene, theme: Theme) -> None:
    """Draw the column of a layer, its title, and P(accepted >= k) as bars with the width threshold."""
    colors, count, reason = palette(theme), len(layer.at_least), escape(layer.reason, quote=False)
    span = min(0.62, 0.1 * count)
    each = span / max(count, 1)
    figure.add_bar(
        x=[layer.layer - 0.04 + each * (at + 0.5) for at in range(count)],
        y=layer.at_least,
        width=each * SIZES.bar,
        marker={"color": [colors.accent if at < layer.width else colors.faint for at in range(count)]},
        yaxis="y2",
        showlegend=False,
        hovertext=reason,
        hoverinfo="text",
    )
    left = layer.layer + SIZES.band_start
    right = left + SIZES.band_width
    column = {"type": "rect", "layer": "below", "fillcolor": colors.band, "line": {"width": 0}}
    figure.add_shape(x0=left, x1=right, yref="paper", y0=0, y1=1.6, **column)
    if layer.threshold is not None:
        line = {"color": colors.faint, "width": 1, "dash": "dot"}
        y = layer.threshold
        figure.add_shape(type="line", x0=left + 0.07, x1=left + 0.09 + span, yref="y2", y0=y, y1=y, line=line)
    figure.add_annotation(
        x=left + 0.06,
        y=1,
        yref="paper",
        xanchor="left",
        yanchor="bottom",
        yshift=2,
        text=f"<b>{escape(layer.title, quote=False)}</b><br>{escape(layer.caption, quote=False)}",
        align="left",
        showarrow=False,
        font={"size": 11.5, "color": colors.ink},
        hovertext=reason,
    )
