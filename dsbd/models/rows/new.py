"""Makes the kind of row that a model needs."""

from dsbd.models.engines.graph import runner_of
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.paths import PathRows
from dsbd.models.rows.replayed import GraphRow, TracedRow
from dsbd.models.rows.row import Row
from dsbd.models.rows.states import StateRows
from dsbd.stopping import Check, never_stop


def new_row(model: LanguageModel, slots: int = 0, check: Check = never_stop) -> Row:
    """Make the kind of row that ``model.attention`` and ``model.engine`` name.

    Args:
        model: whose forwards the row makes.
        slots: the number of slots that there is room for at the start.
        check: called before each forward.
    """
    if model.attention in ("states", "steps"):
        return StateRows(model, check)
    if model.attention != "forest":
        return PathRows(model, check)
    if model.engine == "graph" and runner_of(model).take():
        return GraphRow(model, runner_of(model), slots, check)
    if model.engine in ("traced", "fused"):
        return TracedRow(model, slots, check)
    return ForestRow(model, slots, check)
