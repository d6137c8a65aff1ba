"""The whole decode as one tree: every node once, no two in one place, nothing above the line, no crossing edges."""

import itertools
from dataclasses import replace
from typing import get_args

import pytest

from dsbd.law.verdicts import DrawKind, Verdict
from dsbd.tracing.records import ROOT, NodeKind, path_to
from tests.visualize.toy import toy_trace
from tests.visualize.traces import TRACES, scene_of, trace_of
from visualize import SceneBuilder
from visualize.look.states import STATES, mark_of, mark_style
from visualize.scenes.build import build_scene


@pytest.fixture(params=sorted(TRACES))
def name(request):
    return request.param


def test_every_node_stands_once_at_its_place_in_the_text(name):
    """The slow twin: walk from every recorded node to the prompt. Only cover nodes that nothing landed on are left."""
    trace, whole, index = trace_of(name), scene_of(name).whole, trace_of(name).node_index()
    states = {node.id: node.state for iteration in scene_of(name).iterations for node in iteration.nodes}
    expected = {id_: len(list(path_to(id_, index))) for id_ in index if states[id_] != "cover"}
    assert {node.id: node.position for node in whole.nodes} == expected
    assert len(whole.nodes) == len(expected)
    assert all(node.parent == index[node.id].parent for node in whole.nodes)
    line = sorted((node for node in whole.nodes if node.row == 0), key=lambda node: node.position)
    assert [node.id for node in line] == [node.id for node in path_to(trace.result.beams[0].node, index)]
    assert whole.tokens == len(line) == len(trace.result.token_ids)


def test_no_two_marks_stand_in_one_place_and_no_two_edges_cross(name):
    """Catches a twig on top of another, one in the room of the words, and one that hangs below an earlier one."""
    whole = scene_of(name).whole
    places = [(node.position, node.row) for node in whole.nodes]
    assert len(set(places)) == len(places)
    assert {row for _, row in places} | {0} == set(range(whole.last_row + 1))
    rows = {ROOT: 0} | {node.id: node.row for node in whole.nodes}
    gaps = {}
    for node in whole.nodes:
        assert node.row >= rows[node.parent]
        gaps.setdefault(node.position, []).append((rows[node.parent], node.row))
    for edges in gaps.values():
        for (from_one, to_one), (from_other, to_other) in itertools.combinations(edges, 2):
            assert (from_one - from_other) * (to_one - to_other) >= 0


@pytest.mark.parametrize("recording", ["1-dynamic-width.json.gz", "joint", "tree"])
def test_a_decode_that_grows_has_a_tree_at_every_iteration(recording):
    """The best beam so far is the line, however short the recording is; the last tree is that of the whole trace."""
    trace = trace_of(recording)
    builder = SceneBuilder(trace.prompt, trace.settings)
    assert builder.scene().whole.nodes == ()
    for count, iteration in enumerate(trace.iterations, 1):
        builder.add(iteration)
        whole = builder.scene(last=1).whole
        assert len(whole.bands) == count
        beams = list(iteration.output_beams)
        ended = [b for it in trace.iterations[:count] for la in it.layers for b in la.beams if b.node in la.finished]
        lengths = {node.id: node.position for node in whole.nodes}
        penalty = trace.settings.length_penalty
        best = max(beams + ended, key=lambda beam: beam.log_weight / lengths[beam.node] ** penalty)
        assert whole.tokens == lengths[best.node]
    assert builder.scene(trace.result).whole == build_scene(trace).whole


def test_one_iteration_alone_and_none():
    """Its input beams are known to no earlier iteration, so they stand at the end of the prompt."""
    builder = SceneBuilder(None)
    builder.add(toy_trace().iterations[2])
    whole = builder.scene().whole
    assert {node.position for node in whole.nodes} == set(range(1, whole.last_position + 1))
    assert whole.bands[0].first == 1
    whole = build_scene(replace(toy_trace(), iterations=[], result=None)).whole
    assert (whole.nodes, whole.bands, whole.tokens, whole.last_position, whole.last_row) == ((), (), 0, 0, 0)


def test_every_state_has_one_mark_and_what_was_not_tested_is_no_cross():
    """Catches a verdict without a mark, and a guess that is crossed out although nothing was decided about it."""
    recorded = {*get_args(Verdict), *get_args(DrawKind), *get_args(NodeKind)} - {"drawn"}
    assert sorted(STATES) == sorted({*recorded, "input"})
    assert {mark_of(state) for state in ("drafted", "cover", "unneeded")} == {"guess"}
    assert not mark_style("guess").filled
