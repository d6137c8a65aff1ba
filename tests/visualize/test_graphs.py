"""A trace as graphs: what every node is and where it is drawn, against slow reference implementations; the rules of the
layout; and the recordings, which decode again."""

import io
import itertools
import json
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest

import visualize
from dsbd.errors import TraceError
from dsbd.tracing.distribution_audit import Checks
from dsbd.tracing.layer_audit import LayerAudit
from dsbd.tracing.records import path_to
from dsbd.tracing.trace import Trace
from tests.visualize.traces import ASSETS, TRACES, toy_trace, trace_of
from visualize.forest import EXTRA_HEIGHT, forest_positions, steps_of
from visualize.layout import COUSINS, SIBLINGS, TREES, tidy
from visualize.theme import YIELDED


@pytest.fixture(params=sorted(TRACES))
def trace(request):
    return trace_of(request.param)


def test_every_node_of_an_iteration_is_what_the_record_says(trace):
    """Catches a yielded beam that looks dropped, a lost duplicate, and a node without a position."""
    for number, iteration in enumerate(trace.iterations):
        forest = visualize.forest_graph(trace, number)
        roots = {beam.node: beam for beam in iteration.input_beams}
        named = {one.node for one in (*iteration.trials, *iteration.draws)}
        assert set(forest) == {node.id for node in iteration.nodes} | named | set(roots)
        yielded = Counter()
        for layer in iteration.layers:
            yielded.update({beam.node: beam.multiplicity for beam in layer.beams})
        verdicts = {id_: [one.verdict for one in iteration.trials if one.node == id_] for id_ in forest}
        for id_, node in forest.nodes.items():
            if id_ in roots:
                assert (node["state"], node["multiplicity"], node["column"]) == ("input", roots[id_].multiplicity, 0)
                continue
            assert node["multiplicity"] == yielded[id_]
            assert (node["state"] in YIELDED) == (id_ in yielded)
            if id_ not in yielded and verdicts[id_]:
                assert node["state"] in verdicts[id_]
            (parent,) = forest.predecessors(id_)
            assert node["column"] == forest.nodes[parent]["column"] + 1
        assert len({(node["column"], node["row"]) for node in forest.nodes.values()}) == len(forest)


def test_steps_bring_what_they_say_and_move_nothing(trace):
    """Catches a verdict that shows a step early, and a node that jumps."""
    iteration = trace.iterations[-1]
    steps = steps_of(iteration, trace.settings)
    whole = visualize.forest_graph(trace, len(trace.iterations) - 1)
    before: set[int] = set()
    for number, step in enumerate(steps):
        forest = visualize.forest_graph(trace, len(trace.iterations) - 1, step=number)
        assert before <= set(forest)
        before = set(forest)
        for id_, node in forest.nodes.items():
            assert (node["column"], node["row"]) == (whole.nodes[id_]["column"], whole.nodes[id_]["row"])
        if step.phase == "draft":
            assert {node["state"] for node in forest.nodes.values()} <= {"input", "drafted", "cover"}
            assert all(node["target_prob"] is None for node in forest.nodes.values())
    assert dict(forest.nodes(data="state")) == dict(whole.nodes(data="state"))
    phases = [step.phase for step in steps]
    assert (phases[-1], phases.count("width")) == ("commit", len(iteration.layers))
    assert (phases.count("trial"), phases.count("draw")) == (len(iteration.trials), len(iteration.draws))


def test_the_whole_decode_has_every_node_once_at_its_place_in_the_text(trace):
    """Walks from every recorded node to the prompt. Catches two tokens at one point, a twig above the text, and edges
    that cross."""
    tree, index = visualize.forest_graph(trace), trace.node_index()
    last = {}
    for number in range(len(trace.iterations)):
        last |= dict(visualize.forest_graph(trace, number).nodes(data="state"))
    expected = {id_: len(list(path_to(id_, index))) for id_ in index if last[id_] != "cover"}
    assert dict(tree.nodes(data="position")) == expected
    line = sorted((node["position"], id_) for id_, node in tree.nodes.items() if node["row"] == 0)
    assert [id_ for _, id_ in line] == [node.id for node in path_to(trace.result.beams[0].node, index)]
    assert tree.graph["tokens"] == len(line) == len(trace.result.token_ids)
    points = {(node["position"], node["row"]) for node in tree.nodes.values()}
    assert len(points) == len(tree)
    assert {row for _, row in points} | {0} == set(range(tree.graph["last_row"] + 1))
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


def test_columns_keep_distance_and_order_and_parents_are_midway(trace):
    """Catches children in another order, trees that touch, and rings of drawn nodes that cover their neighbours."""
    index = trace.node_index()
    for iteration in trace.iterations:
        positions = forest_positions(iteration, index)
        assert min(row for _, row in positions.values()) == 0
        order = {id_: number for number, id_ in enumerate(positions)}
        parents = {id_: index[id_].parent for id_, (column, _) in positions.items() if column}
        landed = {draw.node for draw in iteration.draws}
        columns, children = defaultdict(list), defaultdict(list)

        def path(node, order=order, parents=parents):
            return [*(path(parents[node]) if node in parents else []), order[node]]

        for node in sorted(positions, key=path):  # depth first, children in order
            columns[positions[node][0]].append(node)
            if node in parents:
                children[parents[node]].append(positions[node][1])
        for above, below in (pair for column in columns.values() for pair in itertools.pairwise(column)):
            same_parent = above in parents and parents[above] == parents[below]
            least = SIBLINGS if same_parent else COUSINS if path(above)[0] == path(below)[0] else TREES
            for node in (above, below):
                is_flat = node in parents and index[node].kind == "cover" and node not in landed
                least += (EXTRA_HEIGHT if is_flat else 1.0) / 2
            assert positions[below][1] - positions[above][1] >= least - 0.0011  # rows are rounded
        for node, rows in children.items():
            assert positions[node][1] == pytest.approx((rows[0] + rows[-1]) / 2, abs=0.0011)


def copied(write, read, graph, **options):
    write(graph, file := io.BytesIO())
    return read(io.BytesIO(file.getvalue()), **options)


WRITERS = {
    "graphml": lambda graph: copied(nx.write_graphml, nx.read_graphml, graph, node_type=int),
    "gexf": lambda graph: copied(nx.write_gexf, nx.read_gexf, graph, node_type=int),
    "gml": lambda graph: nx.relabel_nodes(copied(nx.write_gml, nx.read_gml, graph, label="id"), dict(enumerate(graph))),
    "json": lambda graph: nx.node_link_graph(json.loads(json.dumps(nx.node_link_data(graph)))),
    "adjlist": lambda graph: copied(nx.write_adjlist, nx.read_adjlist, graph, nodetype=int, create_using=nx.DiGraph),
}
"""Each writes a graph and reads it back."""


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", ["toy", "nasty", "joint", "6-beam-sampling.json.gz"])
@pytest.mark.parametrize("iteration", [None, 0])
def test_every_writer_of_networkx_takes_a_plain_graph(name, iteration, writer):
    """Catches None, a list or a record among the attributes, which GraphML, GEXF, GML or JSON refuse."""
    graph = visualize.forest_graph(trace_of(name), iteration, plain=True)
    copy = WRITERS[writer](graph)
    assert (set(copy), set(copy.edges)) == (set(graph), set(graph.edges))
    for id_, node in graph.nodes.items():
        assert {"token", "state", "multiplicity", "row"} < node.keys()
        assert writer == "adjlist" or copy.nodes[id_] | {"label": node["label"]} == node


def test_small_cases_and_a_chain_longer_than_the_stack():
    assert tidy({}, [], {}) == {}
    assert tidy({0: [1, 2, 3]}, [0], {}) == {0: 1, 1: 0, 2: 1, 3: 2}
    chain = {node: [node + 1] for node in range(sys.getrecursionlimit() + 200)}
    assert set(tidy(chain, [0], {}).values()) == {0.0}


def test_a_node_below_no_input_beam_is_refused():
    first, second = toy_trace().iterations[:2]
    with pytest.raises(TraceError, match="hangs below no input beam"):
        forest_positions(replace(first, nodes=second.nodes), {})


BUNDLED = [
    *(path for path in sorted((ASSETS / "traces").glob("*.json*")) if "chat" not in path.name),
    *sorted((ASSETS / "lessons" / "traces").glob("[!5]*.json*")),
]
"""Recordings of bundled pairs: all but those of the chat's pair, which is fetched, and of lesson 5's three words."""
EDGE = 3e-5  # how far every number must be from one that decides otherwise. Engines and processors differ by 1e-5.


@cache
def bundled_pair(target):
    """Load the bundled pair of a recorded target, with the numbers of nearly every processor and every browser."""
    import dsbd

    name = target.removesuffix("/target")
    return dsbd.load_pair(f"{name}:stories" if name == "bundled" else name, dtype="float32", engine="eager")


def gaps(layer):
    """Yield how far each coupled draw with replacement is from the second best of the recorded candidates."""
    for draw in layer.draws:
        values = layer.values(layer.noise[draw.order])
        second, best = np.sort(values)[-2:]
        assert best == values[layer.index_of[draw.node]]
        yield best - second


def distances(trace):
    """Yield the distance of every number that decided something from one that decides otherwise."""
    settings = trace.settings
    for iteration in trace.iterations:
        for trial in iteration.trials:
            if trial.uniform is not None:
                yield abs(trial.uniform - trial.acceptance)
        for draw in iteration.draws if settings.forest == "sampled" else []:
            yield from (draw.uniform - draw.cdf_low for _ in range(draw.cdf_low > 0))
            yield from (draw.cdf_high - draw.uniform for _ in range(draw.cdf_high < 1))
        for layer in iteration.layers if settings.forest == "coupled" and settings.temperature > 0 else []:
            yield from gaps(LayerAudit(Checks(trace), iteration, layer))
        for layer in iteration.layers if settings.min_width < settings.max_width else []:
            chances = layer.accepted_distribution
            yield from (abs(sum(chances[count:]) - settings.width_threshold) for count in range(1, len(chances)))


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.name)
def test_run_gives_what_is_recorded(path):
    """Catches a page that shows one text and writes another after Run, and a recording that depends on rounding."""
    import dsbd

    trace = Trace.load(path)
    assert trace.models.target.dtype == "float32"
    assert min(distances(trace)) > EDGE
    settings = dsbd.DecodingSettings.from_dict(vars(trace.settings))
    result = dsbd.decode(bundled_pair(trace.models.target.id), trace.prompt.text, settings)
    assert result.token_ids == trace.result.token_ids
