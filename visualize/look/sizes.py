"""The sizes and dashes of a drawn forest that Python's drawings and the viewer share.

One table, ``look/sizes.json``, serves both. A size that only one of them uses stands in its geometry file.
"""

import json
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Sizes:
    """Sizes in pixels, unless stated otherwise; a *column* is the distance between two layers."""

    glyph: float
    """Width of a monospace column of a label."""
    label_gap: float
    """From the centre of a node to its label."""
    label_drop: float
    """From the centre of a node down to the baseline of its label."""
    label_end: float
    """Free space between a label and the edge that starts after it."""
    count_columns: int
    """Monospace columns of a mark such as ×2 after a label."""
    bend: float
    """Where an edge leaves the row of its parent, in columns from the parent."""
    mark_gap: float
    """From the end of an edge to the centre of its node."""
    first_row: float
    """Place of the first node, in rows from the top."""
    free_rows: float
    """Rows above the first and below the last node together."""
    band_start: float
    """Left end of the band of a layer, in columns from its nodes."""
    band_width: float
    """Width of that band, in columns."""
    bar: float
    """Width of a bar of P(accepted >= k), as part of its place."""
    unknown_probability: float
    """The probability that sets the size of a mark if that of its node is not known."""
    mark_least: float
    """Size of the mark of an impossible node, as part of the size of its state."""
    mark_more: float
    """The square root of its probability times this is added to that size."""
    cover: float
    """The size of a cover node, as part of that."""
    dashes: dict[str, str]
    """The dash pattern of each dash in ``look/marks.json``, as SVG writes it; empty for a solid line."""


SIZES = Sizes(**json.loads((resources.files("visualize") / "look" / "sizes.json").read_text(encoding="utf-8")))
