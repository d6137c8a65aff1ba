"""A trace as graphs: the forest of one iteration, and the whole decode as one tree.

A graph is a ``networkx.DiGraph`` from parents to children; its nodes have the ids of the trace, and attributes for
whatever a drawing needs. A step changes the look of a node, never its position.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx

from dsbd.errors import TraceError
from dsbd.results import DecodingResult
from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import ROOT, Draw, IterationRecord, Layer, NodeRecord, Trial, path_to
from dsbd.tracing.trace import Trace
from visualize.layout import hanging, tidy
from visualize.theme import YIELDED
from visualize.tokens import decode_piece, flowing, hex_bytes, piece_label, shorten

EXTRA_HEIGHT = 0.62  # rows that an extra candidate takes: they are many and small, except those that were drawn
RECORDED = ("token_id", "kind", "ends", "target_prob", "draft_prob")
"""Attributes of a node below an input beam that are copied from the record."""
DRAWN = {*RECORDED, "row", "token", "label", "state", "multiplicity", "landed", "log_weight", "records"}
"""Attributes that drawings read of every node."""
Look = tuple[str, int, bool]  # state of a node, how many beams end there, and whether it was drawn in the forest
Source = Trace | str | Path | DecodingResult  # whatever drawings can be made of


def load_trace(source: Source) -> Trace:
    """Return a trace, the one in a file, or that of a recorded result. Raises: TraceError."""
    if isinstance(source, (str, Path)):
        return Trace.load(source)
    trace = source if isinstance(source, Trace) else getattr(source, "trace", source)
    if trace is None:
        raise TraceError("the result holds no trace; decode with record=True")
    if not isinstance(trace, Trace):
        raise TraceError(f"{type(source).__name__} is no trace; give a trace, the path of a trace file or a result")
    return trace


def check_graph(graph: nx.DiGraph, attribute: str) -> nx.DiGraph:
    """Return the graph if it has the attribute, and its nodes have all of theirs. Raises: TraceError."""
    if attribute not in graph.graph or not all(node.keys() >= DRAWN for node in graph.nodes.values()):
        raise TraceError(f"{graph} has lost attributes of visualize.forest_graph; give a graph whose nodes keep them")
    return graph


def check_index(name: str, value: int, where: str, count: int) -> int:
    """Return ``value`` if it is from 0 to ``count`` - 1. Raises: TraceError; it names ``where`` that range holds."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise TraceError(f"{name} is {value!r}; {where} has whole numbers from 0 to {count - 1}")
    return value


@dataclass(frozen=True)
class Step:
    """One step of an iteration."""

    phase: str
    """``draft`` (one step for each layer), ``score``, then for each layer ``width``, ``trial``, ``draw`` and ``layer``,
    finally ``commit``."""
    layer: int = 0  # 0 if the step belongs to no layer
    record: Trial | Draw | None = None
    looks: Mapping[int, Look] | None = None  # the looks that change with this step, by id


@dataclass(frozen=True)
class LayerWidth:
    """The width of a verified layer, and the probabilities that decided it."""

    layer: int
    width: int
    is_free: bool  # True for the layer after guesses that all passed
    chances: tuple[float, ...]  # P(accepted >= k) for k = 1, 2, ...
    threshold: float | None  # None if no threshold decided the width
    record: Layer


@dataclass(frozen=True)
class Band:
    """The positions of the text that one iteration added, in one pass of the large model."""

    iteration: int
    first: int  # position of its first token, from 1
    last: int  # position of its last one; ``first - 1`` if it added no token


def steps_of(iteration: IterationRecord, settings: ResolvedSettings) -> tuple[Step, ...]:
    """Return the steps of an iteration in order; those of the viewer are the same."""
    looks: dict[int, Look] = {beam.node: ("input", beam.multiplicity, False) for beam in iteration.input_beams}
    fresh, steps, last = list(looks), [], len(iteration.layers)
    for layer in range(1, iteration.draft_depth + 1):
        drafted = {node.id: (str(node.kind), 0, False) for node in iteration.nodes
                   if node.layer == layer and node.kind != "drawn"}  # fmt: skip
        if drafted:
            looks |= drafted
            steps.append(Step("draft", layer, looks={node: looks[node] for node in (*fresh, *drafted)}))
            fresh = []
    steps.append(Step("score", looks={node: looks[node] for node in fresh}))
    for one in iteration.layers:
        ignored = [node.id for node in iteration.nodes if settings.branching and node.kind == "drafted"
                   and node.layer == one.layer and node.parent not in one.alive]  # fmt: skip
        looks |= dict.fromkeys(ignored, ("orphaned", 0, False))
        steps.append(Step("width", one.layer, looks={node: looks[node] for node in ignored}))
        # trials of a joint test below the last layer belong to the last one
        trials: list[Trial | Draw] = [trial for trial in iteration.trials if min(trial.layer, last) == one.layer]
        for record in (*trials, *(draw for draw in iteration.draws if draw.layer == one.layer)):
            phase, state = ("trial", record.verdict) if isinstance(record, Trial) else ("draw", record.kind)
            looks[record.node] = _later(looks.get(record.node), state, isinstance(record, Draw) and record.landed)
            steps.append(Step(phase, record.layer, record, {record.node: looks[record.node]}))
        left = _undrawn(iteration, one, settings)
        looks |= dict.fromkeys(left, ("undrawn", 0, False))
        steps.append(Step("layer", one.layer, looks={node: looks[node] for node in left}))
    return (*steps, Step("commit"))


def _undrawn(iteration: IterationRecord, layer: Layer, settings: ResolvedSettings) -> list[int]:
    """Return the guesses of a coupled forest that no draw of their layer took."""
    drawn = {beam.node for beam in layer.beams}
    is_checked = settings.forest == "coupled" and layer.kind == "draft"
    guesses = [node.id for node in iteration.nodes if node.layer == layer.layer and node.kind == "cover"]
    return [node for node in guesses if is_checked and node not in drawn]


def _later(before: Look | None, state: str, landed: bool) -> Look:
    """Return the look after one more record: what was yielded once stays so, whatever happens to its duplicates; so
    does a failed guess whose duplicates were not needed."""
    old, multiplicity, was_landed = before or (state, 0, False)
    stays = old in YIELDED or (old == "rejected" and state == "unneeded")
    return old if stays else state, multiplicity + (state in YIELDED), was_landed or landed


def forest_graph(
    source: Source, iteration: int | None = None, *, step: int | None = None, plain: bool = False
) -> nx.DiGraph:
    """Return the forest of one iteration as a graph, at one of its steps (None = after the last), or the whole decode.

    Iterations and steps count from 0. Each node has these attributes: ``column`` (0 for input beams, else the layer)
    and ``row``, its position; ``token`` and ``label`` (shortened), made visible; ``state``;
    ``multiplicity`` (how many beams end there) and ``landed`` (whether one was drawn there); ``target_prob``,
    ``draft_prob`` and ``log_weight``, None where unknown; ``records``, its trials and draws. The graph has
    ``iteration``, ``before`` (how many tokens earlier iterations added), ``layers`` (the verified ones),
    ``last_column`` and ``last_row``.

    Without an iteration it is one tree: the returned text (or the best beam so far) as a line, and every other guess as
    a twig below it. Nodes look as in the last iteration that names them, and have ``iteration``, ``position`` (of the
    token in the text, from 1) and ``row`` (0 on the line). Extra candidates that were not drawn are left out: nobody
    guessed them, and they would be most of the tree. The graph has ``bands`` (the positions that each iteration added),
    ``is_lossless``, ``tokens`` (of the line), ``last_position`` and ``last_row``.

    A ``plain`` graph has only numbers, texts and booleans, which every writer of networkx takes: no ``records``,
    ``layers``, ``bands``, and nothing that is None. It cannot be drawn.

    Example:
        >>> visualize.forest_graph(trace, iteration=4).nodes(data="state")

    Raises:
        TraceError: no such iteration or step, or no such trace.
    """
    trace = load_trace(source)
    graph = _whole(trace) if iteration is None else _forest(trace, iteration, step)
    for data in (graph.graph, *graph.nodes.values()) if plain else ():
        for name in [name for name, value in data.items() if not isinstance(value, (int, float, str))]:
            del data[name]
    return graph


def _forest(trace: Trace, iteration: int, step: int | None) -> nx.DiGraph:
    record = trace.iterations[check_index("iteration", iteration, "this trace", len(trace.iterations))]
    index, steps = trace.node_index(), steps_of(record, trace.settings)
    if step is not None:
        steps = steps[: check_index("step", step, f"iteration {record.index}", len(steps)) + 1]
    forest, positions = _looks_of(record, index, steps), forest_positions(record, index)
    for id_, node in forest.nodes.items():
        node["column"], node["row"] = positions[id_]
    verified = {one.layer for one in steps if one.phase == "width"}
    forest.graph.update(
        iteration=iteration,
        before=sum(len(one.layers) for one in trace.iterations[:iteration]),
        layers=[_width(one, trace.settings) for one in record.layers if one.layer in verified],
        last_column=max((column for column, _ in positions.values()), default=0),
        last_row=max((row for _, row in positions.values()), default=0.0),
    )
    return forest


def forest_positions(iteration: IterationRecord, index: Mapping[int, NodeRecord]) -> dict[int, tuple[int, float]]:
    """Return the column and the row of every node of a forest, by id; ``index`` has all nodes of the trace.

    Raises: TraceError: a node is not below an input beam.
    """
    columns_of = {beam.node: 0 for beam in iteration.input_beams}
    roots, heights, children = list(columns_of), dict[int, float](), dict[int, list[int]]()
    landed = {draw.node for draw in iteration.draws}
    for node in _members(iteration, index):
        if node.parent not in columns_of:
            name = f"iteration {iteration.index + 1}: node {node.id}"
            raise TraceError(f"damaged trace: {name} hangs below no input beam")
        columns_of[node.id] = columns_of[node.parent] + 1
        children.setdefault(node.parent, []).append(node.id)
        if node.kind == "cover" and node.id not in landed:
            heights[node.id] = EXTRA_HEIGHT
    rows = tidy(children, roots, heights)
    return {node: (column, round(rows[node], 3)) for node, column in columns_of.items()}


def _whole(trace: Trace) -> nx.DiGraph:
    index, tree, bands = trace.node_index(), nx.DiGraph(), list[Band]()
    tree.add_node(ROOT, position=0)
    for number, iteration in enumerate(trace.iterations):
        for id_, node in _looks_of(iteration, index, steps_of(iteration, trace.settings)).nodes.items():
            if node["state"] not in ("input", "cover"):
                parent = index[id_].parent if index[id_].parent in tree else ROOT
                tree.add_node(id_, **node, iteration=number, position=tree.nodes[parent]["position"] + 1)
                tree.add_edge(parent, id_)
        first = bands[-1].last + 1 if bands else 1
        bands.append(Band(number, first, first + len(iteration.layers) - 1))
    line = nx.shortest_path(tree, ROOT, trace.result.beams[0].node if trace.result else _best_so_far(trace, tree))
    reach = dict(tree.nodes(data="position"))
    for parent, id_ in reversed(list(tree.edges)):  # children stand after their parents
        reach[parent] = max(reach[parent], reach[id_])
    children = {id_: sorted(tree.successors(id_), key=lambda one: (reach[one], -one)) for id_ in tree}
    nx.set_node_attributes(tree, rows := hanging(children, line), "row")
    tree.remove_node(ROOT)
    tree.graph.update(
        bands=bands,
        is_lossless=trace.settings.lossless,
        tokens=len(line) - 1,
        last_position=max([*dict(tree.nodes(data="position")).values(), *(band.last for band in bands)], default=0),
        last_row=max(rows.values()),
    )
    return tree


def text_of(node: int, index: dict[int, NodeRecord]) -> str:
    """Return the text of a beam after the prompt, as a reader sees it; ``index`` has all nodes of the trace."""
    parts, pending = [], b""
    for entry in path_to(node, index):
        text, pending = decode_piece(entry, pending)
        parts.append(flowing(text))
    return "".join(parts) + (hex_bytes(pending) if pending else "")


def _members(iteration: IterationRecord, index: Mapping[int, NodeRecord]) -> Iterator[NodeRecord]:
    """Yield the nodes below the input beams: those that it added, and earlier ones that it names again."""
    yield from iteration.nodes
    known = {node.id for node in iteration.nodes} | {beam.node for beam in iteration.input_beams}
    records: list[Trial | Draw] = [*iteration.trials, *iteration.draws]
    named = dict.fromkeys(record.node for record in records)
    yield from (index[node] for node in named if node not in known)


def _looks_of(iteration: IterationRecord, index: Mapping[int, NodeRecord], steps: Sequence[Step]) -> nx.DiGraph:
    """Return the nodes that the steps show, without positions."""
    looks: dict[int, Look] = {}
    records: dict[int, list[Trial | Draw]] = {}
    for step in steps:
        looks.update(step.looks or {})
        if step.record:
            records.setdefault(step.record.node, []).append(step.record)
    is_scored, forest = any(step.phase == "score" for step in steps), nx.DiGraph()
    roots = {beam.node: beam.log_weight for beam in iteration.input_beams}
    for id_ in (*roots, *(node.id for node in _members(iteration, index))):
        if id_ not in looks:
            continue
        node, below = index.get(id_), id_ not in roots
        state, multiplicity, landed = looks[id_]
        numbers: dict[str, Any] = {name: getattr(node, name) if below else None for name in RECORDED}
        numbers["target_prob"] = numbers["target_prob"] if is_scored else None
        token = "" if node is None else piece_label(node)
        forest.add_node(
            id_, **numbers, token=token, label=shorten(token), state=state, multiplicity=multiplicity,
            landed=landed, log_weight=roots.get(id_), records=records.get(id_, []),
        )  # fmt: skip
        if node and below:
            forest.add_edge(node.parent, id_)
    return forest


def _width(layer: Layer, settings: ResolvedSettings) -> LayerWidth:
    distribution, is_free = layer.accepted_distribution, layer.kind == "bonus" and layer.layer > 1
    chances = tuple(min(1.0, math.fsum(distribution[k:])) for k in range(1, layer.draws_planned + 1))
    return LayerWidth(layer.layer, layer.width, is_free, chances, settings.width_threshold if chances else None, layer)


def _best_so_far(trace: Trace, tree: nx.DiGraph) -> int:
    layers = [layer for iteration in trace.iterations for layer in iteration.layers]
    beams = [beam for layer in layers for beam in layer.beams if beam.node in layer.finished]
    beams += trace.iterations[-1].output_beams if trace.iterations else []

    def score(node: int, log_weight: float) -> float:
        return log_weight / max(1, tree.nodes[node]["position"]) ** trace.settings.length_penalty

    return max(beams, key=lambda beam: score(beam.node, beam.log_weight)).node if beams else ROOT
