"""Endpoints that need no model: bundled recordings, one node explained, and a trace drawn.

They answer with plain data, or with an error of one sentence.
"""

from collections.abc import Callable
from typing import Any

import gradio as gr

import visualize
from dsbd.errors import SettingsError, TraceError
from dsbd.tracing.trace import Trace
from visualize.pages.trace_page import html_page
from visualize.scenes.records import IterationScene, NodeScene, Scene
from visualize.scenes.source import check_iteration
from visualize.words.words import Words

from .decodes import traces
from .engine import Engine
from .host.limits import Limits
from .runs.sentences import in_sentences
from .traffic.calls import uploaded

OFF_GPU: dict[str, Any] = {"concurrency_id": "traces", "concurrency_limit": 2}
"""Reading and drawing traces waits in another line than decoding."""
MCP_TOOLS = ("decode", "evaluate", "explain_node", "list_traces")
"""The endpoints that are tools of the MCP server."""


NUMBERS = ("target_prob", "draft_prob", "target_log_prob", "draft_log_prob", "log_weight")

DRAW: dict[str, Callable[[Scene, int], str]] = {
    "svg": visualize.forest_svg,
    "html": lambda scene, _: html_page([scene], plotly="inline"),
    "text": visualize.forest_text,
}
"""What writes each format; html holds the whole decode, the others one iteration."""


def offer_to_programs(engine: Engine) -> None:
    """Add the endpoints to the page that is being built."""
    limits = engine.limits

    def list_traces() -> list[dict[str, Any]]:
        with in_sentences():
            return listed()

    def explain_node(
        trace: str | dict[str, Any], iteration: int = 0, node: int = 0, language: str = "en"
    ) -> dict[str, Any]:
        with in_sentences():
            return explained(trace_of(trace, limits), iteration, node, language)

    def export(
        trace: str | dict[str, Any], format: str = "svg", iteration: int = 0, language: str = "en"
    ) -> dict[str, Any]:
        with in_sentences():
            return exported(trace_of(trace, limits), format, iteration, language)

    for endpoint, handler in ((list_traces, listed), (explain_node, explained), (export, exported)):
        endpoint.__doc__ = handler.__doc__
        gr.api(endpoint, api_name=endpoint.__name__, **OFF_GPU)


def listed() -> list[dict[str, Any]]:
    """Return the bundled recordings.

    Returns:
        For each its ``name``, which the other endpoints take as ``trace``, ``title``, ``prompt``, ``method``,
        ``models`` and how many ``iterations``.
    """
    found = []
    for title, name in traces.recorded_traces():
        trace = traces.open_recorded(name).trace
        models = [model.id for model in (trace.models.target, trace.models.draft) if model is not None]
        about = {"prompt": trace.prompt.text, "method": trace.settings.method, "models": models}
        found.append({"name": name, "title": title, **about, "iterations": len(trace.iterations)})
    return found


def trace_of(given: Any, limits: Limits) -> Trace:
    """Return the trace that a program names, or uploaded as ``gradio_client.handle_file`` does. Raises: TraceError."""
    if isinstance(given, str):
        return traces.open_recorded(given).trace
    if not isinstance(given, dict) or not isinstance(given.get("path"), str):
        kind = type(given).__name__
        raise TraceError(f"trace is a {kind}; give a name that /list_traces says, or a file by handle_file")
    path = uploaded(given["path"])
    if path is None:
        raise TraceError("trace is no uploaded file; give handle_file the path of a trace file")
    return traces.open_file(path, limits).trace


def explained(trace: Trace, iteration: int = 0, node: int = 0, language: str = "en") -> dict[str, Any]:
    """Explain what happened to one node of one forest, in plain sentences and in numbers.

    Args:
        trace: a name that /list_traces says, or a trace file.
        iteration: which one, from 0.
        node: its id, as the trace has it.
        language: of the sentences: ar, de, en, es, fr, ja or zh.

    Returns:
        ``token``, ``text`` (of this iteration, up to and with the token), ``layer``, ``kind``, ``state``, ``kept``,
        ``sentences``, ``arithmetic`` and ``numbers`` (null = not known).
    """
    scene = _scene(trace, language)
    chosen = scene.iterations[check_iteration(iteration, len(scene.iterations))]
    place = _place_of(chosen, node)
    found = chosen.nodes[place]
    state = f"{found.token}: {scene.strings[f'state.{found.state}']}"  # for a node that no step is about
    return {
        "token": found.token,
        "text": "".join(one.adds for one in _path(chosen, place)[1:]),
        "layer": found.column,
        "kind": found.kind,
        "state": found.state,
        "kept": found.kept,
        "sentences": [step.sentence for step in chosen.steps if step.focus == place] or [state],
        "arithmetic": [fact.detail for fact in found.facts if fact.detail],
        "numbers": {name: getattr(found, name) for name in NUMBERS},
    }


def exported(trace: Trace, format: str = "svg", iteration: int = 0, language: str = "en") -> dict[str, Any]:
    """Draw a trace, or write it as a table.

    Args:
        trace: a name that /list_traces says, or a trace file.
        format: svg, html or text; html shows the whole decode, the others one iteration.
        iteration: which one, from 0.
        language: of the sentences: ar, de, en, es, fr, ja or zh.

    Returns:
        ``format`` and ``content``, the text of the file.
    """
    if not isinstance(format, str) or format not in DRAW:
        raise SettingsError(f"format is {format!r}; choose among {', '.join(DRAW)}")
    scene = _scene(trace, language)
    check_iteration(iteration, len(scene.iterations))
    return {"format": format, "content": DRAW[format](scene, iteration)}


def _scene(trace: Trace, language: Any) -> Scene:
    try:
        return visualize.scene(trace, Words(language).language)
    except (ValueError, TypeError) as error:
        raise SettingsError(str(error)) from None


def _place_of(iteration: IterationScene, node: Any) -> int:
    places = {one.id: place for place, one in enumerate(iteration.nodes)}
    if isinstance(node, bool) or not isinstance(node, int) or node not in places:
        ids = f"{min(places)} to {max(places)}" if places else "none"
        raise TraceError(f"node is {node!r}; iteration {iteration.index} has the ids {ids}")
    return places[node]


def _path(iteration: IterationScene, place: int) -> list[NodeScene]:
    """Return the nodes from the input beam down to this one."""
    path = [iteration.nodes[place]]
    while path[-1].parent >= 0:
        path.append(iteration.nodes[path[-1].parent])
    return path[::-1]
