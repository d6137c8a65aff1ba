"""Reads a place in a trace as people write it, ``iteration=4 layer=2 node=17``, and finds its step.

``iteration=`` and ``step=`` count from 1, as in the viewer's address.
"""

from dataclasses import dataclass

from dsbd.errors import TraceError
from dsbd.results import ITERATION_PHASES
from visualize.scenes.records import IterationScene, Scene

NAMES = ("iteration", "layer", "node", "phase", "step")


@dataclass(frozen=True)
class Position:
    """Where to look: the first place that fits what is given."""

    it: int = 0
    """Iteration, from 0."""
    layer: int | None = None
    node: int | None = None
    """Id of a node in the trace; its step is the one that tries or draws it."""
    phase: str | None = None
    """``draft``, ``score``, ``verify`` or ``commit``."""
    step: int | None = None
    """The step itself, from 0."""

    @staticmethod
    def parse(text: str) -> "Position":
        """Read ``iteration=4 layer=2 node=17``. Raises: ValueError; it names what is wrong."""
        found: dict[str, int | str] = {}
        for word in text.split():
            name, _, value = word.partition("=")
            if name in found or name not in NAMES:
                raise ValueError(f"{word!r} is no place; write iteration=, layer=, node=, phase= or step=, each once")
            if name == "phase":
                if value not in ITERATION_PHASES:
                    raise ValueError(f"phase is {value!r}; choose one of {', '.join(ITERATION_PHASES)}")
                found[name] = value
            elif value.isascii() and value.isdigit() and len(value) < 10:
                found[name] = int(value)
            else:
                raise ValueError(f"{name} is {value!r}; write a whole number")
        for name, field in (("iteration", "it"), ("step", "step")):
            if name in found:
                if found[name] == 0:
                    raise ValueError(f"{name}=0: {name}s count from 1")
                found[field] = int(found.pop(name)) - 1
        return Position(**found)  # type: ignore[arg-type]


def step_of(scene: Scene, position: Position) -> int:
    """Return the step of the viewer that a position means. Raises: TraceError: the trace has no such place."""
    count = len(scene.iterations)
    if position.it >= count:
        raise TraceError(f"iteration={position.it + 1}: this trace has iterations from 1 to {count}")
    iteration = scene.iterations[position.it]
    if position.step is not None:
        if position.step >= len(iteration.steps):
            raise TraceError(
                f"step={position.step + 1}: iteration {position.it + 1} has steps from 1 to {len(iteration.steps)}"
            )
        return position.step
    focus = _place(iteration, position)
    phase = position.phase or ("verify" if position.layer is not None and focus is None else None)
    for number, step in enumerate(iteration.steps):
        phase_of_step = step.phase if step.phase in ("draft", "score", "commit") else "verify"
        if focus in (None, step.focus) and position.layer in (None, step.layer) and phase in (None, phase_of_step):
            return number
    raise TraceError(f"{_said(position)}: iteration {position.it + 1} has no such step")


def _place(iteration: IterationScene, position: Position) -> int | None:
    if position.node is None:
        return None
    for place, node in enumerate(iteration.nodes):
        if node.id == position.node:
            if not node.facts:
                raise TraceError(f"node={position.node}: never tried or drawn in iteration {position.it + 1}")
            return place
    known = ", ".join(str(node.id) for node in iteration.nodes if node.facts)
    raise TraceError(f"node={position.node}: iteration {position.it + 1} tries or draws nodes {known}")


def _said(position: Position) -> str:
    found = {"layer": position.layer, "node": position.node, "phase": position.phase}
    return " ".join(f"{name}={value}" for name, value in found.items() if value is not None)
