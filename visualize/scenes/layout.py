"""Places the nodes of a forest: a tidy contour layout after Reingold and Tilford.

The tree grows to the right: depth is the column, ``y`` runs down. Subtrees never overlap, a parent
stands midway between its first and last child, siblings keep their order, and equal trees look equal.

*Source:* Reingold and Tilford, Tidier Drawings of Trees, 1981. Packing from one side crowds small subtrees
to that side; here the mean of the packings from both sides is taken. Every rule is linear in ``y``, so
the mean keeps them all, and the drawing of a mirrored tree is the mirrored drawing.
"""

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

import networkx as nx

from dsbd.errors import TraceError
from dsbd.tracing.records import Iteration, Node

SIBLINGS = 0.0
"""Free rows between two children of one parent."""
COUSINS = 0.3
"""Free rows between two nodes of one column that have different parents."""
TREES = 0.9
"""Free rows between two nodes of one column that belong to different input beams."""
HEIGHT = 1.0
COVER_HEIGHT = 0.62
"""Rows a node takes; cover nodes are many and small, except those that a beam landed on."""

Key = TypeVar("Key", bound=Hashable)
Contour = list[tuple[float, float]]
"""Per column below and including the root: where its nodes begin and end, relative to the root's ``y``."""


def forest_graph(iteration: Iteration, nodes: Iterable[Node] | None = None) -> nx.DiGraph:
    """The union tree of an iteration as a graph: input beams, then drafted, cover and drawn nodes.

    Graph nodes are trace ids with attributes ``column`` (0 for input beams) and ``height`` (in rows); edges
    run from parent to child.

    Args:
        iteration: the record; its input beams are the roots.
        nodes: the nodes below them; None = those the iteration added.

    Raises:
        TraceError: a node does not hang below an input beam.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from((beam.node for beam in iteration.input_beams), column=0, height=HEIGHT)
    landed = {draw.node for draw in iteration.draws}
    for node in iteration.nodes if nodes is None else nodes:
        if node.parent not in graph:
            raise TraceError(
                f"damaged trace: iteration {iteration.index + 1}: node {node.id} hangs below no input beam"
            )
        height = COVER_HEIGHT if node.kind == "cover" and node.id not in landed else HEIGHT
        graph.add_node(node.id, column=graph.nodes[node.parent]["column"] + 1, height=height)
        graph.add_edge(node.parent, node.id)
    return graph


def tidy(graph: nx.DiGraph, roots: Iterable[Key]) -> dict[Key, float]:
    """The row ``y`` of every node below ``roots``; the smallest is 0.

    Args:
        graph: a forest; children stand in the order of their edges. A node takes ``height`` rows (1 where
            the graph does not say), half of them above its ``y``.
        roots: its roots, from the top down.

    Returns: rows by node; no two nodes of a column overlap.

    Raises:
        ValueError: a node has two parents or there is a cycle.
    """
    roots = list(roots)
    if any(parents > 1 for _, parents in graph.in_degree()) or not nx.is_directed_acyclic_graph(graph):
        raise ValueError("not a forest: a node has two parents or is its own ancestor")
    children: dict[Key, Sequence[Key]] = {node: list(graph.successors(node)) for node in graph}
    heights: dict[Key, float] = {node: graph.nodes[node].get("height", HEIGHT) for node in graph}
    down = _pack(children, roots, heights)
    mirrored = {node: below[::-1] for node, below in children.items()}
    up = _pack(mirrored, roots[::-1], heights)
    rows = {node: (down[node] - up[node]) / 2 for node in down}
    top = min(rows.values(), default=0.0)
    return {node: row - top for node, row in rows.items()}


def _pack(children: dict[Key, Sequence[Key]], roots: list[Key], heights: dict[Key, float]) -> dict[Key, float]:
    """Rows with every subtree pushed as far up as it goes; the first root is at 0."""
    offsets: dict[Key, float] = {}
    contours: dict[Key, Contour] = {}
    for node in _children_first(children, roots):
        below = children[node]
        places, contour = _row_up([contours.pop(child) for child in below], SIBLINGS, COUSINS)
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for child, place in zip(below, places, strict=True):
            offsets[child] = place - middle
        half = heights[node] / 2
        contours[node] = [(-half, half), *((low - middle, high - middle) for low, high in contour)]
    places, _ = _row_up([contours[root] for root in roots], TREES, TREES)
    rows: dict[Key, float] = {}
    for root, place in zip(roots, places, strict=True):
        rows[root] = place
        waiting = [root]
        while waiting:
            node = waiting.pop()
            for child in children[node]:
                rows[child] = rows[node] + offsets[child]
                waiting.append(child)
    return rows


def _row_up(contours: list[Contour], first: float, deeper: float) -> tuple[list[float], Contour]:
    """Stack subtrees under one another: the row of each root, and the contour of them all.

    ``first`` and ``deeper`` are the free rows between the roots and between the nodes below them.
    """
    places: list[float] = []
    union: Contour = []
    for contour in contours:
        place = max(
            (
                above[1] + (first if depth == 0 else deeper) - below[0]
                for depth, (above, below) in enumerate(zip(union, contour, strict=False))
            ),
            default=0.0,
        )
        places.append(place)
        moved = [(low + place, high + place) for low, high in contour]
        both = [(above[0], below[1]) for above, below in zip(union, moved, strict=False)]
        union = both + union[len(moved) :] + moved[len(union) :]
    return places, union


def _children_first(children: dict[Key, Sequence[Key]], roots: list[Key]) -> list[Key]:
    """Every node after its children; a loop, since a chain may be longer than the stack."""
    order, waiting = [], list(roots)
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting.extend(children[node])
    return order[::-1]
