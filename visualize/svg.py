"""The forest of one iteration as static SVG and as text; and the sizes and words that the Plotly figures share."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import networkx as nx

from dsbd.tracing.records import Trial
from visualize.files import TEMPLATES
from visualize.forest import LayerWidth, Source, check_index, forest_graph, load_trace, text_of
from visualize.theme import FONT, MARK_OF, MARKS, MONOSPACE, SIZES, STYLES, YIELDED, Theme, palette
from visualize.tokens import columns
from visualize.words import Words, number

PITCH, ROW = 168, 32  # pixels of a column, and of a row
LEFT = 24  # pixels to the left of the forest
BAND, BARS = 52, 66  # pixels above it: for titles and widths, and for bars where a width is chosen
LEGEND = 36
CURVE_POINTS = 19  # points of an edge drawn as a polyline
_ISOLATE, _POP = "\u2068", "\u2069"
Point = tuple[float, float]
Attributes = Mapping[str, Any]  # attributes of a node of :func:`visualize.forest_graph`


def forest_svg(
    source: Source, iteration: int = 0, *, step: int | None = None, theme: Theme = "light", language: str = "en"
) -> str:
    """Return the forest of one iteration as a stand-alone SVG document, at one of its steps; None = after the last.

    Iterations and steps count from 0.

    Example:
        >>> visualize.forest_svg(trace, iteration=0)

    Raises:
        TraceError: no such iteration or step, or no such trace.
        ArgumentError: ``theme`` or ``language`` is unknown.
    """
    trace, words = load_trace(source), Words(language)
    template, values = TEMPLATES.get_template("forest.svg"), dict[str, Any](
        colors=palette(theme), theme=theme, font=FONT["family"], monospace=MONOSPACE, words=words, sizes=SIZES,
        pitch=PITCH, x=_x, y=_y, styles=STYLES, mark_of=MARK_OF, yielded=YIELDED, size_factor=size_factor,
        layer_title=layer_title, caption=caption, label_of=label_of, facts_of=facts_of,
    )  # fmt: skip
    if not trace.iterations:
        return template.render(values, width=480, height=120, bottom=120, title=words("ui.empty"), forest=None)
    forest = forest_graph(trace, iteration, step=step)
    width, height = size_of(forest)
    widths = {one.layer: one for one in forest.graph["layers"]}
    drafted = set() if step is None else {node["column"] for node in forest.nodes.values()} - {0}
    legend, lines = _legend(forest, width, height, words)
    return template.render(
        values, width=width, height=height, bottom=height + LEGEND * lines + 12, title=describe(forest, words),
        forest=forest, layers=[(layer, widths.get(layer)) for layer in sorted(drafted | set(widths))],
        edges=edges_of(forest, words), legend=legend,
    )  # fmt: skip


def _legend(forest: nx.DiGraph, width: int, height: int, words: Words) -> tuple[list[dict[str, Any]], int]:
    """Return the marks that occur, wrapped to the width, and the number of lines."""
    entries, x, line = [], float(LEFT), 0
    for mark in marks_of(forest):
        name = words(f"mark.{mark}")
        length = 34 + 7 * len(name)
        if x + length > width:
            x, line = LEFT, line + 1
        entries.append({"style": STYLES[mark], "name": name, "x": x, "y": height + 22 + LEGEND * line})
        x += length
    return entries, line + 1


def _x(column: float) -> float:
    return round(LEFT + column * PITCH, 1)


def top_of(forest: nx.DiGraph) -> int:
    return BAND + BARS * any(one.chances for one in forest.graph["layers"])


def _y(row: float, forest: nx.DiGraph) -> float:
    return round(top_of(forest) + (row + SIZES.first_row) * ROW, 1)


def forest_text(source: Source, iteration: int | None = None, *, language: str = "en") -> str:
    """Return the forest of one iteration, from 0, as text for terminals and screen readers; None = all iterations.

    Example:
        >>> print(visualize.forest_text(trace, iteration=4))

    Raises:
        TraceError: no such iteration, or no such trace.
        ArgumentError: ``language`` is unknown.
    """
    trace, words = load_trace(source), Words(language)
    count = len(trace.iterations)
    if not count:
        return words("ui.empty") + "\n"
    numbers = range(count) if iteration is None else [check_index("iteration", iteration, "this trace", count)]
    index = trace.node_index()
    forests = ([*_lines(forest_graph(trace, number), words), *_beams(trace.iterations[number], index, words)]
               for number in numbers)  # fmt: skip
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in forests)


def _lines(forest: nx.DiGraph, words: Words) -> Iterator[str]:
    yield words("figure.forest", index=forest.graph["iteration"] + 1)
    for width in forest.graph["layers"]:
        verdict = f"{caption(width, words)}, {width.record.accepted} {words('state.accepted')}"
        yield f"  {layer_title(width.layer, width, forest, words)}: {verdict}"
    stack = [(id_, "", "") for id_, above in reversed(list(forest.in_degree)) if not above]
    while stack:  # a chain may be too long for recursion
        id_, lead, indent = stack.pop()
        yield f"{lead}{' | '.join(facts_of(id_, forest.nodes[id_], words))}"
        below = list(forest.successors(id_))
        stack += [(child, f"{indent}{'└─ ' if child == below[-1] else '├─ '}",
                   indent + ("   " if child == below[-1] else "│  ")) for child in reversed(below)]  # fmt: skip


def _beams(iteration: Any, index: dict[int, Any], words: Words) -> Iterator[str]:
    finished = [beam for layer in iteration.layers for beam in layer.beams if beam.node in layer.finished]
    for name, beams in (("ui.output_beams", iteration.output_beams), ("ui.finished_beams", finished)):
        for beam in sorted(beams, key=lambda one: -one.log_weight):
            count = f" {words('node.multiplicity', count=beam.multiplicity)}" if beam.multiplicity > 1 else ""
            weight = f"{words('ui.log_weight')} {number(beam.log_weight)}"
            yield f"  {words(name)}{count}, {weight}: {text_of(beam.node, index)!r}"


# Shared with the Plotly figures


def describe(forest: nx.DiGraph, words: Words) -> str:
    """Describe a forest in one line: how many nodes in how many layers, and what became of them."""
    marks = Counter(MARK_OF[node["state"]] for node in forest.nodes.values() if node["state"] != "input")
    return words(
        "ui.alt",
        index=forest.graph["iteration"] + 1,
        nodes=words.counted("nodes", marks.total()),
        layers=words.counted("tokens", forest.graph["last_column"]),
        states=", ".join(f"{count} {words(f'mark.{mark}')}" for mark, count in marks.items()),
    )


def layer_title(layer: int, width: LayerWidth | None, forest: nx.DiGraph, words: Words) -> str:
    """Name a layer, and the position of its tokens in the text where it differs; a free layer has no room for it."""
    if width and width.is_free:
        return words("layer.bonus", layer=layer)
    title, before = words("layer.title", layer=layer), forest.graph["before"]
    return words("layer.place", title=title, position=before + layer) if before else title


def caption(width: LayerWidth, words: Words) -> str:
    """Write the width of a layer, and the probability that so many of its guesses are accepted."""
    count, text = width.width, words("head.width", width=width.width)
    if not 0 < count <= len(width.chances):
        return text
    return f"{text} · {words('width.short_between', width=count, reached=number(width.chances[count - 1]))}"


def token_of(id_: int, node: Attributes, words: Words, *, field: str = "token") -> str:
    """Return the text of a token; the end of the prompt has none."""
    return str(node[field]) if id_ else words("node.prompt")


def label_of(id_: int, node: Attributes, words: Words) -> str:
    """Return the label of a node, and how many beams end there. Right-to-left tokens do not turn their neighbours."""
    count = f" {words('node.multiplicity', count=node['multiplicity'])}" if node["multiplicity"] > 1 else ""
    return f"{_ISOLATE}{token_of(id_, node, words, field='label')}{_POP}{count}"


def facts_of(id_: int, node: Attributes, words: Words) -> Iterator[str]:
    """Yield a node's token, its state and its numbers, as plain text; each drawing escapes them."""
    yield token_of(id_, node, words)
    yield words(f"state.{node['state']}") + (f", {words('state.landed')}" if node["landed"] else "")
    if node["multiplicity"] > 1:
        yield words("node.multiplicity", count=node["multiplicity"])
    numbers = {"ui.target": node["target_prob"], "ui.draft": node["draft_prob"], "ui.log_weight": node["log_weight"]}
    yield from (f"{words(key)} {number(value)}" for key, value in numbers.items() if value is not None)
    for record in node["records"]:
        if record.uniform is not None:
            uniform = f"{words('table.uniform')} {number(record.uniform)}"
            chance = record.acceptance if isinstance(record, Trial) else None
            yield uniform if chance is None else f"{uniform}, {words('table.acceptance')} {number(chance)}"


def marks_of(forest: nx.DiGraph) -> list[str]:
    """Return the marks of a forest, in the order of the legend."""
    marks = {MARK_OF[node["state"]] for node in forest.nodes.values()}
    return [mark for mark in MARKS if mark in marks]


def edges_of(forest: nx.DiGraph, words: Words) -> Iterator[tuple[int, tuple[Point, Point, Point]]]:
    """Yield each edge with the node it leads to, in columns and rows: it starts after the label of the parent, runs
    level to its bend, then smoothly to its end."""
    for above, below in ((parent, id_) for id_ in forest for parent in forest.predecessors(id_)):
        parent, node = forest.nodes[above], forest.nodes[below]
        label = columns(token_of(above, parent, words, field="label"))
        label += SIZES.count_columns if parent["multiplicity"] > 1 else 0
        start = round(parent["column"] + (SIZES.label_gap + label * SIZES.glyph + SIZES.label_end) / PITCH, 4)
        bend, end = max(parent["column"] + SIZES.bend, start), node["column"] - SIZES.mark_gap / PITCH
        yield below, ((start, parent["row"]), (bend, parent["row"]), (end, node["row"]))


def smooth(start: Point, end: Point, count: int = CURVE_POINTS) -> list[Point]:
    """Return ``count`` points of a curve that is level at both ends."""
    (x0, y0), (x1, y1) = start, end
    steps = (step / (count - 1) for step in range(count))
    return [(round(x0 + (x1 - x0) * t, 4), round(y0 + (y1 - y0) * t * t * (3 - 2 * t), 4)) for t in steps]


def size_factor(node: Attributes) -> float:
    """Return the scale of a mark: likelier nodes are larger, extra candidates smaller."""
    probability = node["target_prob"] if node["target_prob"] is not None else node["draft_prob"]
    known = SIZES.unknown_probability if probability is None else probability
    likelier = SIZES.mark_least + SIZES.mark_more * max(0.0, min(1.0, known)) ** 0.5
    return likelier * (SIZES.cover if node["state"] == "cover" else 1)


def size_of(forest: nx.DiGraph) -> tuple[int, int]:
    """Return the width and the height of the drawing in pixels."""
    width = LEFT + (max(forest.graph["last_column"], 1) + 0.95) * PITCH
    return round(width), round(top_of(forest) + (forest.graph["last_row"] + SIZES.free_rows) * ROW)
