"""Turns what public functions accept into a scene: a trace, a path, a recorded result, or one iteration."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from dsbd.errors import TraceError
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace
from visualize.scenes.build import SceneBuilder, build_scene
from visualize.scenes.records import IterationScene, Scene


@runtime_checkable
class Recorded(Protocol):
    """What a decode returns: it holds its trace where it was recorded."""

    @property
    def trace(self) -> Trace | None: ...


Source = Trace | str | Path | Recorded


def load_trace(source: Source) -> Trace:
    """The trace itself, the one in the file, or the one of a recorded result. Raises: TraceError."""
    if isinstance(source, Trace):
        return source
    if isinstance(source, (str, Path)):
        return Trace.load(source)
    if not isinstance(source, Recorded):
        raise TraceError(f"{type(source).__name__} is no trace; give a trace, the path of a trace file or a result")
    if source.trace is None:
        raise TraceError("the result holds no trace; decode with record=True")
    return source.trace


def scene_of(source: Source | Iteration | Scene, language: str = "en") -> Scene:
    """The scene of whatever is given; a lone iteration has neither prompt nor settings.

    Raises:
        TraceError: it is no trace.
        ValueError: there are no sentences in this language.
    """
    if isinstance(source, Scene):
        return source
    if isinstance(source, Iteration):
        builder = SceneBuilder(None, language=language)
        builder.add(source)
        return builder.scene()
    return build_scene(load_trace(source), language=language)


def check_iteration(iteration: int, count: int) -> int:
    """The place of an iteration among ``count``. Raises: TraceError."""
    if isinstance(iteration, bool) or not isinstance(iteration, int) or not 0 <= iteration < count:
        raise TraceError(f"iteration is {iteration!r}; this trace has whole numbers from 0 to {count - 1}")
    return iteration


def check_step(step: int, iteration: IterationScene) -> int:
    """The place of a step in an iteration. Raises: TraceError."""
    count = len(iteration.steps)
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step < count:
        raise TraceError(f"step is {step!r}; iteration {iteration.index} has whole numbers from 0 to {count - 1}")
    return step
