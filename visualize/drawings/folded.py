"""The whole decode folded into lines, as a paragraph is: where each line stands, and what is on it.

``x`` counts tokens from the start of a line, ``y`` pixels downwards. From the top down a line has the numbers of its
passes, the room of its words, the text at ``y``, and the rows of its twigs.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from dsbd.tracing.records import ROOT
from visualize.look.states import mark_of
from visualize.scenes.records import Band, TreeNode, WholeScene
from visualize.scenes.tokens import MARKS, columns

TOKENS_PER_LINE = 64
ROW = 13.0
"""Pixels between two rows of twigs."""
NUMBERS = 20.0
"""Pixels for the numbers of the passes."""
BETWEEN = 18.0
"""Pixels between two lines."""
GLYPH = 6.3
"""Pixels of a character of a word."""
WORD_ANGLE = 60
"""Degrees by which words rise."""
WORD_GAP = 9.0
"""Pixels from the text to its words."""
CURVE_POINTS = 9

Point = tuple[float, float]


@dataclass(frozen=True)
class Line:
    """Consecutive positions of the decode."""

    first: int
    last: int
    top: float
    y: float
    """Where its text stands."""
    bottom: float

    def x(self, position: float) -> float:
        """Where a position stands on this line; the first at 1."""
        return position - self.first + 1


@dataclass(frozen=True)
class BandPart:
    """A band, or its part on one line."""

    band: Band
    line: Line
    start: float
    end: float


class Folded:
    """A whole decode on lines of at most ``tokens_per_line`` tokens.

    Raises:
        ValueError: ``tokens_per_line`` is no whole number from 8 to 4096.
    """

    def __init__(self, whole: WholeScene, tokens_per_line: int = TOKENS_PER_LINE) -> None:
        if (
            isinstance(tokens_per_line, bool)
            or not isinstance(tokens_per_line, int)
            or not 8 <= tokens_per_line <= 4096
        ):
            raise ValueError(f"tokens_per_line is {tokens_per_line!r}; choose a whole number from 8 to 4096")
        self.whole = whole
        self.nodes = {node.id: node for node in whole.nodes}
        won = whole.bands[-1].last if whole.bands else 0
        count = max(1, math.ceil(won / tokens_per_line))
        self.per_line = max(1, math.ceil(won / count))
        self.lines = self._lines(count)
        self.columns = max(line.last - line.first + 1 for line in self.lines)
        self.height = self.lines[-1].bottom

    def _lines(self, count: int) -> tuple[Line, ...]:
        """Lines of equal length, as high as their words and twigs; the last has the guesses beyond the end too."""
        last_of = [(at + 1) * self.per_line for at in range(count - 1)] + [max(1, self.whole.last_position)]
        words, deepest = [0] * count, [0] * count
        for node in self.whole.nodes:
            at = self._at(node.position)
            deepest[at] = max(deepest[at], node.row)
            before = self._at(node.position - 1)
            deepest[before] = max(deepest[before], node.row if before != at else 0)
            if node.row == 0:
                words[at] = max(words[at], columns(word(node)))
        lines: list[Line] = []
        for at in range(count):
            top = lines[-1].bottom + BETWEEN if lines else 0.0
            y = top + NUMBERS + words[at] * GLYPH * math.sin(math.radians(WORD_ANGLE)) + 2 * WORD_GAP
            bottom = y + (deepest[at] + 1) * ROW
            lines.append(Line(at * self.per_line + 1, last_of[at], top, round(y, 1), round(bottom, 1)))
        return tuple(lines)

    def _at(self, position: int) -> int:
        """The place of the line of a position."""
        won = self.whole.bands[-1].last if self.whole.bands else 1
        return max(0, min(position, won) - 1) // self.per_line

    def line_of(self, position: int) -> Line:
        """The line of a position."""
        return self.lines[min(self._at(position), len(self.lines) - 1)]

    def place(self, node: TreeNode) -> Point:
        """Where the mark of a node stands."""
        line = self.line_of(node.position)
        return line.x(node.position), line.y + node.row * ROW

    def bands(self) -> Iterator[BandPart]:
        """The bands, cut at the ends of lines; bands that won nothing are left out."""
        for band in self.whole.bands:
            for line in self.lines:
                first, last = max(band.first, line.first), min(band.last, line.last)
                if first <= last:
                    yield BandPart(band, line, line.x(first - 0.5), line.x(last + 0.5))

    def text(self) -> Iterator[list[Point]]:
        """The line of the text, one piece for each line of the drawing that it reaches."""
        for line in self.lines:
            last = min(line.last, self.whole.tokens)
            if last >= line.first:
                more = 0.5 if last < self.whole.tokens else 0
                start = 0 if line.first == 1 else 0.5
                yield [(start, line.y), (line.x(last + more), line.y)]

    def twigs(self, mark: str) -> Iterator[list[Point]]:
        """The edges to the nodes of a mark below the text, as curves; cut in two at the end of a line."""
        for node in self.whole.nodes:
            if not node.row or mark_of(node.state) != mark:
                continue
            above = self.nodes.get(node.parent)
            row = above.row if above is not None and node.parent != ROOT else 0
            line, before = self.line_of(node.position), self.line_of(max(node.position - 1, 1))
            y = line.y + node.row * ROW
            if before is line:
                yield curve((line.x(node.position - 1), line.y + row * ROW), (line.x(node.position), y))
            else:
                x = before.x(node.position - 1)
                yield curve((x, before.y + row * ROW), (x + 0.6, before.y + node.row * ROW))
                yield [(line.x(node.position) - 0.6, y), (line.x(node.position), y)]


def curve(start: Point, end: Point) -> list[Point]:
    """Return a curve that is level at both ends; a straight line if both ends have the same height."""
    (x0, y0), (x1, y1) = start, end
    if y0 == y1:
        return [start, end]
    steps = (step / (CURVE_POINTS - 1) for step in range(CURVE_POINTS))
    return [(round(x0 + (x1 - x0) * t, 3), round(y0 + (y1 - y0) * t * t * (3 - 2 * t), 1)) for t in steps]


def word(node: TreeNode) -> str:
    """Return the label of a node on the line, without the mark for the space before a word."""
    return node.label.removeprefix(MARKS[" "]) or node.label
