"""Charts of a decode and the forest as a figure: their numbers, and marks that can be told apart."""

from dataclasses import replace

import pytest

import visualize
from tests.visualize.toy import toy_trace
from visualize.look.states import MARKS, mark_style
from visualize.look.theme import palette

TRACE = toy_trace()
EMPTY = replace(TRACE, iterations=[], result=None)


def test_the_forest_has_every_node_and_edge_once():
    scene = visualize.scene(TRACE).iterations[1]
    figure = visualize.forest_figure(TRACE, 1)
    *traces, _ = figure.data
    nodes = [trace for trace in traces if trace.mode == "markers+text"]
    places = sorted(place for trace in nodes for place in zip(trace.x, trace.y, strict=True))
    assert places == sorted((node.column, node.row) for node in scene.nodes)
    edges = sum(trace.x.count(None) for trace in traces if trace.mode == "lines")
    assert edges == len(scene.nodes) - len(TRACE.iterations[1].input_beams)
    figure = visualize.forest_figure(TRACE, 4)
    picked = next(trace for trace in figure.data if trace.name == "picked by the large model")
    told = picked.hovertext[0].split("<br>")
    assert "picked by the large model" in "".join(told)
    assert max(map(len, told)) <= 42, "a box that hides the tree"


def test_charts_hold_the_numbers_of_the_trace():
    for figure in (visualize.forest_figure(EMPTY), visualize.width_figure(EMPTY)):
        assert figure.layout.annotations[0].text == "nothing recorded"
    layers, chosen, means = visualize.width_figure(TRACE).data
    widths = [[layer.width for layer in iteration.layers] for iteration in TRACE.iterations]
    assert layers.x == means.x == tuple(range(1, 8))
    assert layers.y == tuple(map(len, widths))
    assert list(zip(chosen.x, chosen.y, strict=True)) == [(at, w) for at, found in enumerate(widths, 1) for w in found]
    assert means.y == tuple(sum(found) / len(found) for found in widths)


def test_every_mark_is_coded_twice():
    named = [trace for trace in visualize.forest_figure(TRACE, 1).data if trace.name]
    codes = {trace.name: (trace.marker.symbol, str(trace.marker.color)) for trace in named}
    assert len({symbol for symbol, _ in codes.values()}) == len({color for _, color in codes.values()}) == len(codes)
    assert "kept guess" in codes


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_and_labels_have_contrast(theme):
    colors = palette(theme)
    for ground in (colors.paper, colors.band):
        assert contrast(colors.ink, ground) >= 7
        assert min(contrast(colors.soft, ground), contrast(colors.accent, ground)) >= 4.5
        for mark in MARKS:
            least = 3 if mark in ("kept", "picked") else 4.5  # labels of settled nodes are in ink
            assert contrast(mark_style(mark).color(theme), ground) >= least, mark
