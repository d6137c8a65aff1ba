"""Makes the kind of row that a model needs."""

from dsbd.models.engines.graph import GraphRow, GraphRunner
from dsbd.models.engines.onnx import OnnxRow
from dsbd.models.engines.traced import TracedRow
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.row import Row, ThreadedRow
from dsbd.models.rows.states import PathRows, StateRows
from dsbd.stopping import Check, never_stop


def new_row(model: LanguageModel, slots: int = 0, check: Check = never_stop) -> Row:
    """Make the kind of row that ``model.attention`` and ``model.engine`` name, at first with room for ``slots``.

    ``check`` is called before each forward, and may raise.
    """
    if model.attention in ("states", "steps"):
        return StateRows(model, check)
    if model.attention != "forest":
        return PathRows(model, check)
    if model.engine == "graph" and model.runner(GraphRunner).take():
        return GraphRow(model, slots, check)
    if model.engine == "onnx":
        return OnnxRow(model, slots, check)
    if model.engine in ("traced", "fused"):
        return TracedRow(model, slots, check)
    return ForestRow(model, slots, check)


def threaded_row(model: LanguageModel, slots: int = 0, check: Check = never_stop) -> Row:
    """Return a new row; its forwards will run on as many threads as torch has now, if that makes them faster."""
    row = new_row(model, slots, check)
    needs_threads = model.device.type == "cpu" and model.engine != "onnx" and not model.is_small
    return ThreadedRow(row) if needs_threads else row
