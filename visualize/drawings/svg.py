"""A static SVG of one iteration's forest, written without a browser."""

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from dsbd.tracing.records import Iteration
from visualize.drawings import geometry
from visualize.drawings.captions import hover_lines, label
from visualize.drawings.geometry import LEFT, PITCH, x_of, y_of
from visualize.files import write
from visualize.look.sizes import SIZES
from visualize.look.states import STATES, YIELDED, Style, Theme, styles
from visualize.look.theme import FONT, MONOSPACE, Palette, palette
from visualize.scenes.at_step import at_step
from visualize.scenes.records import IterationScene, LayerScene, NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, check_step, scene_of

LEGEND = 36
BARS = 52


def forest_svg(
    source: Source | Iteration | Scene, iteration: int = 0, *, step: int | None = None, theme: Theme = "light"
) -> str:
    """The forest of one iteration as a stand-alone SVG document.

    Args:
        source: a trace, the path of a trace file, a scene, or one iteration.
        iteration: which one, from 0.
        step: as it stands at this step, from 0; None = after the last.
        theme: ``light`` or ``dark``.

    Raises:
        TraceError: no such iteration or step, or no such trace.
    """
    scene, colors = scene_of(source), palette(theme)
    if not scene.iterations:
        return _document(
            480, 120, colors, scene.strings["ui.empty"], [_text(24, 64, scene.strings["ui.empty"], colors.soft)]
        )
    chosen = scene.iterations[check_iteration(iteration, len(scene.iterations))]
    width, height = geometry.size(chosen)
    if step is not None:
        chosen = at_step(chosen, check_step(step, chosen), scene.strings["layer.title"])
    parts = [part for layer in chosen.layers for part in _layer(layer, height, colors)]
    parts += [_edge(chosen.nodes[node.parent], node, theme) for node in chosen.nodes if node.parent >= 0]
    parts += [_node(node, colors, theme, scene.strings) for node in chosen.nodes]
    legend, lines = _legend(chosen, width, height, colors, theme, scene.strings)
    title = scene.strings["figure.forest"].format(index=chosen.index + 1)
    return _document(width, height + LEGEND * lines + 12, colors, title, parts + legend)


def export_svg(source: Source, path: str | Path, iteration: int = 0, *, theme: Theme = "light") -> None:
    """Write :func:`forest_svg` to a file. Raises: TraceError."""
    write(path, forest_svg(source, iteration, theme=theme))


def _document(width: int, height: int, colors: Palette, title: str, parts: list[str]) -> str:
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img"'
    background = f'<rect width="100%" height="100%" fill="{colors.paper}"/>'
    font = f'<g font-family={quoteattr(str(FONT["family"]))} font-size="12">'
    return "\n".join([f"{head}>", f"<title>{escape(title)}</title>", background, font, *parts, "</g>", "</svg>", ""])


def _text(x: float, y: float, text: str, color: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="{color}"{more}>{escape(text)}</text>'


def _layer(layer: LayerScene, height: int, colors: Palette) -> list[str]:
    """The column of a layer, its title, and P(accepted >= k) as bars."""
    left, count = x_of(layer.layer + SIZES.band_start), len(layer.at_least)
    band = f'width="{SIZES.band_width * PITCH:.1f}" height="{height - 12}" rx="4" fill="{colors.band}"'
    parts = [
        f"<g><title>{escape(layer.reason)}</title>",
        f'<rect x="{left}" y="8" {band}/>',
        _text(left + 10, 28, layer.title, colors.ink, ' font-weight="600"'),
        _text(left + 10, 44, layer.caption, colors.soft, ' font-size="11"'),
    ]
    each = min(0.62 * PITCH, 16.0 * count) / max(count, 1)
    for at, value in enumerate(layer.at_least):
        color = colors.accent if at < layer.width else colors.faint
        parts.append(
            f'<rect x="{left + 10 + at * each:.1f}" y="{52 + BARS * (1 - value):.1f}" width="{each * SIZES.bar:.1f}" '
            f'height="{max(BARS * value, 0.8):.1f}" fill="{color}"/>'
        )
    if layer.threshold is not None and count:
        y = 52 + BARS * (1 - layer.threshold)
        parts.append(
            f'<path d="M{left + 6:.1f},{y:.1f}h{each * count + 6:.1f}" stroke="{colors.soft}" stroke-dasharray="2 3"/>'
        )
    return [*parts, "</g>"]


def _edge(parent: NodeScene, node: NodeScene, theme: Theme) -> str:
    edge, style = geometry.edge(parent, node), styles()[node.state]
    x0, bend, x1, y0, y1 = x_of(edge.start), x_of(edge.bend), x_of(edge.end), y_of(edge.from_row), y_of(edge.to_row)
    middle = round((bend + x1) / 2, 1)
    pattern = SIZES.dashes[style.dash]
    dashes = f' stroke-dasharray="{pattern}"' if pattern else ""
    strong = node.state in YIELDED
    return (
        f'<path d="M{x0},{y0}H{bend}C{middle},{y0} {middle},{y1} {x1},{y1}" fill="none" stroke="{style.color(theme)}" '
        f'stroke-width="{2.4 if strong else 1.2}" opacity="{1 if strong else 0.7}"{dashes}/>'
    )


def _symbol(style: Style, x: float, y: float, radius: float, theme: Theme) -> str:
    color = style.color(theme)
    fill, stroke = (color, 0.1) if style.filled else ("none", 0.32)
    return (
        f'<path d="{style.path}" transform="translate({x},{y}) scale({radius:.2f})" fill="{fill}" stroke="{color}" '
        f'stroke-width="{stroke}"/>'
    )


def _node(node: NodeScene, colors: Palette, theme: Theme, strings: dict[str, str]) -> str:
    style, x, y = styles()[node.state], x_of(node.column), y_of(node.row)
    settled = node.state in (*YIELDED, "input")
    ring = f'<circle cx="{x}" cy="{y}" r="11" fill="none" stroke="{colors.ink}" stroke-width="1.3"/>'
    size = 10 if node.state == "cover" else 12.5
    mono = f' font-family={quoteattr(MONOSPACE)} font-size="{size}"'
    color = colors.ink if settled else style.color(theme)
    parts = [
        f"<title>{escape(chr(10).join(hover_lines(node, strings)))}</title>",
        _symbol(style, x, y, style.size * geometry.size_factor(node) / 2, theme),
        ring if node.landed else "",
        _text(x + SIZES.label_gap, y + SIZES.label_drop, label(node, strings), color, mono),
    ]
    return f"<g>{''.join(parts)}</g>"


def _legend(
    iteration: IterationScene, width: int, height: int, colors: Palette, theme: Theme, strings: dict[str, str]
) -> tuple[list[str], int]:
    """The marks that occur, wrapped into lines; the parts and how many lines."""
    found = {node.state for node in iteration.nodes} | (
        {"landed"} if any(node.landed for node in iteration.nodes) else set()
    )
    parts, x, line = [], LEFT, 0
    for state in (*STATES, "landed"):
        if state not in found:
            continue
        room = 34 + 7 * len(strings[f"state.{state}"])
        if x + room > width:
            x, line = LEFT, line + 1
        y = height + 22 + LEGEND * line
        parts.append(
            _symbol(styles()[state], x, y, 6, theme) + _text(x + 14, y + 4, strings[f"state.{state}"], colors.soft)
        )
        x += room
    return parts, line + 1
