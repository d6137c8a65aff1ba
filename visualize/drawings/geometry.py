"""Pixels of the forest in Python's drawings: the Plotly figure, SVG and TikZ."""

from collections.abc import Iterable
from dataclasses import dataclass

from visualize.look.sizes import SIZES
from visualize.look.states import MARKS, mark_of
from visualize.scenes.records import IterationScene, LayerScene, NodeScene

PITCH = 168
"""Pixels per column."""
ROW = 32
LEFT = 24
BAND = 118
"""Pixels above the forest, for titles and widths."""
CURVE_POINTS = 19
"""Of an edge drawn as a polyline."""


Point = tuple[float, float]


@dataclass(frozen=True)
class Edge:
    """An edge in columns and rows: level from ``start`` to ``bend``, then a smooth step to ``end``."""

    start: float
    bend: float
    end: float
    from_row: float
    to_row: float

    def points(self) -> list[Point]:
        """The edge as a polyline."""
        level = [(self.start, self.from_row)] if self.start < self.bend else []
        return level + smooth((self.bend, self.from_row), (self.end, self.to_row), CURVE_POINTS)


def smooth(start: Point, end: Point, count: int) -> list[Point]:
    """Return ``count`` points of a curve that is level at both ends."""
    (x0, y0), (x1, y1) = start, end
    steps = (step / (count - 1) for step in range(count))
    return [(round(x0 + (x1 - x0) * t, 4), round(y0 + (y1 - y0) * t * t * (3 - 2 * t), 4)) for t in steps]


def edge(parent: NodeScene, node: NodeScene) -> Edge:
    """The edge to ``node``; it starts behind the label of the parent."""
    label = parent.label_columns + (SIZES.count_columns if parent.slots > 1 else 0)
    start = parent.column + (SIZES.label_gap + label * SIZES.glyph + SIZES.label_end) / PITCH
    return Edge(
        round(start, 4),
        max(parent.column + SIZES.bend, round(start, 4)),
        node.column - SIZES.mark_gap / PITCH,
        parent.row,
        node.row,
    )


def bars(layer: LayerScene) -> list[tuple[float, float, float, bool]]:
    """The bars of P(accepted >= k): pixels from the first bar, pixels of width, probability, and whether k is kept."""
    count = len(layer.at_least)
    each = min(0.62 * PITCH, 16.0 * count) / max(count, 1)
    return [(at * each, SIZES.bar * each, value, at < layer.width) for at, value in enumerate(layer.at_least)]


def legend(
    nodes: Iterable[NodeScene], strings: dict[str, str], width: float, *, room: float, letter: float
) -> list[tuple[str, str, float, int]]:
    """The marks that occur, in lines of ``width`` pixels: mark, name, pixels from the left, and number of the line.

    ``room`` and ``letter`` are the pixels that a mark and each letter of its name take.
    """
    found = {mark_of(node.state) for node in nodes}
    entries, line = [], 0
    x: float = LEFT
    for mark in MARKS:
        if mark not in found:
            continue
        name = strings[f"mark.{mark}"]
        taken = room + letter * len(name)
        if x + taken > width:
            x, line = LEFT, line + 1
        entries.append((mark, name, x, line))
        x += taken
    return entries


def size_factor(node: NodeScene) -> float:
    """Likelier nodes are larger, and cover nodes smaller."""
    probability = node.target_prob if node.target_prob is not None else node.draft_prob
    known = SIZES.unknown_probability if probability is None else probability
    likelier = SIZES.mark_least + SIZES.mark_more * max(0.0, min(1.0, known)) ** 0.5
    return likelier * (SIZES.cover if node.state == "cover" else 1)


def size(iteration: IterationScene) -> tuple[int, int]:
    """Width and height of the drawing in pixels."""
    return round(LEFT + (max(iteration.last_column, 1) + 0.95) * PITCH), round(
        BAND + (iteration.last_row + SIZES.free_rows) * ROW
    )


def x_of(column: float) -> float:
    """Pixels from the left."""
    return round(LEFT + column * PITCH, 1)


def y_of(row: float) -> float:
    """Pixels from the top."""
    return round(BAND + (row + SIZES.first_row) * ROW, 1)
