"""A trace as graphs: what every node is and where it stands, against slow twins; the rules of the layout; and the
recordings, which decode again."""

import itertools
import re
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import visualize
from dsbd.errors import TraceError
from dsbd.tracing.records import path_to
from dsbd.tracing.trace import Trace
from tests.visualize.traces import ASSETS, TRACES, toy_trace, trace_of
from visualize.forest import COVER_HEIGHT, forest_places, steps_of, text_of
from visualize.layout import COUSINS, SIBLINGS, TREES, tidy
from visualize.theme import YIELDED


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
    tree, index = visualize.forest_graph(trace), trace.node_index()
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


@pytest.mark.parametrize("name", ["toy", "wider", "narrow", "likely"])
def test_the_text_of_a_beam_is_the_recorded_text(name):
    """Catches a character, split over tokens, that is lost or written twice."""
    trace = toy_trace(name)
    for beam in trace.result.beams:
        said = text_of(beam.node, trace.node_index())
        assert re.sub("(⟨.*⟩)", "\ufffd", said) == beam.text + ("<end>" if beam.finished else "")


CLOSE = 1e-9


@st.composite
def forests(draw):
    """Draw a forest as (parents, children, roots, heights): each node except the roots hangs below an earlier one."""
    count = draw(st.integers(1, 60))
    roots = list(range(draw(st.integers(1, min(4, count)))))
    parents, children, heights = dict.fromkeys(roots), defaultdict(list), dict.fromkeys(roots, 1.0)
    for node in range(len(roots), count):
        parents[node] = draw(st.integers(0, node - 1))
        children[parents[node]].append(node)
        heights[node] = draw(st.sampled_from([1.0, 0.62, 2.0]))
    return parents, dict(children), roots, heights


def path(node, parents):
    return [] if node is None else [*path(parents[node], parents), node]


@given(forests())
@settings(max_examples=150, deadline=None)
def test_columns_keep_distance_and_order_and_parents_stand_midway(forest):
    parents, children, roots, heights = forest
    rows = tidy(children, roots, heights)
    assert set(rows) == set(parents)
    assert min(rows.values()) == 0
    columns = defaultdict(list)
    for node in sorted(parents, key=lambda one: path(one, parents)):  # depth first, children in order
        columns[len(path(node, parents))].append(node)
    for above, below in (pair for column in columns.values() for pair in itertools.pairwise(column)):
        same_parent = parents[above] == parents[below] is not None
        same_tree = path(above, parents)[0] == path(below, parents)[0]
        least = SIBLINGS if same_parent else COUSINS if same_tree else TREES
        assert rows[below] - rows[above] >= (heights[above] + heights[below]) / 2 + least - CLOSE
    for node, below in children.items():
        assert rows[node] == pytest.approx((rows[below[0]] + rows[below[-1]]) / 2)


def test_small_cases_and_a_chain_longer_than_the_stack():
    assert tidy({}, [], {}) == {}
    assert tidy({0: [1, 2, 3]}, [0], {}) == {0: 1, 1: 0, 2: 1, 3: 2}
    chain = {node: [node + 1] for node in range(sys.getrecursionlimit() + 200)}
    assert set(tidy(chain, [0], {}).values()) == {0.0}


def test_a_node_below_no_input_beam_is_refused():
    first, second = toy_trace().iterations[:2]
    with pytest.raises(TraceError, match="hangs below no input beam"):
        forest_places(replace(first, nodes=second.nodes), {})


def test_a_cover_node_that_a_beam_landed_on_has_room_for_its_ring():
    """Catches rings of landed nodes that cover their neighbours: in a likely forest all nodes are cover nodes."""
    rooms = set()
    for iteration in trace_of("likely").iterations:
        landed = {draw.node for draw in iteration.draws if draw.landed}
        places = forest_places(iteration, trace_of("likely").node_index())
        for one, other in itertools.combinations(iteration.nodes, 2):
            (column, row), (other_column, other_row) = places[one.id], places[other.id]
            if column == other_column:
                half = sum(1.0 if node.id in landed or node.kind != "cover" else COVER_HEIGHT for node in (one, other))
                assert abs(row - other_row) >= half / 2 - 0.0011  # rows are rounded
                rooms.add(half)
    assert len(rooms) > 1


BUNDLED = [*sorted((ASSETS / "traces").glob("*.json*")), *sorted((ASSETS / "lessons" / "traces").glob("[!5]*.json*"))]
"""The recordings of bundled pairs: all but that of lesson 5, whose models know three words."""
EDGE = 3e-5
"""The least distance of a number from what would decide otherwise. Engines and processors differ by 1e-5."""


@cache
def bundled_pair(target):
    """Load the bundled pair of a recorded target, in the numbers of nearly every processor and every browser."""
    import dsbd

    name = target.removesuffix("/target")
    return dsbd.load_pair(f"{name}:stories" if name == "bundled" else name, dtype="float32", engine="eager")


def distances(trace):
    """Yield how far every number that decided something is from deciding otherwise."""
    asked = trace.settings
    for iteration in trace.iterations:
        for trial in iteration.trials:
            if trial.uniform is not None:
                yield abs(trial.uniform - trial.acceptance)
        for draw in iteration.draws:
            yield from (draw.uniform - draw.cdf_low for _ in range(draw.cdf_low > 0))
            yield from (draw.cdf_high - draw.uniform for _ in range(draw.cdf_high < 1))
        for layer in iteration.layers if asked.min_width < asked.max_width else []:
            chances = layer.accepted_distribution
            yield from (abs(sum(chances[count:]) - asked.width_threshold) for count in range(1, len(chances)))


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.name)
def test_run_gives_what_is_recorded(path):
    """Catches a page that shows one text and writes another after Run, and a recording that hangs on rounding."""
    import dsbd

    trace = Trace.load(path)
    assert trace.models.target.dtype == "float32"
    assert min(distances(trace)) > EDGE
    settings = dsbd.DecodingSettings.from_dict(vars(trace.settings))
    result = dsbd.decode(bundled_pair(trace.models.target.id), trace.prompt.text, settings)
    assert result.token_ids == trace.result.token_ids
