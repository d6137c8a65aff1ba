"""Compares two traces of one prompt step by step, and finds the first step where they part."""

from collections.abc import Iterator
from dataclasses import dataclass

from dsbd.errors import TraceError
from dsbd.results import brief
from dsbd.tracing.records import ROOT
from visualize.scenes.build import build_scene
from visualize.scenes.records import IterationScene, ResultBeam, Scene, StepScene
from visualize.scenes.source import Source, load_trace


@dataclass(frozen=True)
class Divergence:
    """The first step at which two scenes differ."""

    it: int
    """Place of the iteration, from 0."""
    iteration: int
    """Its recorded index."""
    step: int
    """Place of the step, from 0; the first step that only one of the two has counts as different."""
    phase: str
    layer: int
    """0 if the step is about no layer."""


@dataclass(frozen=True)
class DiffScene:
    """Two scenes of one prompt, and where they part. Pages take it like a scene."""

    __repr__ = brief

    left: Scene
    right: Scene
    divergence: Divergence | None
    """None if both took the same steps."""

    @property
    def title(self) -> str:
        return f"{self.left.title} | {self.right.title}"

    @property
    def prompt(self) -> tuple[str, ...]:
        return self.left.prompt

    @property
    def result(self) -> tuple[ResultBeam, ...]:
        return self.left.result

    @property
    def strings(self) -> dict[str, str]:
        return self.left.strings


def diff_scene(left: Source, right: Source, *, language: str = "en") -> DiffScene:
    """Return two traces of the same prompt, side by side.

    Args:
        left: a trace, or the path of a trace file.
        right: another one, of the same prompt.
        language: of the sentences.

    Example:
        >>> visualize.diff_scene(trace, trace).divergence is None

    Raises:
        TraceError: a source is no trace, or the prompts differ.
        ValueError: there are no sentences in this language.
    """
    traces = load_trace(left), load_trace(right)
    prompts = [[piece.token_id for piece in trace.prompt.pieces] or trace.prompt.text for trace in traces]
    if prompts[0] != prompts[1]:
        shown = [trace.prompt.text[:40] for trace in traces]
        raise TraceError(f"the traces have different prompts, {shown[0]!r} and {shown[1]!r}; record both with the same")
    scenes = [build_scene(trace, language=language) for trace in traces]
    return DiffScene(scenes[0], scenes[1], first_divergence(scenes[0], scenes[1]))


def first_divergence(left: Scene, right: Scene) -> Divergence | None:
    """Return the first step at which the scenes differ; None if both took the same steps.

    Nodes are compared by content, the tokens on the way from the prompt, not by their ids.
    """
    names: dict[tuple[int, int], int] = {}
    read = [_Reader(names), _Reader(names)]
    for it in range(max(len(left.iterations), len(right.iterations))):
        pair = [scene.iterations[it] if it < len(scene.iterations) else None for scene in (left, right)]
        told = [[] if entry is None else list(reader.steps(entry)) for entry, reader in zip(pair, read, strict=True)]
        longest, index = max(told, key=len), next(entry.index for entry in pair if entry is not None)
        for at, (step, _) in enumerate(longest):
            if not all(at < len(side) for side in told) or told[0][at][1] != told[1][at][1]:
                return Divergence(it, index, at, step.phase, step.layer)
    return None


class _Reader:
    """Names the nodes of one trace by their content, shared with the other's."""

    def __init__(self, names: dict[tuple[int, int], int]) -> None:
        self.names = names
        self.known = {ROOT: 0}

    def steps(self, iteration: IterationScene) -> Iterator[tuple[StepScene, object]]:
        """Yield each step with what it says, in a form that can be compared."""
        nodes, layers = iteration.nodes, {layer.layer: layer for layer in iteration.layers}
        for node in nodes:
            if node.parent >= 0 and node.token_id is not None:
                above = self.known.get(nodes[node.parent].id, -1)
                self.known[node.id] = self.names.setdefault((above, node.token_id), len(self.names) + 1)
        for step in iteration.steps:
            changed = sorted(
                (self.known.get(nodes[change.node].id, -1), change.state, change.slots, change.landed)
                for change in step.changes
            )
            layer = layers.get(step.layer) if step.phase in ("width", "layer") else None
            yield step, (step.phase, step.layer, changed, layer and (layer.width, layer.outcome_sentence))
