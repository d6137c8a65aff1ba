"""Places the nodes of trees: every node gets a row, so that no two nodes of a column overlap and no edges cross.

Trees grow to the right: the depth of a node is its column, and rows run down. Two drawings are placed here:

- :func:`tidy`, the forest of an iteration. A parent stands midway between its first and last child, siblings keep their
  order, and equal trees look equal.
- :func:`hanging`, a whole decode. One path is a straight line, and everything else hangs below it.

*Source:* Reingold and Tilford, Tidier Drawings of Trees, 1981. Packing from one side crowds small subtrees on that
side, so ``tidy`` takes the mean of packing from above and from below. Every rule is linear in the rows, so the mean
keeps them all, and a mirrored tree has the mirrored drawing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

SIBLINGS = 0.0
"""Free rows between two children of one parent."""
COUSINS = 0.3
"""Free rows between two nodes of one column that have different parents."""
TREES = 0.9
"""Free rows between two nodes of one column that belong to different trees."""
HEIGHT = 1.0
"""Rows that a node takes, if nothing else is said."""

Children = Mapping[int, Sequence[int]]
"""The children of each node, from the top down; leaves may be missing."""
Contour = list[tuple[float, float]]
"""For each column from the root on: where its nodes begin and end, relative to the root's row."""


def tidy(children: Children, roots: Sequence[int], heights: Mapping[int, float]) -> dict[int, float]:
    """Return the row of every node below ``roots``; the smallest is 0.

    Args:
        children: of each node.
        roots: from the top down.
        heights: how many rows a node takes, half of them above its own row.
    """
    down = _pack(children, roots, heights)
    mirrored = {node: below[::-1] for node, below in children.items()}
    up = _pack(mirrored, roots[::-1], heights)
    rows = {node: (down[node] - up[node]) / 2 for node in down}
    top = min(rows.values(), default=0.0)
    return {node: row - top for node, row in rows.items()}


def hanging(children: Children, line: Sequence[int]) -> dict[int, int]:
    """Return the row of every node of a tree: 0 on ``line``, and from 1 on below it.

    The twigs of the line are placed from its end to its beginning. Each node takes the first row that is free below all
    that stands in its column, and never a row above its parent. So what is placed later hangs lower.

    Args:
        children: of each node.
        line: a path from the root on.
    """
    rows = dict.fromkeys(line, 0)
    lowest: defaultdict[int, int] = defaultdict(int)
    waiting = [
        (twig, column, 0)
        for column, node in enumerate(line, 1)
        for twig in reversed(children.get(node, ()))
        if twig not in rows
    ]
    while waiting:
        node, column, above = waiting.pop()
        rows[node] = lowest[column] = max(lowest[column] + 1, above)
        waiting += [(child, column + 1, rows[node]) for child in reversed(children.get(node, ()))]
    return rows


def _pack(children: Children, roots: Sequence[int], heights: Mapping[int, float]) -> dict[int, float]:
    """Return the rows with every subtree pushed up as far as it goes; the first root is at 0."""
    offsets: dict[int, float] = {}
    contours: dict[int, Contour] = {}
    order = list(roots)
    for node in order:
        order += children.get(node, ())
    for node in reversed(order):
        below = children.get(node, ())
        places, contour = _stack([contours.pop(child) for child in below], SIBLINGS, COUSINS)
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        offsets.update((child, place - middle) for child, place in zip(below, places, strict=True))
        half = heights.get(node, HEIGHT) / 2
        contours[node] = [(-half, half), *((low - middle, high - middle) for low, high in contour)]
    places, _ = _stack([contours[root] for root in roots], TREES, TREES)
    rows = dict(zip(roots, places, strict=True))
    for node in order:
        rows.update((child, rows[node] + offsets[child]) for child in children.get(node, ()))
    return rows


def _stack(contours: Sequence[Contour], first: float, deeper: float) -> tuple[list[float], Contour]:
    """Stack subtrees below each other: the row of each root, and the contour of them all.

    ``first`` and ``deeper`` are the free rows between the roots, and between the nodes below them.
    """
    places: list[float] = []
    union: Contour = []
    for contour in contours:
        needed = (
            above[1] + (deeper if depth else first) - below[0]
            for depth, (above, below) in enumerate(zip(union, contour, strict=False))
        )
        place = max(needed, default=0.0)
        places.append(place)
        moved = [(low + place, high + place) for low, high in contour]
        both = [(above[0], below[1]) for above, below in zip(union, moved, strict=False)]
        union = both + union[len(moved) :] + moved[len(union) :]
    return places, union
