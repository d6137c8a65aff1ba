"""The recorded traces of the repository: every one has a scene and can be drawn."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import visualize
from dsbd.tracing.trace import Trace

FOLDER = Path(__file__).parents[2] / "assets" / "traces"
RECORDED = sorted(FOLDER.glob("*.json*"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_a_recorded_trace_can_be_drawn(path):
    trace = Trace.load(path)
    scene = visualize.build_scene(trace)
    assert len(scene.iterations) == len(trace.iterations)
    for record, entry in zip(trace.iterations, scene.iterations, strict=True):
        slots = {node.id: node.slots for node in entry.nodes if node.column > 0 and node.slots}
        assert slots == {beam.node: beam.multiplicity for layer in record.layers for beam in layer.beams}
    last = len(trace.iterations) - 1
    assert visualize.forest_figure(scene, last).to_json()
    ElementTree.fromstring(visualize.forest_svg(scene, last, theme="dark"))
    for figure in (visualize.tokens_figure, visualize.width_figure, visualize.timeline_figure):
        assert figure(trace).to_json()
    assert visualize.forest_text(scene, 0)
