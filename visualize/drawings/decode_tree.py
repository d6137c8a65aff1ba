"""Where the whole decode stands as one tree: ``x`` counts tokens, ``y`` pixels downwards.

From the top down there are the numbers of the passes, the room of the words, the text, and the rows of its twigs.
"""

import math
from collections.abc import Iterator

from dsbd.tracing.records import ROOT
from visualize.drawings.geometry import Point, smooth
from visualize.look.states import mark_of
from visualize.scenes.records import Band, Scene, TreeNode, WholeScene
from visualize.scenes.tokens import MARKS, columns
from visualize.words.words import Words

ROW = 13.0
"""Pixels between two rows of twigs."""
NUMBERS = 20.0
"""Pixels for the numbers of the passes."""
GLYPH = 6.3
"""Pixels of a character of a word."""
WORD_ANGLE = 60
"""Degrees by which words rise."""
WORD_GAP = 9.0
"""Pixels from the text to its words."""
CURVE_POINTS = 9


class DecodeTree:
    """The places of a whole decode."""

    def __init__(self, whole: WholeScene) -> None:
        longest = max((columns(word(node)) for node in whole.nodes if node.row == 0), default=0)
        self.whole = whole
        self.bands = [band for band in whole.bands if band.won]
        self.columns = max(1, whole.last_position)
        self.line = round(NUMBERS + longest * GLYPH * math.sin(math.radians(WORD_ANGLE)) + 2 * WORD_GAP, 1)
        """Where the text stands."""
        self.height = self.line + (whole.last_row + 1) * ROW

    def place(self, node: TreeNode) -> Point:
        """Where the mark of a node stands."""
        return node.position, self.line + node.row * ROW

    def text(self) -> Iterator[list[Point]]:
        """The line of the text; nothing without a token."""
        if self.whole.tokens:
            yield [(0, self.line), (self.whole.tokens, self.line)]

    def twigs(self, mark: str) -> Iterator[list[Point]]:
        """The edges to the nodes of a mark below the text, as curves."""
        rows = {ROOT: 0} | {node.id: node.row for node in self.whole.nodes}
        for node in self.whole.nodes:
            if node.row and mark_of(node.state) == mark:
                start, end = (node.position - 1, self.line + rows[node.parent] * ROW), self.place(node)
                yield [start, end] if start[1] == end[1] else smooth(start, end, CURVE_POINTS)


def word(node: TreeNode) -> str:
    """Return the label of a node on the line, without the mark for the space before a word."""
    return node.label.removeprefix(MARKS[" "]) or node.label


def decode_title(scene: Scene, words: Words) -> str:
    """Return how many passes of the large model the text took, and how many the same law takes without guesses."""
    whole = scene.whole
    passes, alone = len(whole.bands), whole.bands[-1].last if whole.bands else 0
    return words(
        "figure.instead" if scene.settings.get("lossless") and passes < alone else "figure.decode",
        tokens=words.counted("tokens", whole.tokens),
        passes=words.counted("passes", passes),
        alone=alone,
    )


def decode_quality(scene: Scene, words: Words) -> str:
    """Return whose quality the text has; empty if the method keeps no law."""
    return words("figure.quality") if scene.settings.get("lossless") else ""


def band_title(band: Band, words: Words) -> str:
    """Return the number of a pass, from 1, and how many tokens it won."""
    return words("figure.pass", index=band.iteration + 1, tokens=words.counted("tokens", band.won))
