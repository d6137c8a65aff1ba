"""The nodes of one iteration as CSV, like the file that the viewer saves."""

import csv
import io
from decimal import Decimal
from typing import Any

from visualize.scenes.records import Scene
from visualize.scenes.source import Source, check_iteration, scene_of

COLUMNS = ("id", "parent", "layer", "token", "token_id", "kind", "state", "slots", "landed", "kept", "ends",
           "target_prob", "draft_prob", "target_log_prob", "draft_log_prob")  # fmt: skip
DIGITS = 6
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def nodes_csv(source: Source | Scene, iteration: int = 0) -> str:
    """Return the nodes of one iteration after its last step: a line of names, then one line for each node.

    Iterations count from 0. Probabilities have six significant digits. An apostrophe is put before text that a
    spreadsheet would read as a formula.

    Example:
        >>> print(visualize.nodes_csv(trace, iteration=4))

    Raises:
        TraceError: no such iteration, or no such trace.
    """
    scene = scene_of(source)
    chosen = scene.iterations[check_iteration(iteration, len(scene.iterations))]
    text = io.StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(COLUMNS)
    for node in chosen.nodes:
        parent = None if node.parent < 0 else chosen.nodes[node.parent].id
        values = {**vars(node), "parent": parent, "layer": node.column}
        lines.writerow([_cell(values[column]) for column in COLUMNS])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return int(value) if isinstance(value, bool) else _number(value) if isinstance(value, float) else value


def _number(value: float) -> str:
    """Like browsers: plain down to a millionth, then with an exponent."""
    rounded = float(f"{value:.{DIGITS}g}")
    if rounded == int(rounded):
        return str(int(rounded))
    if abs(rounded) >= 1e-6:
        return f"{Decimal(repr(rounded)):f}"
    mantissa, exponent = repr(rounded).split("e")
    return f"{mantissa}e{int(exponent)}"
