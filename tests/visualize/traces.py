"""Traces that both authors of the viewer, Python and its modules, are asked about."""

from pathlib import Path

from dsbd.tracing.trace import Trace
from tests.visualize.test_exports import nasty_trace
from tests.visualize.toy import toy_trace

FOLDER = Path(__file__).parents[2] / "assets" / "traces"
RECORDED = {path.name: Trace.load(path) for path in sorted(FOLDER.glob("*.json*"))}
TRACES = {
    "toy": toy_trace(),
    "ties": toy_trace(width_threshold=0.125, seed=5),
    "narrow": toy_trace(min_width=1, max_width=1, landing=False),
    "plain": toy_trace(draft_depth=0, max_new_tokens=4),
    "nasty": nasty_trace(),
    **RECORDED,
}
OPEN = 'const {Iteration} = await import("/iteration.js"); const {Words} = await import("/words.js");'
