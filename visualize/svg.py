"""The forest of one iteration as a static SVG and as text, and the pixels and words that the Plotly figures share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import networkx as nx

from dsbd.tracing.records import Trial
from visualize.forest import Source, Width, check_place, forest_graph, load_trace, text_of
from visualize.look.states import MARKS, SIZES, YIELDED, Style, Theme, mark_of, mark_style
from visualize.look.theme import FONT, MONOSPACE, Palette, palette
from visualize.tokens import columns
from visualize.words.words import Words, number

PITCH, ROW = 168, 32
"""Pixels of a column, and of a row."""
LEFT, BAND = 24, 118
"""Pixels beside the forest, and above it for titles and widths."""
LEGEND, BARS = 36, 52
CURVE_POINTS = 19
"""Of an edge drawn as a polyline."""
_ISOLATE, _POP = "\u2068", "\u2069"
Point = tuple[float, float]
Attributes = Mapping[str, Any]
"""Of a node of :func:`visualize.forest_graph`."""


def forest_svg(
    source: Source, iteration: int = 0, *, step: int | None = None, theme: Theme = "light", language: str = "en"
) -> str:
    """Return the forest of one iteration as a stand-alone SVG document, at one of its steps; None = after the last.

    Iterations and steps count from 0.

    Example:
        >>> visualize.forest_svg(trace, iteration=0)

    Raises:
        TraceError: no such iteration or step, or no such trace.
        ValueError: ``theme`` or ``language`` is unknown.
    """
    trace, colors, words = load_trace(source), palette(theme), Words(language)
    if not trace.iterations:
        return _document(480, 120, colors, words("ui.empty"), [_text(24, 64, words("ui.empty"), colors.soft)])
    forest = forest_graph(trace, iteration, step=step)
    width, height = size_of(forest)
    widths = {one.layer: one for one in forest.graph["layers"]}
    drafted = set() if step is None else {node["column"] for node in forest.nodes.values()} - {0}
    parts = [
        part
        for layer in sorted(drafted | set(widths))
        for part in _layer(layer, widths.get(layer), forest, height, colors, words)
    ]
    parts += [_edge(edge, forest.nodes[below]["state"], theme) for below, edge in edges_of(forest, words)]
    parts += [_node(id_, node, colors, theme, words) for id_, node in forest.nodes.items()]
    x, line = float(LEFT), 0
    for mark in marks_of(forest):
        name = words(f"mark.{mark}")
        if x + 34 + 7 * len(name) > width:
            x, line = LEFT, line + 1
        y = height + 22 + LEGEND * line
        parts.append(symbol(mark_style(mark), x, y, 6, theme) + _text(x + 14, y + 4, name, colors.soft))
        x += 34 + 7 * len(name)
    title = words("figure.forest", index=iteration + 1)
    return _document(width, height + LEGEND * (line + 1) + 12, colors, title, parts)


def _document(width: float, height: float, colors: Palette, title: str, parts: Iterable[str]) -> str:
    box = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img"'
    background = f'<rect width="100%" height="100%" fill="{colors.paper}"/>'
    font = f'<g font-family={quoteattr(str(FONT["family"]))} font-size="12">'
    return "\n".join([f"{head}>", f"<title>{escape(title)}</title>", background, font, *parts, "</g>", "</svg>", ""])


def _text(x: float, y: float, text: str, color: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="{color}"{more}>{escape(text)}</text>'


def _layer(
    layer: int, width: Width | None, forest: nx.DiGraph, height: int, colors: Palette, words: Words
) -> Iterator[str]:
    """The column of a layer, its title, and P(accepted >= k) as bars."""
    left = _x(layer + SIZES.band_start)
    band = f'width="{SIZES.band_width * PITCH:.1f}" height="{height - 12}" rx="4" fill="{colors.band}"'
    yield f'<g><rect x="{left}" y="8" {band}/>'
    yield _text(left + 10, 28, layer_title(layer, width, forest, words), colors.ink, ' font-weight="600"')
    if width:
        yield _text(left + 10, 44, caption(width, words), colors.soft, ' font-size="11"')
        count = len(width.chances)
        each = min(0.62 * PITCH, 16.0 * count) / max(count, 1)
        for at, value in enumerate(width.chances):
            color = colors.accent if at < width.width else colors.faint
            yield (
                f'<rect x="{left + 10 + at * each:.1f}" y="{52 + BARS * (1 - value):.1f}" '
                f'width="{SIZES.bar * each:.1f}" height="{max(BARS * value, 0.8):.1f}" fill="{color}"/>'
            )
        if width.threshold is not None and count:
            y, reach = 52 + BARS * (1 - width.threshold), count * each + 6
            yield f'<path d="M{left + 6:.1f},{y:.1f}h{reach:.1f}" stroke="{colors.soft}" stroke-dasharray="2 3"/>'
    yield "</g>"


def _edge(edge: Sequence[Point], state: str, theme: Theme) -> str:
    (x0, y0), (bend, _), (x1, y1) = ((_x(x), _y(y)) for x, y in edge)
    middle, style, strong = round((bend + x1) / 2, 1), mark_style(mark_of(state)), state in YIELDED
    pattern = SIZES.dashes[style.dash]
    dashes = f' stroke-dasharray="{pattern}"' if pattern else ""
    return (
        f'<path d="M{x0},{y0}H{bend}C{middle},{y0} {middle},{y1} {x1},{y1}" fill="none" stroke="{style.color(theme)}" '
        f'stroke-width="{2.4 if strong else 1.2}" opacity="{1 if strong else 0.7}"{dashes}/>'
    )


def symbol(style: Style, x: float, y: float, radius: float, theme: Theme) -> str:
    """Return a mark as an element of SVG."""
    color = style.color(theme)
    fill, stroke = (color, 0.1) if style.filled else ("none", 0.32)
    return (
        f'<path d="{style.path}" transform="translate({x},{y}) scale({radius:.2f})" fill="{fill}" stroke="{color}" '
        f'stroke-width="{stroke}"/>'
    )


def _node(id_: int, node: Attributes, colors: Palette, theme: Theme, words: Words) -> str:
    style, x, y = mark_style(mark_of(node["state"])), _x(node["column"]), _y(node["row"])
    color = colors.ink if node["state"] in (*YIELDED, "input") else style.color(theme)
    mono = f' font-family={quoteattr(MONOSPACE)} font-size="{10 if node["state"] == "cover" else 12.5}"'
    return (
        f"<g><title>{escape(chr(10).join(facts_of(id_, node, words)))}</title>"
        f"{symbol(style, x, y, style.size * size_factor(node) / 2, theme)}"
        f"{_text(x + SIZES.label_gap, y + SIZES.label_drop, label_of(id_, node, words), color, mono)}</g>"
    )


def _x(column: float) -> float:
    return round(LEFT + column * PITCH, 1)


def _y(row: float) -> float:
    return round(BAND + (row + SIZES.first_row) * ROW, 1)


def forest_text(source: Source, iteration: int | None = None, *, language: str = "en") -> str:
    """Return the forest of one iteration, from 0, as text for terminals and screen readers; None = of all iterations.

    Example:
        >>> print(visualize.forest_text(trace, iteration=4))

    Raises:
        TraceError: no such iteration, or no such trace.
        ValueError: ``language`` is unknown.
    """
    trace, words = load_trace(source), Words(language)
    count = len(trace.iterations)
    if not count:
        return words("ui.empty") + "\n"
    chosen = range(count) if iteration is None else [check_place("iteration", iteration, "this trace", count)]
    index = trace.node_index()
    return "\n".join("".join(f"{line}\n" for line in _lines(forest_graph(trace, at), words))
                     + "".join(f"{line}\n" for line in _beams(trace.iterations[at], index, words))
                     for at in chosen)  # fmt: skip


def _lines(forest: nx.DiGraph, words: Words) -> Iterator[str]:
    yield words("figure.forest", index=forest.graph["iteration"] + 1)
    for width in forest.graph["layers"]:
        told = f"{caption(width, words)}, {width.record.accepted} {words('state.accepted')}"
        yield f"  {layer_title(width.layer, width, forest, words)}: {told}"
    waiting = [(id_, "", "") for id_, above in reversed(list(forest.in_degree)) if not above]
    while waiting:  # a loop, since a chain may be longer than the stack
        id_, lead, indent = waiting.pop()
        yield f"{lead}{' | '.join(facts_of(id_, forest.nodes[id_], words))}"
        below = list(forest.successors(id_))
        waiting += [(child, f"{indent}{'└─ ' if child == below[-1] else '├─ '}",
                     indent + ("   " if child == below[-1] else "│  ")) for child in reversed(below)]  # fmt: skip


def _beams(iteration: Any, index: Mapping[int, Any], words: Words) -> Iterator[str]:
    ended = [beam for layer in iteration.layers for beam in layer.beams if beam.node in layer.finished]
    for name, beams in (("ui.output_beams", iteration.output_beams), ("ui.finished_beams", ended)):
        for beam in sorted(beams, key=lambda one: -one.log_weight):
            count = f" {words('node.multiplicity', count=beam.multiplicity)}" if beam.multiplicity > 1 else ""
            weight = f"{words('ui.log_weight')} {number(beam.log_weight)}"
            yield f"  {words(name)}{count}, {weight}: {text_of(beam.node, index)!r}"


# What this file's drawings and the Plotly figures share


def layer_title(layer: int, width: Width | None, forest: nx.DiGraph, words: Words) -> str:
    """Name a layer, and the place of its tokens in the text unless they are the same."""
    title, before = (
        words("layer.bonus" if width and width.is_free else "layer.title", layer=layer),
        forest.graph["before"],
    )
    return words("layer.place", title=title, position=before + layer) if before else title


def caption(width: Width, words: Words) -> str:
    """Write the width of a layer, and the probability of its last guess (in a likely forest of all its picks)."""
    given = words("width.given", width=width.width)
    if not 0 < width.width <= len(width.chances):
        return given
    key = "width.short_between" if width.record.forest_mass is None else "width.short_likely_between"
    return f"{given} · {words(key, width=width.width, reached=number(width.chances[width.width - 1]))}"


def token_of(id_: int, node: Attributes, words: Words, *, field: str = "token") -> str:
    """Return the text of a token; the end of the prompt has none."""
    return str(node[field]) if id_ else words("node.prompt")


def label_of(id_: int, node: Attributes, words: Words) -> str:
    """Return the label of a node, with how many beams end there. Right-to-left tokens do not turn their neighbours."""
    count = f" {words('node.multiplicity', count=node['slots'])}" if node["slots"] > 1 else ""
    return f"{_ISOLATE}{token_of(id_, node, words, field='label')}{_POP}{count}"


def facts_of(id_: int, node: Attributes, words: Words) -> Iterator[str]:
    """Yield a node's token, its state and its numbers, as plain text; each drawing escapes them."""
    completed = words("node.completes", character=node["completes"]) if node["completes"] else ""
    yield f"{token_of(id_, node, words)} {completed}".rstrip(" ")
    yield words(f"state.{node['state']}") + (f", {words('state.landed')}" if node["landed"] else "")
    if node["slots"] > 1:
        yield words("node.multiplicity", count=node["slots"])
    named = {"ui.target": node["target_prob"], "ui.draft": node["draft_prob"], "ui.log_weight": node["log_weight"]}
    yield from (f"{words(key)} {number(value)}" for key, value in named.items() if value is not None)
    for one in node["records"]:
        if one.uniform is not None:
            u = f"{words('table.uniform')} {number(one.uniform)}"
            chance = one.acceptance if isinstance(one, Trial) else None
            yield u if chance is None else f"{u}, {words('table.acceptance')} {number(chance)}"


def marks_of(forest: nx.DiGraph) -> list[str]:
    """Return the marks that occur, in the order of the legend."""
    found = {mark_of(node["state"]) for node in forest.nodes.values()}
    return [mark for mark in MARKS if mark in found]


def edges_of(forest: nx.DiGraph, words: Words) -> Iterator[tuple[int, tuple[Point, Point, Point]]]:
    """Yield each edge by the node below it, in columns and rows: it starts behind the label of the parent, runs level
    to its bend, and then smoothly to its end."""
    for above, below in ((parent, id_) for id_ in forest for parent in forest.predecessors(id_)):
        parent, node = forest.nodes[above], forest.nodes[below]
        label = columns(token_of(above, parent, words, field="label"))
        label += SIZES.count_columns if parent["slots"] > 1 else 0
        start = round(parent["column"] + (SIZES.label_gap + label * SIZES.glyph + SIZES.label_end) / PITCH, 4)
        bend, end = max(parent["column"] + SIZES.bend, start), node["column"] - SIZES.mark_gap / PITCH
        yield below, ((start, parent["row"]), (bend, parent["row"]), (end, node["row"]))


def smooth(start: Point, end: Point, count: int = CURVE_POINTS) -> list[Point]:
    """Return ``count`` points of a curve that is level at both ends."""
    (x0, y0), (x1, y1) = start, end
    steps = (step / (count - 1) for step in range(count))
    return [(round(x0 + (x1 - x0) * t, 4), round(y0 + (y1 - y0) * t * t * (3 - 2 * t), 4)) for t in steps]


def size_factor(node: Attributes) -> float:
    """Likelier nodes are larger, and cover nodes smaller."""
    probability = node["target_prob"] if node["target_prob"] is not None else node["draft_prob"]
    known = SIZES.unknown_probability if probability is None else probability
    likelier = SIZES.mark_least + SIZES.mark_more * max(0.0, min(1.0, known)) ** 0.5
    return likelier * (SIZES.cover if node["state"] == "cover" else 1)


def size_of(forest: nx.DiGraph) -> tuple[int, int]:
    """Return the width and the height of the drawing in pixels."""
    return round(LEFT + (max(forest.graph["last_column"], 1) + 0.95) * PITCH), round(
        BAND + (forest.graph["last_row"] + SIZES.free_rows) * ROW
    )
