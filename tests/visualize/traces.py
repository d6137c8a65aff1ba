"""Traces on which tests compare Python with the viewer's JavaScript, and some as the viewer should draw them."""

from functools import cache
from pathlib import Path
from types import SimpleNamespace

import visualize
from dsbd.tracing.records import ROOT
from dsbd.tracing.trace import Trace
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from visualize.forest import steps_of

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
def scene_of(name: str) -> SimpleNamespace:
    """Make the scene of a recorded trace, once for all tests."""
    return scene(trace_of(name))


def scene(trace: Trace) -> SimpleNamespace:
    """Return what the viewer should draw of a trace, in its order: nodes by their place, and steps with what they
    change."""
    iterations = []
    for number, iteration in enumerate(trace.iterations):
        forest, steps = visualize.forest_graph(trace, number), steps_of(iteration, trace.settings)
        places = {id_: place for place, id_ in enumerate(forest)}
        nodes = []
        for id_, node in forest.nodes.items():
            above = next(iter(forest.predecessors(id_)), None)
            parent = -1 if above is None else places[above]
            nodes.append(SimpleNamespace(id=id_, parent=parent, **{**node, "kind": node["kind"] or "input"}))
        told = [
            SimpleNamespace(
                phase=step.phase,
                layer=step.layer,
                focus=places[step.record.node] if step.record else -1,
                changes=[SimpleNamespace(node=places[id_], state=state, slots=slots, landed=landed)
                         for id_, (state, slots, landed) in (step.looks or {}).items()],
            )
            for step in steps
        ]  # fmt: skip
        chosen = [at for at, step in enumerate(steps) if step.phase == "width"]
        layers = [SimpleNamespace(**vars(width), step=at)
                  for width, at in zip(forest.graph["layers"], chosen, strict=True)]  # fmt: skip
        iterations.append(SimpleNamespace(**{**forest.graph, "nodes": nodes, "steps": told, "layers": layers}))
    tree = visualize.decode_graph(trace)
    whole = [SimpleNamespace(id=id_, parent=next(iter(tree.predecessors(id_)), ROOT), **node)
             for id_, node in tree.nodes.items()]  # fmt: skip
    return SimpleNamespace(iterations=iterations, whole=SimpleNamespace(nodes=whole, **tree.graph))
