"""Turns a scene into plain data for JSON, small enough to stream: long lists are tables that name their fields once.

The data has no sentences: the viewer fills the templates of its language with the recorded numbers, as
``visualize.words.words`` does. A number that decides something keeps every digit; a number that is only drawn keeps
six, or four in the table of the likeliest pairs.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from dsbd.results import ITERATION_PHASES
from dsbd.tracing.audit import verify_trace
from dsbd.tracing.records import ROOT, JointSums, MemoryRecord
from dsbd.tracing.trace import Trace
from visualize.look.states import mark_of
from visualize.scenes.records import IterationScene, LayerScene, NodeScene, Scene, StepScene, WholeScene
from visualize.scenes.tokens import MARKS, flowing, visible

FORMAT = "dsbd-scene/3"
DIGITS = 6
ALTERNATIVE_DIGITS = 4
"""Digits of the likeliest pairs, which are shown as bars and with two digits."""
NODE = ("id", "parent", "column", "row", "label", "token_id", "kind", "kept", "ends", "target_prob", "draft_prob",
        "target_log_prob", "draft_log_prob", "log_weight", "adds", "pending", "token", "label_columns",
        "completes")  # fmt: skip
TRIAL = ("layer", "order", "node", "verdict", "draft_prob", "residual_prob", "c", "S", "acceptance", "uniform",
         "joint")  # fmt: skip
BEGINNING = ("node", "target_prob", "probability", "rest", "acceptance", "uniform")
DRAW = ("layer", "order", "kind", "node", "landed", "target_prob", "draft_prob", "c", "S", "uniform", "cdf_low",
        "cdf_high")  # fmt: skip
LAYER = ("layer", "kind", "width", "width_reason", "accepted", "outcome", "forest_mass", "chain_S")
"""Of a layer, as recorded."""
STEP = ("phase", "layer", "focus", "about", "changes")
TOKEN = ("id", "parent", "text", "pending", "origin")
ALTERNATIVE = ("layer", "parent", "token", "target_prob", "draft_prob", "node")
TREE_NODE = ("id", "parent", "position", "row", "mark", "iteration")
BAND = ("iteration", "first", "last")
BEAM = ("node", "multiplicity", "log_weight", "finished")
RESULT = ("node", "text", "log_weight", "score", "finished")
SEGMENT = ("tokens", "text", "first_memory", "weights")
EXACT = {"target_prob", "draft_prob"}
"""Of a drafted node: these numbers decide its verdict and keep every digit."""
EXACT_JOINT = EXACT | {"target_log_prob", "draft_log_prob"}
"""The same where a beam is tested as a whole."""


def scene_json(scene: Scene) -> dict[str, Any]:
    """Return a scene as plain data for ``json.dumps``: what the viewer's ``mount`` draws.

    Returns: new lists and dicts of strings, numbers, booleans and None. Numbers that only a drawing uses have six
    significant digits (four in the table of the likeliest pairs), all others every digit.

    Example:
        >>> visualize.scene_json(visualize.scene(trace))["format"]
    """
    return {
        "format": FORMAT,
        "language": scene.strings["language"],
        "title": scene.title,
        "models": list(scene.models),
        "settings": {name: list(one) if isinstance(one, tuple) else one for name, one in scene.settings.items()},
        "prompt": list(scene.prompt),
        **({} if scene.memory is None else {"memory": _memory(scene.memory)}),
        "tokens": _drawn(TOKEN, scene.tokens),
        "whole": _whole(scene.whole),
        "iterations": [_iteration(iteration) for iteration in scene.iterations],
        "statistics": scene.statistics.to_dict(),
        "result": [{field: getattr(beam, field) for field in RESULT} | {"text": flowing(beam.text)}
                   for beam in scene.result],
        "evidence": None if scene.trace is None else _evidence(scene.trace),
    }  # fmt: skip


def _memory(memory: MemoryRecord) -> dict[str, Any]:
    segments = [{field: getattr(one, field) for field in SEGMENT} | {"text": flowing(one.text)}
                for one in memory.segments]  # fmt: skip
    return {"segments": _rounded(segments), "sensory": memory.sensory}


def _evidence(trace: Trace) -> dict[str, Any]:
    """The result of the audit. The browser checks what it can and takes the rest from here: statistics, laws, settings,
    texts and the digest need numbers that a scene leaves out."""
    report = verify_trace(trace)
    return {"passed": report.passed, "checks": report.checks, "failure": report.failure}


def _iteration(iteration: IterationScene) -> dict[str, Any]:
    """One iteration; a node is named by its place in it."""
    places = {node.id: place for place, node in enumerate(iteration.nodes)}
    record, slots = iteration.record, iteration.record.kept
    exact = EXACT_JOINT if any(trial.joint for trial in record.trials) else EXACT
    seconds = {phase: getattr(record.phases, f"{phase}_seconds") for phase in ITERATION_PHASES}
    return {
        "index": iteration.index,
        "before": iteration.before,
        "last_column": iteration.last_column,
        "last_row": iteration.last_row,
        "scored_step": iteration.scored_step,
        "nodes": _table(NODE, [_node(node, exact) for node in iteration.nodes]),
        "trials": _records(TRIAL, record.trials, places),
        "draws": _records(DRAW, record.draws, places),
        "beginnings": _records(BEGINNING, (), places),
        "layers": [_layer(layer, places) for layer in iteration.layers],
        "alternatives": _alternatives(iteration, places),
        "steps": _table(STEP, [_step(step) for step in iteration.steps]),
        "beams_before": _drawn(BEAM, iteration.beams_before),
        "beams_after": _drawn(BEAM, iteration.beams_after),
        "seconds": _rounded(seconds),
        "slots": {"prompt": slots.prompt_slots, "before": iteration.slots_before, "scored": slots.slots_scored,
                  "kept": slots.slots_kept, "nodes": sorted(places[node] for node in slots.nodes if node in places)},
    }  # fmt: skip


def _layer(layer: LayerScene, places: dict[int, int]) -> dict[str, Any]:
    record = layer.record
    assert record is not None, "every layer of a whole iteration has its record"
    recorded = {field: getattr(record, field) for field in LAYER}
    alive = [places[node] for node in record.alive]
    drawn = {"at_least": list(layer.at_least), "support": record.target_support, "alive": alive, "step": layer.step}
    return {**recorded, **drawn}


def _whole(whole: WholeScene) -> dict[str, Any]:
    """The whole decode as one tree."""
    rows = [[mark_of(node.state) if field == "mark" else getattr(node, field) for field in TREE_NODE]
            for node in whole.nodes]  # fmt: skip
    return {
        "tokens": whole.tokens,
        "last_position": whole.last_position,
        "last_row": whole.last_row,
        "nodes": _table(TREE_NODE, rows),
        "bands": _drawn(BAND, whole.bands),
    }


def _step(step: StepScene) -> list[Any]:
    changes = [[change.node, change.state, change.slots, int(change.landed)] for change in step.changes]
    return [step.phase, step.layer, step.focus, list(step.about), changes]


def _node(node: NodeScene, exact_if_drafted: set[str]) -> list[Any]:
    """A value that the viewer can work out is None, and a row ends with its last value that is not None.

    The viewer works out a token that equals its label, the columns of a label whose characters take one each, and the
    added text if it is the token with spaces instead of their marks.
    """
    row = {field: getattr(node, field) for field in NODE}
    row["label_columns"] = None if node.label_columns == len(node.label) else node.label_columns
    row["adds"] = None if node.adds == node.token.replace(MARKS[" "], " ") and node.kind != "input" else node.adds
    row["token"] = None if node.token == node.label else node.token
    row["pending"], row["completes"] = node.pending or None, node.completes or None
    exact = exact_if_drafted if node.kind == "drafted" else ()
    values = [int(row[f]) if isinstance(row[f], bool) else row[f] if f in exact else _rounded(row[f]) for f in NODE]
    while values[-1] is None:
        values.pop()
    return values


def _alternatives(iteration: IterationScene, places: dict[int, int]) -> dict[str, Any]:
    """The likeliest pairs of all layers in one table; a beam is named only where several are alive."""
    rows = []
    for layer in iteration.record.layers:
        for pair in layer.alternatives:
            is_named = len(layer.alive) > 1 and pair.parent != ROOT
            parent = iteration.nodes[places[pair.parent]].token if is_named else ""
            probs = (_rounded(prob, ALTERNATIVE_DIGITS) for prob in (pair.target_prob, pair.draft_prob))
            place = -1 if pair.node is None else places.get(pair.node, -1)
            rows.append([layer.layer, parent, visible(pair.text), *probs, place])
    return _table(ALTERNATIVE, rows)


def _records(fields: tuple[str, ...], items: Iterable[Any], places: dict[int, int]) -> dict[str, Any]:
    """Trials, draws or beginnings, with every digit."""

    def cell(item: Any, field: str) -> Any:
        value = getattr(item, field)
        return places[value] if field == "node" else asdict(value) if isinstance(value, JointSums) else value

    return _table(fields, [[cell(item, field) for field in fields] for item in items])


def _drawn(fields: tuple[str, ...], items: Iterable[Any]) -> dict[str, Any]:
    return _table(fields, [[_rounded(getattr(item, field)) for field in fields] for item in items])


def _table(fields: tuple[str, ...], rows: list[list[Any]]) -> dict[str, Any]:
    return {"fields": list(fields), "rows": rows}


def _rounded(value: Any, digits: int = DIGITS) -> Any:
    """Round floats to this many significant digits, inside lists and dicts too."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, (list, tuple)) else value
