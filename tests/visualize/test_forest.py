"""A trace as graphs: what every node is and where it stands, against slow twins that read the record."""

import itertools
import re
from collections import Counter
from dataclasses import replace
from typing import get_args

import pytest

import visualize
from dsbd.law.verified import DrawKind, Verdict
from dsbd.tracing.records import NodeKind, path_to
from tests.visualize.toy import toy_trace
from tests.visualize.traces import TRACES, trace_of
from visualize.forest import steps_of, text_of
from visualize.look.states import STATES, YIELDED, mark_of, mark_style
from visualize.tokens import flowing, visible


@pytest.fixture(params=sorted(TRACES))
def trace(request):
    return trace_of(request.param)


def test_every_node_of_an_iteration_is_what_the_record_says(trace):
    """Catches a beam that its layer yielded and that looks dropped, a lost duplicate, and a node without a place."""
    for at, iteration in enumerate(trace.iterations):
        forest = visualize.forest_graph(trace, at)
        roots = {beam.node: beam for beam in iteration.input_beams}
        named = {one.node for one in (*iteration.trials, *iteration.draws)}
        assert set(forest) == {node.id for node in iteration.nodes} | named | set(roots)
        yielded = Counter()
        for layer in iteration.layers:
            yielded.update({beam.node: beam.multiplicity for beam in layer.beams})
        verdicts = {id_: [one.verdict for one in iteration.trials if one.node == id_] for id_ in forest}
        for id_, node in forest.nodes.items():
            if id_ in roots:
                assert (node["state"], node["slots"], node["column"]) == ("input", roots[id_].multiplicity, 0)
                continue
            assert node["slots"] == yielded[id_]
            assert (node["state"] in YIELDED) == (id_ in yielded)
            if id_ not in yielded and verdicts[id_]:
                assert node["state"] in verdicts[id_]
            (parent,) = forest.predecessors(id_)
            assert node["column"] == forest.nodes[parent]["column"] + 1
        places = [(node["column"], node["row"]) for node in forest.nodes.values()]
        assert len(set(places)) == len(places)


def test_steps_bring_what_they_say_and_move_nothing(trace):
    """Catches a verdict that is seen a step early, and a node that jumps."""
    iteration = trace.iterations[-1]
    steps = steps_of(iteration, trace.settings)
    whole = visualize.forest_graph(trace, len(trace.iterations) - 1)
    shown: set[int] = set()
    for at, step in enumerate(steps):
        forest = visualize.forest_graph(trace, len(trace.iterations) - 1, step=at)
        assert shown <= set(forest)
        shown = set(forest)
        for id_, node in forest.nodes.items():
            assert (node["column"], node["row"]) == (whole.nodes[id_]["column"], whole.nodes[id_]["row"])
        if step.phase == "draft":
            assert {node["state"] for node in forest.nodes.values()} <= {"input", "drafted", "cover"}
            assert all(node["target_prob"] is None for node in forest.nodes.values())
    assert {id_: node["state"] for id_, node in forest.nodes.items()} == {
        id_: node["state"] for id_, node in whole.nodes.items()
    }
    phases = [step.phase for step in steps]
    assert (phases[-1], phases.count("width")) == ("commit", len(iteration.layers))
    assert (phases.count("trial"), phases.count("draw")) == (len(iteration.trials), len(iteration.draws))


def test_the_whole_decode_has_every_node_once_at_its_place_in_the_text(trace):
    """Walks from every recorded node to the prompt. Catches two tokens in one place, a twig above the text, and edges
    that cross."""
    tree, index = visualize.decode_graph(trace), trace.node_index()
    last = {}
    for at in range(len(trace.iterations)):
        last |= {id_: node["state"] for id_, node in visualize.forest_graph(trace, at).nodes.items()}
    expected = {id_: len(list(path_to(id_, index))) for id_ in index if last[id_] != "cover"}
    assert {id_: node["position"] for id_, node in tree.nodes.items()} == expected
    line = sorted((node["position"], id_) for id_, node in tree.nodes.items() if node["row"] == 0)
    assert [id_ for _, id_ in line] == [node.id for node in path_to(trace.result.beams[0].node, index)]
    assert tree.graph["tokens"] == len(line) == len(trace.result.token_ids)
    places = [(node["position"], node["row"]) for node in tree.nodes.values()]
    assert len(set(places)) == len(places)
    assert {row for _, row in places} | {0} == set(range(tree.graph["last_row"] + 1))
    gaps: dict[int, list] = {}
    for id_, node in tree.nodes.items():
        above = next((tree.nodes[parent]["row"] for parent in tree.predecessors(id_)), 0)
        assert node["row"] >= above
        gaps.setdefault(node["position"], []).append((above, node["row"]))
    for edges in gaps.values():
        for (from_one, to_one), (from_other, to_other) in itertools.combinations(edges, 2):
            assert (from_one - from_other) * (to_one - to_other) >= 0
    ends = [(band.first, band.last) for band in tree.graph["bands"]]
    assert [first for first, _ in ends] == [1, *(end + 1 for _, end in ends[:-1])]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_without_a_result_the_line_is_the_best_beam_so_far(count):
    trace = replace(trace_of("1-dynamic-width.json.gz"), result=None)
    trace = replace(trace, iterations=trace.iterations[:count])
    tree = visualize.decode_graph(trace)
    assert len(tree.graph["bands"]) == count
    beams = trace.iterations[-1].output_beams if count else []
    lengths = {beam.node: tree.nodes[beam.node]["position"] for beam in beams}
    best = max(
        beams, key=lambda beam: beam.log_weight / lengths[beam.node] ** trace.settings.length_penalty, default=None
    )
    assert tree.graph["tokens"] == (lengths[best.node] if best else 0)


@pytest.mark.parametrize("name", ["toy", "other", "wide", "narrow", "likely"])
def test_the_text_of_a_beam_is_the_recorded_text(name):
    """Catches a character, split over tokens, that is lost or written twice."""
    trace = toy_trace(name)
    for beam in trace.result.beams:
        said = text_of(beam.node, trace.node_index())
        assert re.sub("(⟨.*⟩)", "\ufffd", said) == beam.text + ("<end>" if beam.finished else "")


@pytest.mark.parametrize(
    ("text", "seen"),
    [(" cat", "␣cat"), ("a\nb\t", "a⏎b⇥"), ("\x00", "⟨U+0000⟩"), ("\r", "⟨U+000D⟩"), ("\u202e", "⟨U+202E⟩"),
     ("\u200b", "⟨U+200B⟩"), ("שלום", "שלום"), ("👨\u200d👩", "👨\u200d👩"), ("\ufffd", "\ufffd"),
     ("</script>", "</script>"), ("\ud800", "⟨U+D800⟩")],
)  # fmt: skip
def test_what_would_not_print_is_marked(text, seen):
    assert visible(text) == seen
    assert flowing("a b\n\tc\x07") == "a b⏎\n⇥\tc⟨U+0007⟩"  # running text keeps spaces and marks line ends


def test_every_state_has_one_mark_and_what_was_not_tested_is_no_cross():
    """Catches a verdict without a mark, and a guess that is crossed out although nothing was decided about it."""
    recorded = {*get_args(Verdict), *get_args(DrawKind), *get_args(NodeKind)} - {"drawn"}
    assert sorted(STATES) == sorted({*recorded, "input"})
    assert {mark_of(state) for state in ("drafted", "cover", "unneeded")} == {"guess"}
    assert not mark_style("guess").filled
