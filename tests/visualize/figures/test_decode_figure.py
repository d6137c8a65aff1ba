"""The whole decode as a figure and as SVG: every node once, bands that open their pass, words clear of twigs."""

import html
import itertools
import re
from dataclasses import replace

import pytest

import visualize
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.drawings.folded import NUMBERS, Folded

TRACE = toy_trace()
EMPTY = replace(TRACE, iterations=[], result=None)
NAMES = ("1-dynamic-width.json.gz", "6-beam-sampling.json.gz", "tree")


def marks_of(figure):
    """Return the marks of what was kept, dropped, picked by the large model, and not tested."""
    return [trace for trace in figure.data if trace.type == "scatter" and trace.mode == "markers"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("tokens_per_line", [9, 64])
def test_every_node_stands_once_and_alone_and_out_of_the_room_of_the_words(name, tokens_per_line):
    """On short lines too: catches a fold that puts two lines, or two tokens, on top of each other, a twig above the
    text, and a line whose words rise into its numbers."""
    scene = scene_of(name)
    folded = Folded(scene.whole, tokens_per_line)
    figure = visualize.decode_figure(scene, tokens_per_line=tokens_per_line)
    ids = [id_ for trace in marks_of(figure) for _, id_ in trace.customdata]
    assert sorted(ids) == sorted(node.id for node in scene.whole.nodes)
    places = [place for trace in marks_of(figure) for place in zip(trace.x, trace.y, strict=True)]
    assert len(set(places)) == len(places)
    assert all(1 <= x <= folded.columns for x, _ in places)
    for above, below in itertools.pairwise(folded.lines):
        assert above.bottom < below.top
        assert below.first == above.last + 1 <= above.first + tokens_per_line
    rooms = [(line.top + NUMBERS, line.y) for line in folded.lines]
    drawn = [point for mark in ("kept", "dropped", "picked") for piece in folded.twigs(mark) for point in piece]
    assert drawn
    assert not [y for _, y in drawn for top, bottom in rooms if top <= y < bottom - 0.01]
    svg = visualize.decode_svg(scene, tokens_per_line=tokens_per_line)
    words = re.findall(r'<text transform="translate\([\d.]+,([\d.]+)\) rotate\(-60\)"[^>]*>([^<]*)<', svg)
    assert len(words) == folded.whole.tokens
    for start, text in words:
        y, width = float(start) - 44, 6.3 * len(html.unescape(text).strip("\u2068\u2069"))
        top, bottom = y - width * 0.87 - 6, y + 6  # it rises by 60 degrees
        assert any(room[0] - 6 <= top and bottom <= room[1] + 1 for room in rooms)


def test_bands_cover_every_position_once_and_name_their_pass():
    scene = scene_of("1-dynamic-width.json.gz")
    parts = list(Folded(scene.whole, 20).bands())
    covered = []
    for part in parts:
        start, end = (part.line.first - 1 + edge for edge in (part.start, part.end))
        covered += range(round(start + 0.5), round(end + 0.5))
    assert covered == list(range(1, 65))
    figure = visualize.decode_figure(scene, tokens_per_line=20)
    bars = figure.data[0]
    assert [iteration for iteration, _ in bars.customdata] == [part.band.iteration for part in parts]
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
    assert "0 tokens" in visualize.decode_svg(EMPTY)
    growing = replace(TRACE, iterations=TRACE.iterations[:2], result=None)
    title = visualize.decode_figure(growing).layout.title.text
    assert re.fullmatch(r"2 passes of the large model instead of \d+", title)
