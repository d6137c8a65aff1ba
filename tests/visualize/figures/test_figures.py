"""Figures: the info by equality, the drawing by rendering."""

import json
import re

import pytest

import visualize
from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace
from tests.visualize.toy import toy_trace
from visualize.figures.compare import PANELS, Bar, compare_info
from visualize.figures.decode import TimelineInfo, WidthInfo, timeline_info, tokens_info, width_info
from visualize.figures.forest import forest_info, plot_forest
from visualize.look.states import YIELDED, styles
from visualize.look.theme import palette

TRACE = toy_trace()
OWN_MARKUP = re.compile(r"<b>((Token|Free token) \d+|−?[\d.]+)</b>|<br>|</?extra>")
EMPTY = Trace(**{**vars(TRACE), "iterations": [], "result": None})
DATA = {
    "methods": [
        {
            "method": "dsbd", "tokens_per_second": 50.0, "tokens_per_second_runs": [48.0, 52.0],
            "seconds": [1.0, 1.5], "perplexity": 5.25, "perplexity_half_width": 0.5,
            "best_log_weight": -30.0, "target_calls": 20,
            "layers_per_iteration": 2.9, "something_else": "ignored",
        },
        {"method": "greedy", "label": "a <b> & c", "tokens_per_second": None},
    ],
    "ratios": {"dsbd": 1.6, "greedy": None},
}  # fmt: skip


def texts_of(figure):
    """Return every string of the figure that Plotly reads as its pseudo-HTML."""
    plain = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    found, waiting = [], [plain["data"], plain["layout"]]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, (dict, list)):
            waiting.extend(part.values() if isinstance(part, dict) else part)
    return found


def test_forest_info_holds_every_node_once_and_one_edge_trace_per_state():
    info = forest_info(TRACE, 1)
    scene = visualize.build_scene(TRACE).iterations[1]
    assert sum(len(group.x) for group in info.nodes) == len(scene.nodes)
    assert len({(group.state, group.shared) for group in info.edges}) == len(info.edges)
    edges = sum(group.x.count(None) for group in info.edges)
    assert edges == len(scene.nodes) - len(TRACE.iterations[1].input_beams)
    assert info == forest_info(TRACE, 1)
    assert info.layers == scene.layers
    recovered = next(group for group in forest_info(TRACE, 4).nodes if group.state == "recovered")
    assert recovered.name == "recovered"
    assert re.search(r"u = [\d.]+ ∈ \[[\d.]+, [\d.]+\) · max\(", recovered.hovers[0])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_figure_renders(theme, tmp_path):
    path = tmp_path / "trace.json.gz"
    TRACE.save(path)
    for source in (TRACE, path, str(path)):
        assert visualize.forest_figure(source, 2, theme=theme).to_json()
    assert visualize.forest_figure(TRACE.iterations[1], theme=theme).to_json()
    for figure in (visualize.tokens_figure, visualize.width_figure, visualize.timeline_figure):
        assert figure(TRACE, theme=theme).to_json()
        assert figure(EMPTY, theme=theme).layout.annotations[0].text == "nothing recorded"
    assert visualize.forest_figure(EMPTY, theme=theme).layout.annotations[0].text == "nothing recorded"
    assert visualize.compare_figure(DATA, theme=theme).to_json()
    assert visualize.compare_figure({"methods": []}, theme=theme).layout.title.text == "Methods compared"


@pytest.mark.parametrize("bad", [-1, 7, True, "0", 1.0])
def test_a_bad_iteration_is_named_with_the_range(bad):
    with pytest.raises(TraceError, match=r"iteration is .*; this trace has whole numbers from 0 to 6"):
        visualize.forest_figure(TRACE, bad)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="theme is 'pink'"):
        visualize.forest_figure(TRACE, theme="pink")
    with pytest.raises(TraceError, match="cannot read trace"):
        visualize.forest_figure("no such file")
    with pytest.raises(ValueError, match="perplexity of dsbd is 'low'"):
        visualize.compare_figure([{"method": "dsbd", "perplexity": "low"}])
    with pytest.raises(ValueError, match="has no name"):
        visualize.compare_figure([{"label": "x"}])


def test_charts_hold_the_numbers_of_the_trace():
    assert width_info(TRACE) == WidthInfo(
        tuple(range(7)),
        tuple(len(iteration.layers) for iteration in TRACE.iterations),
        tuple(tuple(layer.width for layer in iteration.layers) for iteration in TRACE.iterations),
    )
    assert timeline_info(TRACE) == TimelineInfo(
        tuple(range(7)),
        {
            phase: tuple(getattr(iteration.phases, f"{phase}_seconds") for iteration in TRACE.iterations)
            for phase in ("draft", "score", "verify", "commit")
        },
    )
    info = tokens_info(TRACE)
    shown = "".join(info.labels).replace("␣", " ").replace("⟨F0 9F⟩⟨A6⟩⟨8A⟩", "🦊")  # each token shows its own bytes
    assert shown == TRACE.result.text
    assert all(0 < probability <= 1 for probability in info.probabilities)
    assert set(info.origins) >= {"accepted", "bonus"}
    unfinished = Trace(**{**vars(TRACE), "result": None})
    assert len(tokens_info(unfinished).labels) == 24


def test_null_is_not_measured_never_zero():
    info = compare_info(DATA)
    assert tuple(info.panels) == PANELS
    assert info.panels["tokens_per_second"] == (
        Bar("dsbd", "DSBD", 50.0, (48.0, 52.0), None, 1.6),
        Bar("greedy", "a <b> & c", None, (), None, None),
    )
    assert info.panels["seconds"][0] == Bar("dsbd", "DSBD", 1.25, (1.0, 1.5), None, None)
    assert info.panels["perplexity"][0] == Bar("dsbd", "DSBD", 5.25, (), 0.5, None)
    notes = [note.text for note in visualize.compare_figure(DATA).layout.annotations]
    assert notes.count("not measured") == len(PANELS)


def test_no_token_becomes_markup():
    for name in ("toy", "other", "wider"):
        trace = toy_trace(name)
        figures = [visualize.forest_figure(trace, index) for index in range(len(trace.iterations))]
        for figure in [*figures, visualize.tokens_figure(trace), visualize.compare_figure(DATA)]:
            for text in texts_of(figure):
                assert "<" not in OWN_MARKUP.sub("", text), text


def test_every_state_is_coded_twice():
    figure = plot_forest(forest_info(TRACE, 1))
    named = [trace for trace in figure.data if trace.name]
    codes = {trace.name: (trace.marker.symbol, str(trace.marker.color)) for trace in named}
    assert len({symbol for symbol, _ in codes.values()}) >= len(codes) - 1  # landed shares the open circle, larger
    assert "accepted" in codes


def luminance(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", sorted(styles()))
def test_marks_and_labels_have_contrast(state, theme):
    colors = palette(theme)
    for ground in (colors.paper, colors.band):
        least = 3 if state in (*YIELDED, "landed") else 4.5  # labels of settled nodes are in ink
        assert contrast(styles()[state].color(theme), ground) >= least
        assert contrast(colors.ink, ground) >= 7
        assert contrast(colors.soft, ground) >= 4.5
        assert contrast(colors.accent, ground) >= 4.5
