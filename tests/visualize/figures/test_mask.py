"""The attention mask: every token sees the prompt, its ancestors and itself, and no other token."""

import json

import pytest

import visualize
from dsbd.tracing.records import path_to
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from visualize.figures.mask import mask_info

TRACE = toy_trace()


def test_a_small_mask_written_out():
    """Catches a token that sees its siblings, its children, or the beams beside it."""
    trace = toy_trace("small")
    info = mask_info(trace)
    drawn = "\n".join("".join("■" if seen else "·" for seen in row) for row in info.sees)
    assert info.keys[0] == "prompt (3 tokens)"
    assert info.queries[0] == "prompt (3 tokens)"
    assert info.keys[1:] == info.queries[1:]
    forest = [node for node in trace.iterations[0].nodes if node.kind != "drawn"]
    parents = [0 if node.parent == 0 else 1 + [other.id for other in forest].index(node.parent) for node in forest]
    rows = ["■" + "·" * len(forest)]
    for at, parent in enumerate(parents):
        above = rows[parent]
        rows.append("".join("■" if place == at + 1 else mark for place, mark in enumerate(above)))
    assert drawn == "\n".join(rows)


@pytest.mark.parametrize("iteration", range(len(TRACE.iterations)))
def test_every_row_is_a_path(iteration):
    nodes, info = TRACE.node_index(), mask_info(TRACE, iteration)
    chosen = TRACE.iterations[iteration]
    queries = [beam.node for beam in chosen.input_beams] + [node.id for node in chosen.nodes if node.kind != "drawn"]
    assert len(info.sees) == len(queries)
    for query, row in zip(queries, info.sees, strict=True):
        assert sum(row) == 1 + len(list(path_to(query, nodes)))


def test_the_figure_escapes_and_fills_only_what_is_seen():
    figure = json.loads(visualize.mask_figure(nasty_trace(), 1).to_json())
    info = mask_info(nasty_trace(), 1)
    assert len(figure["data"][0]["x"]) == sum(map(sum, info.sees))
    texts = (
        figure["data"][0]["hovertext"] + figure["layout"]["xaxis"]["ticktext"] + figure["layout"]["yaxis"]["ticktext"]
    )
    assert not any("<" in text for text in texts)
    lone = mask_info(TRACE.iterations[0])
    assert lone.keys[0] == "prompt"
    empty = visualize.mask_figure(type(TRACE)(**{**vars(TRACE), "iterations": []}))
    assert empty.layout.annotations[0].text == "nothing recorded"
