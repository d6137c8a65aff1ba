"""The attention mask: every token sees the prompt, its ancestors and itself, and no other token."""

from dataclasses import replace

import pytest

import visualize
from dsbd.tracing.records import path_to
from tests.visualize.toy import toy_trace
from visualize.figures.mask import mask_info

TRACE = toy_trace()


def test_a_small_mask_written_out():
    """Catches a token that sees its siblings, its children, or the beams beside it."""
    trace = toy_trace("small")
    info = mask_info(trace)
    assert info.keys[0] == info.queries[0] == "prompt (3 tokens)"
    assert info.keys[1:] == info.queries[1:]
    forest = [node for node in trace.iterations[0].nodes if node.kind != "drawn"]
    places = {0: 0} | {node.id: place for place, node in enumerate(forest, 1)}
    rows = [{0}]
    for node in forest:
        rows.append(rows[places[node.parent]] | {places[node.id]})
    assert [{place for place, seen in enumerate(row) if seen} for row in info.sees] == rows


@pytest.mark.parametrize("iteration", [0, 3])
def test_every_row_is_a_path(iteration):
    nodes, info, chosen = TRACE.node_index(), mask_info(TRACE, iteration), TRACE.iterations[iteration]
    queries = [beam.node for beam in chosen.input_beams] + [node.id for node in chosen.nodes if node.kind != "drawn"]
    assert [sum(row) for row in info.sees] == [1 + len(list(path_to(query, nodes))) for query in queries]


def test_the_figure_fills_only_what_is_seen():
    (cells,) = visualize.mask_figure(TRACE, 1).data
    assert len(cells.x) == sum(map(sum, mask_info(TRACE, 1).sees))
    assert visualize.mask_figure(replace(TRACE, iterations=[])).layout.annotations[0].text == "nothing recorded"
