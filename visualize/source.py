"""What the public functions take: a trace, the path of a trace file, or one iteration."""

from pathlib import Path

from dsbd.errors import TraceError
from dsbd.tracing.trace import Iteration, Trace
from visualize.builder import SceneBuilder, build_scene
from visualize.scene import Scene

Source = Trace | str | Path


def load_trace(source: Source) -> Trace:
    """The trace itself, or the one in the file. Raises: TraceError."""
    return source if isinstance(source, Trace) else Trace.load(source)


def scene_of(source: Source | Iteration | Scene) -> Scene:
    """The scene of whatever is given; a lone iteration has neither prompt nor settings. Raises: TraceError."""
    if isinstance(source, Scene):
        return source
    if isinstance(source, Iteration):
        builder = SceneBuilder(None)
        builder.add(source)
        return builder.scene()
    return build_scene(source)


def check_iteration(iteration: int, count: int) -> int:
    """The place of an iteration among ``count``. Raises: TraceError."""
    if isinstance(iteration, bool) or not isinstance(iteration, int) or not 0 <= iteration < count:
        raise TraceError(f"iteration is {iteration!r}; this trace has whole numbers from 0 to {count - 1}")
    return iteration
