"""Traces for tests: recorded ones, one with texts that are hard to draw, and how the viewer should draw them."""

from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import visualize
from dsbd.tracing.records import MemoryRecord, SegmentRecord
from dsbd.tracing.trace import Trace, canonical_digest
from visualize.forest import steps_of

FOLDER = Path(__file__).with_name("traces")
"""Small recordings, with every verdict, of a pair whose next word depends only on the last one."""
ASSETS = Path(__file__).parents[2] / "assets"
RECORDED = (*sorted(path.name for path in (ASSETS / "traces").glob("*.json*")), "coupled", "joint", "tree")
TRACES = ("toy", "wider", "narrow", "plain", "blocks", "distinct-tree", "nasty", *RECORDED)  # names of traces
NASTY = [
    "<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "\"'`${x}", "👨\u200d👩\u200d👧", "\u202eabc",
    "\x00", "a\u2028b\u2029c", "]]>", "<b>b</b>", "<a href='javascript:alert(1)'>", "&lt;", "&amp;", "=1+1", "<!--",
]  # fmt: skip
"""Token texts that every drawing must show as text."""
SHARES, SENSORY = (0.41, 0.22, 0.20, 0.1, 0.06, 0.007, 0.002, 0.001, 0.0), 2


@cache
def toy_trace(name: str = "toy") -> Trace:
    """Load one of the small recordings."""
    return Trace.load(FOLDER / f"{name}.json.gz")


@cache
def nasty_trace() -> Trace:
    """Return the toy trace with nasty texts in its nodes."""
    trace = toy_trace()
    iterations = [
        replace(one, nodes=[replace(node, text=NASTY[node.id % len(NASTY)], bytes=None) for node in one.nodes])
        for one in trace.iterations
    ]
    return replace(trace, iterations=iterations)


def remembered() -> Trace:
    """Return the toy trace after a memory of ten segments: each recalls the shares in turn, the first is shorter."""
    trace, segments = toy_trace(), []
    for number, size in enumerate([5, *[224] * 8, len(trace.prompt.pieces) - SENSORY]):
        shares = SHARES[:number]
        text = f"{number + 1}. {NASTY[number]}\n{'Once upon a time there was a fox. ' * 20}"
        segments.append(SegmentRecord(size, text, max(0, number - len(SHARES)), [one / sum(shares) for one in shares]))
    memory = MemoryRecord("toy-memory", segments, SENSORY, f"sha256:{'0' * 64}")
    whole = replace(trace, prompt=replace(trace.prompt, memory=memory))
    return replace(whole, digest=canonical_digest(whole))


@cache
def trace_of(name: str) -> Trace:
    """Return a trace by its name: one of the page, a small one, or the one with hostile tokens."""
    if name == "nasty":
        return nasty_trace()
    return Trace.load(ASSETS / "traces" / name) if "." in name else toy_trace(name)


@cache
def scene_of(name: str) -> SimpleNamespace:
    """Return the scene of a trace by its name."""
    return scene(trace_of(name))


def scene(trace: Trace) -> SimpleNamespace:
    """Return what the viewer should draw of a trace: nodes with indices for ids, and steps with what they change."""
    iterations = []
    for number, iteration in enumerate(trace.iterations):
        forest, steps = visualize.forest_graph(trace, number), steps_of(iteration, trace.settings)
        index = {id_: at for at, id_ in enumerate(forest)}
        nodes = [
            SimpleNamespace(id=id_, parent=index[next(forest.predecessors(id_))] if forest.in_degree(id_) else -1,
                            **{**node, "kind": node["kind"] or "input"})
            for id_, node in forest.nodes.items()
        ]  # fmt: skip
        drawn = [
            SimpleNamespace(
                phase=step.phase, layer=step.layer, focus=index[step.record.node] if step.record else -1,
                changes=[SimpleNamespace(node=index[id_], state=state, multiplicity=multiplicity, landed=landed)
                         for id_, (state, multiplicity, landed) in (step.looks or {}).items()],
            )
            for step in steps
        ]  # fmt: skip
        decided = (at for at, step in enumerate(steps) if step.phase == "width")
        layers = [SimpleNamespace(**vars(width), step=next(decided)) for width in forest.graph["layers"]]
        iterations.append(SimpleNamespace(**{**forest.graph, "nodes": nodes, "steps": drawn, "layers": layers}))
    tree = visualize.forest_graph(trace)
    whole = SimpleNamespace(nodes=[SimpleNamespace(**node) for node in tree.nodes.values()], **tree.graph)
    return SimpleNamespace(iterations=iterations, whole=whole, bands=whole.bands)
