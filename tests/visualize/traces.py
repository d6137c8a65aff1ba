"""Traces on which tests compare Python with the viewer's JavaScript, and the scenes of some."""

from functools import cache
from pathlib import Path

from dsbd.tracing.trace import Trace
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from visualize.scenes.build import build_scene
from visualize.scenes.records import Scene

FOLDER = Path(__file__).parents[2] / "assets" / "traces"


RECORDED = (*sorted(path.name for path in FOLDER.glob("*.json*")), "likely", "joint", "tree", "distinct-tree")
TRACES = ("toy", "wider", "narrow", "plain", "blocks", "nasty", *RECORDED)
"""Names of traces."""


@cache
def trace_of(name: str) -> Trace:
    """Load a trace, once for all tests: those of the page, those of the story pair, and that with hostile tokens."""
    if name == "nasty":
        return nasty_trace()
    return Trace.load(FOLDER / name) if "." in name else toy_trace(name)


@cache
def scene_of(name: str, language: str = "en") -> Scene:
    """Build the scene of a trace, once for all tests."""
    return build_scene(trace_of(name), language=language)
