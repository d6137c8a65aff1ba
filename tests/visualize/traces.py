"""Traces on which tests compare Python with the viewer's JavaScript."""

from pathlib import Path

from dsbd.tracing.trace import Trace
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace

FOLDER = Path(__file__).parents[2] / "assets" / "traces"
RECORDED = {
    **{path.name: Trace.load(path) for path in sorted(FOLDER.glob("*.json*"))},
    **{name: toy_trace(name) for name in ("likely", "joint", "tree", "distinct-tree", "block")},
}
TRACES = {
    **{name: toy_trace(name) for name in ("toy", "wider", "narrow", "plain", "blocks", "ruled", "chance")},
    "nasty": nasty_trace(),
    **RECORDED,
}
OPEN = """const {Iteration} = await load("forest/iteration.js");
          const {Words} = await load("base/words.js");"""
