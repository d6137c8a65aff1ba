"""Token texts that are hard to draw safely, for every drawing that must show text as text."""

from functools import cache

from dsbd.tracing.records import Iteration, Node
from dsbd.tracing.trace import Trace
from tests.visualize.toy import toy_trace

NASTY = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"'`${x}",
    "👨\u200d👩\u200d👧",
    "\u202eabc",
    "\x00",
    "a\u2028b\u2029c",
    "]]>",
    "<b>b</b>",
    "<a href='javascript:alert(1)'>",
    "&lt;",
    "&amp;",
    "=1+1",
    "<!--",
]


@cache
def nasty_trace() -> Trace:
    """Return the toy trace with such texts in its nodes and prompt."""
    trace, iterations = toy_trace(), []
    for iteration in trace.iterations:
        nodes = [Node(**{**vars(node), "text": NASTY[node.id % len(NASTY)], "bytes": None}) for node in iteration.nodes]
        iterations.append(Iteration(**{**vars(iteration), "nodes": nodes}))
    return Trace(**{**vars(trace), "iterations": iterations})
