"""Traces that both authors of the viewer, Python and its modules, are asked about."""

from pathlib import Path

from dsbd.tracing.trace import Trace
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace

FOLDER = Path(__file__).parents[2] / "assets" / "traces"
LIKELY = Path(__file__).with_name("likely.json.gz")
"""``decode --prompt "Once upon a time" --max-new-tokens 12 --forest likely --draft-width 7 --num-beams 3
--width-threshold 0.6 --seed 5`` with the bundled pair: the toy decode has no likely forests."""
RECORDED = {path.name: Trace.load(path) for path in [*sorted(FOLDER.glob("*.json*")), LIKELY]}
TRACES = {
    "toy": toy_trace(),
    "ties": toy_trace(width_threshold=0.125, seed=5),
    "narrow": toy_trace(min_width=1, max_width=1, landing=False),
    "plain": toy_trace(draft_depth=0, max_new_tokens=4),
    "nasty": nasty_trace(),
    **RECORDED,
}
OPEN = """const {Iteration} = await load("forest/iteration.js");
          const {Words} = await load("base/words.js");"""
