"""The rules of the layout, on random forests."""

import itertools
import sys
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsbd.errors import TraceError
from tests.visualize.toy import toy_trace
from tests.visualize.traces import trace_of
from visualize.forest import COVER_HEIGHT, forest_places
from visualize.layout import COUSINS, SIBLINGS, TREES, tidy

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


@given(forests())
@settings(max_examples=50, deadline=None)
def test_a_mirrored_forest_has_the_mirrored_layout(forest):
    _, children, roots, heights = forest
    mirrored = {node: below[::-1] for node, below in children.items()}
    rows, other = tidy(children, roots, heights), tidy(mirrored, roots[::-1], heights)
    bottom = max(rows.values())
    assert other == pytest.approx({node: bottom - row for node, row in rows.items()}, abs=1e-6)


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
