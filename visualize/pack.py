"""A scene as JSON-ready data, small enough to stream: long lists become tables that name their fields once.

Probabilities keep six digits here. They are for drawing; what they decided stands in the sentences, and in
full in the trace.
"""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from visualize.scene import Fact, IterationScene, NodeScene, Scene, StepScene
from visualize.styles import styles

FORMAT = "dsbd-scene/1"
DIGITS = 6
NODE = (
    "id",
    "parent",
    "column",
    "row",
    "label",
    "columns",
    "token",
    "adds",
    "pending",
    "token_id",
    "kind",
    "slots",
    "kept",
    "ends",
    "target_prob",
    "draft_prob",
    "target_log_prob",
    "draft_log_prob",
    "log_weight",
)
FACT = ("step", "state", "title", "sentence", "detail", "low", "high", "u")
STEP = ("phase", "layer", "sentence", "focus")
CHANGE = ("node", "state", "slots", "landed")
TOKEN = ("id", "parent", "text", "pending", "origin")


def pack_scene(scene: Scene) -> dict[str, Any]:
    """The scene with its strings and styles, so that the viewer needs nothing else."""
    return {
        "format": FORMAT,
        "title": scene.title,
        "models": list(scene.models),
        "settings": scene.settings,
        "prompt": list(scene.prompt),
        "tokens": _table(TOKEN, scene.tokens),
        "iterations": [pack_iteration(iteration) for iteration in scene.iterations],
        "statistics": scene.statistics.to_dict(),
        "result": [asdict(beam) for beam in scene.result],
        "strings": scene.strings,
        "styles": {state: asdict(style) for state, style in styles().items()},
    }


def pack_iteration(iteration: IterationScene) -> dict[str, Any]:
    """One iteration; ``facts`` and ``changes`` are tables beside the nodes and steps they belong to."""
    return {
        "index": iteration.index,
        "columns": iteration.columns,
        "rows": iteration.rows,
        "scored_step": iteration.scored_step,
        "nodes": {
            **_table(NODE, iteration.nodes),
            "facts": list(FACT),
            "told": [_facts(node) for node in iteration.nodes],
        },
        "steps": {
            **_table(STEP, iteration.steps),
            "changes": list(CHANGE),
            "made": [_changes(s) for s in iteration.steps],
        },
        "layers": [_rounded(asdict(layer)) for layer in iteration.layers],
        "beams_before": [asdict(beam) for beam in iteration.beams_before],
        "beams_after": [asdict(beam) for beam in iteration.beams_after],
        "seconds": _rounded(iteration.seconds),
    }


def _table(fields: tuple[str, ...], items: Iterable[Any]) -> dict[str, Any]:
    return {"fields": list(fields), "rows": [[_rounded(getattr(item, field)) for field in fields] for item in items]}


def _facts(node: NodeScene) -> list[list[Any]]:
    return [_fact(fact) for fact in node.facts]


def _fact(fact: Fact) -> list[Any]:
    gauge = [fact.gauge.low, fact.gauge.high, fact.gauge.u] if fact.gauge else [None, None, None]
    return [fact.step, fact.state, fact.title, fact.sentence, fact.detail, *_rounded(gauge)]


def _changes(step: StepScene) -> list[list[Any]]:
    return [[change.node, change.state, change.slots, change.landed] for change in step.changes]


def _rounded(value: Any) -> Any:
    """Floats to :data:`DIGITS` significant digits, inside lists and dicts too."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, (list, tuple)) else value
