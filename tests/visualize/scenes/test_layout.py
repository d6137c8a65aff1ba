"""The layout's rules, on random forests."""

import itertools
import sys
from collections import defaultdict

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsbd.errors import TraceError
from dsbd.tracing.records import Iteration
from tests.visualize.toy import toy_trace
from tests.visualize.traces import RECORDED
from visualize.scenes.layout import COUSINS, COVER_HEIGHT, HEIGHT, SIBLINGS, TREES, forest_graph, tidy

CLOSE = 1e-9


@st.composite
def forests(draw):
    """Draw a forest as (graph, roots): each node except the roots hangs below an earlier one."""
    count = draw(st.integers(1, 60))
    roots = list(range(draw(st.integers(1, min(4, count)))))
    graph = nx.DiGraph()
    graph.add_nodes_from(roots, column=0, height=1.0)
    for node in range(len(roots), count):
        parent = draw(st.integers(0, node - 1))
        graph.add_node(node, column=graph.nodes[parent]["column"] + 1, height=draw(st.sampled_from([1.0, 0.62, 2.0])))
        graph.add_edge(parent, node)
    return graph, roots


def root_of(graph, node):
    while parents := list(graph.predecessors(node)):
        node = parents[0]
    return node


@given(forests())
@settings(max_examples=150, deadline=None)
def test_nodes_of_a_column_keep_their_distance_and_their_order(forest):
    graph, roots = forest
    rows = tidy(graph, roots)
    assert set(rows) == set(graph)
    assert min(rows.values()) == 0
    columns = defaultdict(list)
    for root in roots:  # depth first, children in order: the order down each column
        for node in nx.dfs_preorder_nodes(graph, root):
            columns[graph.nodes[node]["column"]].append(node)
    for column in columns.values():
        for above, below in itertools.pairwise(column):
            same_parent = list(graph.predecessors(above)) == list(graph.predecessors(below)) != []
            least = SIBLINGS if same_parent else COUSINS if root_of(graph, above) == root_of(graph, below) else TREES
            heights = (graph.nodes[above]["height"] + graph.nodes[below]["height"]) / 2
            assert rows[below] - rows[above] >= heights + least - CLOSE


@given(forests())
@settings(max_examples=100, deadline=None)
def test_parents_stand_midway_between_their_first_and_last_child(forest):
    graph, roots = forest
    rows = tidy(graph, roots)
    for node in graph:
        children = list(graph.successors(node))
        if children:
            assert rows[node] == pytest.approx((rows[children[0]] + rows[children[-1]]) / 2)


@given(forests())
@settings(max_examples=50, deadline=None)
def test_a_mirrored_forest_has_the_mirrored_layout(forest):
    graph, roots = forest
    mirrored = nx.DiGraph()
    mirrored.add_nodes_from(graph.nodes(data=True))
    for node in graph:
        mirrored.add_edges_from((node, child) for child in reversed(list(graph.successors(node))))
    rows, other = tidy(graph, roots), tidy(mirrored, roots[::-1])
    bottom = max(rows.values())
    assert other == pytest.approx({node: bottom - row for node, row in rows.items()}, abs=1e-6)


def test_a_chain_longer_than_the_stack_is_one_straight_line():
    graph = nx.path_graph(sys.getrecursionlimit() + 200, create_using=nx.DiGraph)
    assert set(tidy(graph, [0]).values()) == {0.0}


def test_small_cases():
    assert tidy(nx.DiGraph(), []) == {}
    assert tidy(nx.DiGraph([(0, 1), (0, 2), (0, 3)]), [0]) == {0: 1, 1: 0, 2: 1, 3: 2}
    with pytest.raises(ValueError, match="not a forest"):
        tidy(nx.DiGraph([(0, 2), (1, 2)]), [0, 1])


def test_a_node_below_no_input_beam_is_refused():
    iteration = toy_trace().iterations[1]
    lost = Iteration(**{**vars(iteration), "input_beams": []})
    with pytest.raises(TraceError, match="hangs below no input beam"):
        forest_graph(lost)


def test_a_cover_node_that_a_beam_landed_on_has_room_for_its_ring():
    """Catches rings of landed nodes that cover their neighbours: in a likely forest all nodes are cover nodes."""
    iteration = RECORDED["likely"].iterations[0]
    heights = forest_graph(iteration).nodes.data("height")
    landed = {draw.node for draw in iteration.draws if draw.landed}
    assert landed
    for node in iteration.nodes:
        assert heights[node.id] == (COVER_HEIGHT if node.kind == "cover" and node.id not in landed else HEIGHT)
