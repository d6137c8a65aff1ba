"""The forests of all iterations as frames: one fixed set of traces, one head for every layer, one axis for all."""

import visualize
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of

TRACE = toy_trace()
SCENE = scene_of("toy")
ALL = visualize.forest_figure(TRACE, "all")


def kind(trace):
    """Return what a trace is: edges, marks or bars, of which name and look."""
    if trace.type == "bar":
        return "bar"
    return trace.mode, trace.name, trace.line.color, trace.line.width, trace.line.dash, str(trace.marker.symbol)


def test_all_frames_have_the_same_traces_and_room():
    """Catches a frame with a trace more or less: Plotly would animate one state into another."""
    kinds = [kind(trace) for trace in ALL.data]
    assert len(kinds) > 10
    for frame in ALL.frames:
        assert [kind(trace) for trace in frame.data] == kinds
        assert list(frame.traces) == list(range(len(kinds)))
    assert ALL.frames[0].data == ALL.data
    edges = {trace.line.width for trace in ALL.data if trace.type == "scatter" and trace.mode == "lines"}
    assert edges == {1.2, 2.4, 4.4}  # those to shared nodes are the widest
    assert ALL.layout.yaxis.range[0] > max(iteration.last_row for iteration in SCENE.iterations)
    assert ALL.layout.xaxis.range[1] > max(iteration.last_column for iteration in SCENE.iterations)
    assert [list(step.args[0]) for step in ALL.layout.sliders[0].steps] == [[frame.name] for frame in ALL.frames]


def test_every_frame_shows_what_its_own_figure_shows_and_every_column_has_its_head():
    """Catches guesses that float in no column, even where nothing was tried."""
    assert any(len(iteration.layers) < iteration.last_column for iteration in SCENE.iterations)
    for number, (iteration, frame) in enumerate(zip(SCENE.iterations, ALL.frames, strict=True)):
        alone = visualize.forest_figure(TRACE, number)
        for part in ("x", "hovertext"):
            assert [trace[part] for trace in frame.data if trace.x != (None,)] == [trace[part] for trace in alone.data]
        assert frame.name == str(number + 1)
        assert frame.layout.title.text == alone.layout.title.text == f"Pass {number + 1}"
        assert (frame.layout.annotations, frame.layout.shapes) == (alone.layout.annotations, alone.layout.shapes)
        assert len(frame.layout.annotations) == iteration.last_column
        assert sum(shape.type == "rect" for shape in frame.layout.shapes) == iteration.last_column


def test_a_written_page_waits_for_its_reader(tmp_path):
    """Catches a page that plays its frames as it opens: a click on its slider meanwhile leaves marks of two frames."""
    ALL.write_html(tmp_path / "all.html", include_plotlyjs=False)
    for page in (ALL.to_html(include_plotlyjs=False), (tmp_path / "all.html").read_text(encoding="utf-8")):
        assert "Plotly.addFrames" in page
        assert "Plotly.animate" not in page
