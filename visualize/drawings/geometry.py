"""Pixels of the drawn forest, shared by the Plotly figure and the SVG."""

from collections.abc import Iterator
from dataclasses import dataclass

from visualize.scenes.records import IterationScene, NodeScene

PITCH = 168
"""Pixels per column."""
ROW = 32
LEFT = 24
BAND = 118
"""Pixels above the forest, for titles and widths."""
GLYPH = 7.45
"""Pixels per monospace column of a label."""
LABEL_GAP = 17
"""Pixels from a node's centre to its label."""
BEND = 0.7
"""Where in its column an edge leaves the row of the parent."""
MARK_GAP = 11
CURVE_POINTS = 11
COVER_PROBABILITY = 0.2


@dataclass(frozen=True)
class Edge:
    """An edge in columns and rows: level from ``start`` to ``bend``, then a smooth step to ``end``."""

    start: float
    bend: float
    end: float
    from_row: float
    to_row: float

    def points(self) -> Iterator[tuple[float, float]]:
        """The edge as a polyline."""
        if self.start < self.bend:
            yield self.start, self.from_row
        for step in range(CURVE_POINTS):
            t = step / (CURVE_POINTS - 1)
            ease = t * t * (3 - 2 * t)
            x = self.bend + (self.end - self.bend) * t
            yield round(x, 4), round(self.from_row + (self.to_row - self.from_row) * ease, 4)


def edge(parent: NodeScene, node: NodeScene) -> Edge:
    """The edge to ``node``; it starts behind the label of the parent."""
    label = parent.columns + (3 if parent.slots > 1 else 0)
    start = parent.column + (LABEL_GAP + label * GLYPH + 7) / PITCH
    return Edge(
        round(start, 4),
        max(parent.column + BEND, round(start, 4)),
        node.column - MARK_GAP / PITCH,
        parent.row,
        node.row,
    )


def size_factor(node: NodeScene) -> float:
    """Likelier nodes are larger."""
    probability = node.target_prob if node.target_prob is not None else node.draft_prob
    return 0.85 + 0.35 * max(0.0, min(1.0, COVER_PROBABILITY if probability is None else probability)) ** 0.5


def size(iteration: IterationScene) -> tuple[int, int]:
    """Width and height of the drawing in pixels."""
    return round(LEFT + (max(iteration.columns, 1) + 0.95) * PITCH), round(BAND + (iteration.rows + 1.6) * ROW)
