"""The forests of all iterations as frames: one fixed set of traces, one head for every layer, one axis for all."""

import pytest

import visualize
from dsbd.errors import TraceError
from tests.visualize.toy import toy_trace
from visualize.figures.forest import forest_info

TRACE = toy_trace()
ALL = visualize.forest_figure(TRACE, "all")


def kind(trace):
    """Return what a trace is: edges, marks or bars, of which name and look."""
    if trace.type == "bar":
        return "bar"
    return trace.mode, trace.name, trace.line.color, trace.line.width, trace.line.dash, str(trace.marker.symbol)


def test_all_frames_have_the_same_traces():
    """Catches a frame with a trace more or less: Plotly would animate one state into another."""
    assert [frame.name for frame in ALL.frames] == [str(number) for number in range(1, len(TRACE.iterations) + 1)]
    kinds = [kind(trace) for trace in ALL.data]
    assert len(kinds) > 10
    for frame in ALL.frames:
        assert [kind(trace) for trace in frame.data] == kinds
        assert list(frame.traces) == list(range(len(kinds)))
    assert ALL.frames[0].data == ALL.data


def test_every_frame_shows_what_its_own_figure_shows():
    for number, frame in enumerate(ALL.frames):
        alone = visualize.forest_figure(TRACE, number)
        for part in (lambda trace: trace.x, lambda trace: trace.hovertext):
            shown = [part(trace) for trace in frame.data if trace.x != (None,)]
            assert shown == [part(trace) for trace in alone.data]
        assert frame.layout.title.text == alone.layout.title.text == f"Iteration {number + 1}"
        assert frame.layout.annotations == alone.layout.annotations
        assert frame.layout.shapes == alone.layout.shapes


def test_the_axes_have_room_for_the_largest_forest():
    infos = [forest_info(TRACE, number) for number in range(len(TRACE.iterations))]
    assert ALL.layout.yaxis.range[0] > max(info.rows for info in infos)
    assert ALL.layout.xaxis.range[1] > max(info.columns for info in infos)
    slider, menu = ALL.layout.sliders[0], ALL.layout.updatemenus[0]
    assert [list(step.args[0]) for step in slider.steps] == [[frame.name] for frame in ALL.frames]
    assert menu.buttons[0].method == "animate"


def test_a_written_page_waits_for_its_reader(tmp_path):
    """Catches a page that plays its frames as it opens: a click on its slider meanwhile leaves marks of two frames."""
    ALL.write_html(tmp_path / "all.html", include_plotlyjs=False)
    for page in (ALL.to_html(include_plotlyjs=False), (tmp_path / "all.html").read_text(encoding="utf-8")):
        assert "Plotly.addFrames" in page
        assert "Plotly.animate" not in page
    assert "Plotly.animate" in ALL.to_html(include_plotlyjs=False, auto_play=True)


def test_every_column_has_its_head_also_where_nothing_was_tried():
    """Catches guesses that float in no column."""
    untried = 0
    for number in range(len(TRACE.iterations)):
        info, figure = forest_info(TRACE, number), visualize.forest_figure(TRACE, number)
        untried += len(info.untried)
        assert len(figure.layout.annotations) == info.columns
        assert sum(shape.type == "rect" for shape in figure.layout.shapes) == info.columns
        assert figure.layout.width is None
    assert untried


def test_edges_to_shared_nodes_are_wider():
    nodes = [node for iteration in visualize.build_scene(TRACE).iterations for node in iteration.nodes]
    assert any(node.slots > 1 and node.parent >= 0 for node in nodes)
    widths = {trace.line.width for trace in ALL.data if trace.type == "scatter" and trace.mode == "lines"}
    assert widths == {1.2, 2.4, 4.4}


def test_other_words_are_refused():
    with pytest.raises(TraceError, match="iteration is 'both'"):
        visualize.forest_figure(TRACE, "both")
