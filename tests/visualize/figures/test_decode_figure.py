"""The whole decode as a figure and as SVG: every node once, bands that open their pass, words clear of twigs."""

import html
import re
from dataclasses import replace

import pytest

import visualize
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.drawings.decode_tree import NUMBERS, DecodeTree

TRACE = toy_trace()
EMPTY = replace(TRACE, iterations=[], result=None)
NAMES = ("1-dynamic-width.json.gz", "6-beam-sampling.json.gz", "tree")


def marks_of(figure):
    """Return the marks of what was kept, dropped, picked by the large model, and not tested."""
    return [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"]


@pytest.mark.parametrize("name", NAMES)
def test_every_node_stands_once_and_alone_and_out_of_the_room_of_the_words(name):
    """Catches two tokens on top of each other, a twig above the text, and words that rise into the numbers."""
    scene = scene_of(name)
    tree, figure = DecodeTree(scene.whole), visualize.decode_figure(scene)
    ids = [id_ for trace in marks_of(figure) for _, id_ in trace.customdata]
    assert sorted(ids) == sorted(node.id for node in scene.whole.nodes)
    places = [place for trace in marks_of(figure) for place in zip(trace.x, trace.y, strict=True)]
    assert len(set(places)) == len(places)
    assert all(1 <= x <= tree.columns and tree.line <= y < tree.height for x, y in places)
    drawn = [point for mark in ("kept", "dropped", "picked") for piece in tree.twigs(mark) for point in piece]
    assert min(y for _, y in drawn) >= tree.line
    words = [note for note in figure.layout.annotations if note.textangle]
    assert len(words) == scene.whole.tokens
    for note in words:  # they rise by 60 degrees
        height = 0.87 * 6.3 * len(html.unescape(note.text).strip("\u2068\u2069"))
        assert NUMBERS - 6 <= note.y - height - 6
        assert note.y <= tree.line


def test_bands_cover_every_position_once_and_name_their_pass():
    figure = visualize.decode_figure(scene_of("1-dynamic-width.json.gz"))
    bars = figure.data[0]
    ends = [(x - width / 2, x + width / 2) for x, width in zip(bars.x, bars.width, strict=True)]
    assert [end for _, end in ends] == [start for start, _ in ends[1:]] + [64.5]
    assert ends[0][0] == 0.5
    assert [iteration for iteration, _ in bars.customdata] == list(range(21))
    assert bars.hovertext[0] == "Pass 1: 3 tokens"
    assert figure.layout.title.text == "21 passes of the large model instead of 64"


def test_hovering_tells_the_exact_state_and_the_arithmetic():
    figure = visualize.decode_figure(TRACE)
    kept, dropped, picked, guess = marks = marks_of(figure)
    assert [trace.name for trace in marks] == [
        "kept guess",
        "dropped guess",
        "picked by the large model",
        "guess, not tested",
    ]
    assert re.search(r"rejected.*P .*Q .*u|random number", " ".join(dropped.hovertext))
    assert any("recovered" in hover for hover in picked.hovertext)
    assert any("unneeded" in hover for hover in guess.hovertext)
    assert all(re.search(r"Pass \d+$", hover) for hover in kept.hovertext)
    assert {opacity for trace in marks for opacity in trace.marker.opacity} == {0.55, 1}
    assert sum(trace.showlegend is not False for trace in figure.data) == 4
    assert figure.layout.width is None  # as wide as its place
    assert figure.layout.autosize


def test_a_trace_without_iterations_and_one_without_a_result():
    assert visualize.decode_figure(EMPTY).layout.annotations[0].text == "nothing recorded"
    assert "0 tokens" in visualize.decode_figure(EMPTY).layout.title.text
    growing = replace(TRACE, iterations=TRACE.iterations[:2], result=None)
    title = visualize.decode_figure(growing).layout.title.text
    assert re.fullmatch(r"2 passes of the large model instead of \d+", title)
