"""Lays out trees: every node gets a row, so that no two nodes of a column overlap and no edges cross.

Trees grow to the right: the depth of a node is its column, and rows run down. There are two layouts:

- :func:`tidy`, for the forest of an iteration: a parent stands midway between its first and last child, siblings keep
  their order, and equal trees look equal.
- :func:`hanging`, for a whole decode: one path is a straight line, and everything else hangs below it.

*Source:* Reingold and Tilford, Tidier Drawings of Trees, 1981. Packing from one side crowds small subtrees on that
side, so ``tidy`` takes the mean of packing from above and from below. Every rule is linear in the rows, so the mean
keeps them all, and a mirrored tree has the mirrored drawing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

SIBLINGS, COUSINS, TREES = 0.0, 0.3, 0.9
"""Free rows between two nodes of one column: of one parent, of two parents, of two trees."""
HEIGHT = 1.0

Children = Mapping[int, Sequence[int]]  # the children of each node, from the top down; leaves may be left out
Contour = list[tuple[float, float]]
"""For each column from the root on: where its nodes begin and end, relative to the row of the root."""


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

    Twigs get their rows from the end of the line to its beginning. A node takes the first row below all nodes of its
    column so far, and never a row above its parent, so later twigs hang lower.

    Args:
        children: of each node.
        line: a path from the root on.
    """
    rows = dict.fromkeys(line, 0)
    lowest: defaultdict[int, int] = defaultdict(int)
    stack = [(twig, column, 0) for column, node in enumerate(line, 1)
             for twig in reversed(children.get(node, ())) if twig not in rows]  # fmt: skip
    while stack:
        node, column, above = stack.pop()
        rows[node] = lowest[column] = max(lowest[column] + 1, above)
        stack += [(child, column + 1, rows[node]) for child in reversed(children.get(node, ()))]
    return rows


def _pack(children: Children, roots: Sequence[int], heights: Mapping[int, float]) -> dict[int, float]:
    """Return the rows with every subtree moved up as far as it goes; the first root is at 0."""
    offsets: dict[int, float] = {}
    contours: dict[int, Contour] = {}
    order = list(roots)
    for node in order:
        order += children.get(node, ())
    for node in reversed(order):
        below = children.get(node, ())
        starts, contour = _stack([contours.pop(child) for child in below], SIBLINGS, COUSINS)
        middle = (starts[0] + starts[-1]) / 2 if starts else 0.0
        offsets.update((child, row - middle) for child, row in zip(below, starts, strict=True))
        half = heights.get(node, HEIGHT) / 2
        contours[node] = [(-half, half), *((low - middle, high - middle) for low, high in contour)]
    starts, _ = _stack([contours[root] for root in roots], TREES, TREES)
    rows = dict(zip(roots, starts, strict=True))
    for node in order:
        rows.update((child, rows[node] + offsets[child]) for child in children.get(node, ()))
    return rows


def _stack(contours: Sequence[Contour], first: float, deeper: float) -> tuple[list[float], Contour]:
    """Stack subtrees below each other: return the row of each root, and the contour of them all.

    ``first`` and ``deeper`` are the free rows between the roots, and between the nodes below them.
    """
    starts: list[float] = []
    union: Contour = []
    for contour in contours:
        bounds = (above[1] + (deeper if depth else first) - below[0]
                  for depth, (above, below) in enumerate(zip(union, contour, strict=False)))  # fmt: skip
        starts.append(start := max(bounds, default=0.0))
        moved = [(low + start, high + start) for low, high in contour]
        both = [(above[0], below[1]) for above, below in zip(union, moved, strict=False)]
        union = both + union[len(moved) :] + moved[len(union) :]
    return starts, union
