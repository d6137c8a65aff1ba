"""Makes a scene of what the public functions accept: a trace, a path or a recorded result."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace
from visualize.scenes.build import build_scene
from visualize.scenes.records import Scene


@runtime_checkable
class Recorded(Protocol):
    """What a decode returns: it holds its trace if it was recorded."""

    @property
    def trace(self) -> Trace | None: ...


Source = Trace | str | Path | Recorded


def load_trace(source: Source) -> Trace:
    """Return the trace itself, the one in the file, or that of a recorded result. Raises: TraceError."""
    if isinstance(source, Trace):
        return source
    if isinstance(source, (str, Path)):
        return Trace.load(source)
    if not isinstance(source, Recorded):
        raise TraceError(f"{type(source).__name__} is no trace; give a trace, the path of a trace file or a result")
    if source.trace is None:
        raise TraceError("the result holds no trace; decode with record=True")
    return source.trace


def scene_of(source: Source | Scene, language: str = "en") -> Scene:
    """Return the scene of a trace, a trace file or a recorded result; a scene stays as it is.

    Example:
        >>> visualize.scene(trace).iterations[0].steps[0].sentence

    Raises:
        TraceError: the source is no trace.
        ValueError: there are no sentences in this language.
    """
    if isinstance(source, Scene):
        return source
    return build_scene(load_trace(source), language=language)


def check_iteration(iteration: int, count: int) -> int:
    """Return ``iteration`` if it is one of ``count``. Raises: TraceError."""
    return check_place("iteration", iteration, "this trace", count)


def check_place(name: str, value: int, where: str, count: int) -> int:
    """Return ``value`` if it is from 0 to ``count`` - 1. Raises: TraceError; it says ``where`` that is."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise TraceError(f"{name} is {value!r}; {where} has whole numbers from 0 to {count - 1}")
    return value
