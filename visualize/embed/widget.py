"""The viewer as a live notebook widget; needs the extra ``widget`` (anywidget)."""

from importlib import import_module
from typing import Any

from dsbd.tracing.records import Iteration
from visualize.drawings.svg import forest_svg
from visualize.scenes.records import Scene
from visualize.scenes.source import Source, scene_of
from visualize.scenes.to_json import scene_json


def widget(source: Source | Iteration | Scene, *, language: str = "en", it: int = 0, step: int = 0) -> Any:
    """Make a viewer that both Python and the reader can step: its traits ``it`` and ``step`` are those of the viewer.

    It needs a notebook with a kernel; :func:`visualize.show` works without a kernel.

    Args:
        source: a trace, the path of a trace file, a recorded result, a scene, or one iteration.
        language: of the sentences and controls.
        it: the iteration to open at, from 0.
        step: the step of that iteration, from 0.

    Returns: an ``anywidget.AnyWidget`` with the traits ``scene`` (as :func:`visualize.scene_json` gives it), ``it`` and
        ``step``.

    Example:
        >>> visualize.widget(trace, it=4, step=2)

    Raises:
        TraceError: the source is no trace.
        ValueError: there are no sentences in this language.
        ImportError: anywidget is not installed.
    """
    scene = scene_of(source, language)
    try:
        module = import_module("visualize.embed.widget_class")
    except ModuleNotFoundError as error:
        if error.name not in ("anywidget", "traitlets"):
            raise
        raise ImportError("visualize.widget needs anywidget; install it with: pip install 'dsbd[widget]'") from None
    picture = forest_svg(scene, min(it, max(len(scene.iterations) - 1, 0)))
    return module.ViewerWidget(picture, scene=scene_json(scene), it=it, step=step)
