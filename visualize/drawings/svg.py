"""A static SVG of one iteration's forest, written without a browser."""

from collections.abc import Iterable
from dataclasses import replace
from xml.sax.saxutils import escape, quoteattr

from visualize.drawings import geometry
from visualize.drawings.captions import hover_lines, label
from visualize.drawings.geometry import PITCH, x_of, y_of
from visualize.look.sizes import SIZES
from visualize.look.states import YIELDED, Style, Theme, mark_of, mark_style
from visualize.look.theme import FONT, MONOSPACE, Palette, palette
from visualize.scenes.records import Change, IterationScene, LayerScene, NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, check_place, scene_of
from visualize.words.words import Words

LEGEND = 36
BARS = 52


def forest_svg(source: Source | Scene, iteration: int = 0, *, step: int | None = None, theme: Theme = "light") -> str:
    """Return the forest of one iteration as a stand-alone SVG document, at one of its steps; None = after the last.

    Iterations and steps count from 0.

    Example:
        >>> visualize.forest_svg(trace, iteration=0)

    Raises:
        TraceError: no such iteration or step, or no such trace.
    """
    scene, colors = scene_of(source), palette(theme)
    if not scene.iterations:
        empty = scene.strings["ui.empty"]
        return svg_document(480, 120, colors, empty, [_text(24, 64, empty, colors.soft)])
    chosen = scene.iterations[check_iteration(iteration, len(scene.iterations))]
    width, height = geometry.size(chosen)
    if step is not None:
        check_place("step", step, f"iteration {chosen.index}", len(chosen.steps))
        chosen = at_step(chosen, step, Words(scene.strings["language"]))
    parts = [part for layer in chosen.layers for part in _layer(layer, height, colors)]
    parts += [_edge(chosen.nodes[node.parent], node, theme) for node in chosen.nodes if node.parent >= 0]
    parts += [_node(node, colors, theme, scene.strings) for node in chosen.nodes]
    legend = geometry.legend(chosen.nodes, scene.strings, width, room=34, letter=7)
    for mark, name, x, line in legend:
        y = height + 22 + LEGEND * line
        parts.append(symbol(mark_style(mark), x, y, 6, theme) + _text(x + 14, y + 4, name, colors.soft))
    title = scene.strings["figure.forest"].format(index=chosen.index + 1)
    lines = legend[-1][3] + 1 if legend else 1
    return svg_document(width, height + LEGEND * lines + 12, colors, title, parts)


def at_step(iteration: IterationScene, step: int, words: Words) -> IterationScene:
    """Return the iteration after one of its steps: later nodes and verdicts are gone, all others stay where they are.

    ``words`` name a column whose width is not chosen yet.
    """
    looks: dict[int, Change] = {}
    for told in iteration.steps[: step + 1]:
        looks.update((change.node, change) for change in told.changes)
    places = {place: now for now, place in enumerate(sorted(looks))}
    scored = step >= iteration.scored_step
    nodes = []
    for place in places:
        node, look = iteration.nodes[place], looks[place]
        nodes.append(
            replace(
                node,
                parent=places.get(node.parent, -1),
                state=look.state,
                slots=look.slots,
                landed=look.landed,
                target_prob=node.target_prob if scored else None,
                facts=tuple(fact for fact in node.facts if fact.step <= step),
            )
        )
    chosen = {layer.layer: layer for layer in iteration.layers if layer.step <= step}
    there = sorted({node.column for node in nodes if node.column > 0} | set(chosen))
    layers = [
        chosen.get(column) or LayerScene(column, words.column_title(column, iteration.before)) for column in there
    ]
    return replace(iteration, nodes=tuple(nodes), layers=tuple(layers), steps=())


def svg_document(
    width: float, height: float, colors: Palette, title: str, parts: Iterable[str], *, font_size: int = 12
) -> str:
    """Return a stand-alone SVG document around its parts."""
    box = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img"'
    background = f'<rect width="100%" height="100%" fill="{colors.paper}"/>'
    font = f'<g font-family={quoteattr(str(FONT["family"]))} font-size="{font_size}">'
    return "\n".join([f"{head}>", f"<title>{escape(title)}</title>", background, font, *parts, "</g>", "</svg>", ""])


def _text(x: float, y: float, text: str, color: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="{color}"{more}>{escape(text)}</text>'


def _layer(layer: LayerScene, height: int, colors: Palette) -> list[str]:
    """The column of a layer, its title, and P(accepted >= k) as bars."""
    left, bars = x_of(layer.layer + SIZES.band_start), geometry.bars(layer)
    band = f'width="{SIZES.band_width * PITCH:.1f}" height="{height - 12}" rx="4" fill="{colors.band}"'
    parts = [
        f"<g><title>{escape(layer.reason)}</title>",
        f'<rect x="{left}" y="8" {band}/>',
        _text(left + 10, 28, layer.title, colors.ink, ' font-weight="600"'),
        _text(left + 10, 44, layer.caption, colors.soft, ' font-size="11"'),
    ]
    for x, width, value, is_kept in bars:
        color = colors.accent if is_kept else colors.faint
        parts.append(
            f'<rect x="{left + 10 + x:.1f}" y="{52 + BARS * (1 - value):.1f}" width="{width:.1f}" '
            f'height="{max(BARS * value, 0.8):.1f}" fill="{color}"/>'
        )
    if layer.threshold is not None and bars:
        y, reach = 52 + BARS * (1 - layer.threshold), bars[-1][0] + bars[-1][1] / SIZES.bar + 6
        parts.append(f'<path d="M{left + 6:.1f},{y:.1f}h{reach:.1f}" stroke="{colors.soft}" stroke-dasharray="2 3"/>')
    return [*parts, "</g>"]


def _edge(parent: NodeScene, node: NodeScene, theme: Theme) -> str:
    edge, style = geometry.edge(parent, node), mark_style(mark_of(node.state))
    x0, bend, x1, y0, y1 = x_of(edge.start), x_of(edge.bend), x_of(edge.end), y_of(edge.from_row), y_of(edge.to_row)
    middle = round((bend + x1) / 2, 1)
    pattern = SIZES.dashes[style.dash]
    dashes = f' stroke-dasharray="{pattern}"' if pattern else ""
    strong = node.state in YIELDED
    return (
        f'<path d="M{x0},{y0}H{bend}C{middle},{y0} {middle},{y1} {x1},{y1}" fill="none" stroke="{style.color(theme)}" '
        f'stroke-width="{2.4 if strong else 1.2}" opacity="{1 if strong else 0.7}"{dashes}/>'
    )


def symbol(style: Style, x: float, y: float, radius: float, theme: Theme, *, line: float = 0.32, more: str = "") -> str:
    """Return a mark; ``line`` is the width of an outline in radii, ``more`` are further attributes."""
    color = style.color(theme)
    fill, stroke = (color, 0.1) if style.filled else ("none", line)
    return (
        f'<path d="{style.path}" transform="translate({x},{y}) scale({radius:.2f})" fill="{fill}" stroke="{color}" '
        f'stroke-width="{stroke}"{more}/>'
    )


def _node(node: NodeScene, colors: Palette, theme: Theme, strings: dict[str, str]) -> str:
    style, x, y = mark_style(mark_of(node.state)), x_of(node.column), y_of(node.row)
    settled = node.state in (*YIELDED, "input")
    size = 10 if node.state == "cover" else 12.5
    mono = f' font-family={quoteattr(MONOSPACE)} font-size="{size}"'
    color = colors.ink if settled else style.color(theme)
    parts = [
        f"<title>{escape(chr(10).join(hover_lines(node, strings)))}</title>",
        symbol(style, x, y, style.size * geometry.size_factor(node) / 2, theme),
        _text(x + SIZES.label_gap, y + SIZES.label_drop, label(node, strings), color, mono),
    ]
    return f"<g>{''.join(parts)}</g>"
