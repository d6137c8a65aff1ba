"""Every recorded trace in every drawing: all nodes, and no token read as markup; what figures promise; errors; and the
examples of the docstrings."""

import doctest
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import plotly.graph_objects as go
import plotly.io as pio
import pytest

import visualize
from dsbd.errors import TraceError
from tests.visualize.traces import TRACES, nasty_trace, toy_trace, trace_of
from visualize.tokens import columns
from visualize.words import Words, known_languages

TOY = toy_trace()
EMPTY = replace(TOY, iterations=[], result=None)
EVERY = visualize.forest_figure(TOY, "all")
(BARE := visualize.forest_graph(TOY, 0)).add_node("new")
OWN_MARKUP = re.compile(r"<b>((Token|Free token) \d+[^<]*)</b>|<br>|</?extra>")


@pytest.mark.parametrize("name", sorted(TRACES))
def test_svg_and_text_have_every_label(name):
    """Catches a file that is not well formed or holds the markup of a token, and a node or beam that is left out."""
    trace, nodes = trace_of(name), visualize.forest_graph(trace_of(name), 0).nodes.values()
    for theme in ("light", "dark"):
        root = ElementTree.fromstring(visualize.forest_svg(trace, 0, theme=theme))
        assert {element.tag.split("}")[1] for element in root.iter()} <= {"svg", "g", "title", "rect", "path", "text"}
        assert all(node["label"] in "".join(root.itertext()) for node in nodes)
    text = visualize.forest_text(trace, 0)
    assert all(f"{node['token']}" in text for node in nodes)
    assert text.count("log-weight") >= len(trace.iterations[0].output_beams)
    assert "\x00" not in text
    assert visualize.forest_text(trace).count("Pass ") == len(trace.iterations)


@pytest.mark.parametrize("language", known_languages())
def test_no_heading_of_a_layer_runs_out_of_its_column(language):
    titles = re.findall('font-weight="600">([^<]*)<', visualize.forest_svg(TOY, 1, language=language))
    assert max(map(columns, titles)) <= 26


def texts_of(part):
    """Return every string of a figure that Plotly reads as its pseudo-HTML."""
    if isinstance(part, str):
        return [part]
    parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else []
    return [text for one in parts for text in texts_of(one)]


@pytest.mark.parametrize(
    "draw", [lambda trace: visualize.forest_figure(trace, "all"), visualize.decode_figure], ids=["forest", "decode"]
)
def test_figures_show_tokens_as_text(draw):
    plain = json.loads(draw(nasty_trace()).to_json())
    plain["layout"].pop("template", None)
    texts = texts_of([plain["data"], plain["layout"], plain.get("frames", [])])
    assert any("&lt;" in text for text in texts)
    assert [text for text in texts if "<" in OWN_MARKUP.sub("", text)] == []


def scatters(figure, mode):
    """Return the traces of a figure that show lines, markers, or markers with text."""
    return list(figure.select_traces({"type": "scatter", "mode": mode}))


def test_the_forest_has_every_node_and_edge_once():
    forest, figure = visualize.forest_graph(TOY, 1), visualize.forest_figure(TOY, 1)
    nodes = scatters(figure, "markers+text")
    points = sorted(point for trace in nodes for point in zip(trace.x, trace.y, strict=True))
    assert points == sorted((node["column"], node["row"]) for node in forest.nodes.values())
    assert sum(trace.x.count(None) for trace in scatters(figure, "lines")) == len(forest.edges)
    picked = next(trace for trace in nodes if trace.name == "picked, not guessed")
    assert max(map(len, picked.hovertext[0].split("<br>"))) <= 42, "a box that hides the tree"
    codes = {trace.name: (trace.marker.symbol, str(trace.marker.color)) for trace in nodes}
    assert len({symbol for symbol, _ in codes.values()}) == len({color for _, color in codes.values()}) == len(codes)


def kind(trace):
    """Return the kind of a trace: edges, marks or bars, with name and look."""
    if trace.type == "bar":
        return "bar"
    return trace.mode, trace.name, trace.line.color, trace.line.width, trace.line.dash, str(trace.marker.symbol)


def test_all_frames_have_the_same_traces_and_show_what_their_own_figures_show():
    """Catches a frame with a trace more or less (Plotly would animate one state into another), and guesses that float
    in no column."""
    kinds = [kind(trace) for trace in EVERY.data]
    assert {trace.line.width for trace in scatters(EVERY, "lines")} == {1.2, 2.4, 4.4}
    for number, frame in enumerate(EVERY.frames):
        assert [kind(trace) for trace in frame.data] == kinds
        assert list(frame.traces) == list(range(len(kinds)))
        alone = visualize.forest_figure(TOY, number)
        for part in ("x", "hovertext"):
            assert [trace[part] for trace in frame.data if trace.x != (None,)] == [trace[part] for trace in alone.data]
        assert frame.name == str(number + 1)
        assert frame.layout.title.text == alone.layout.title.text == f"Pass {number + 1}"
        assert (frame.layout.annotations, frame.layout.shapes) == (alone.layout.annotations, alone.layout.shapes)
        assert len(frame.layout.annotations) == visualize.forest_graph(TOY, number).graph["last_column"]
    assert [list(step.args[0]) for step in EVERY.layout.sliders[0].steps] == [[frame.name] for frame in EVERY.frames]


@pytest.mark.parametrize("name", ["1-dynamic-width.json.gz", "6-beam-sampling.json.gz", "tree"])
def test_the_whole_decode_has_every_node_and_every_word(name):
    tree, figure = visualize.forest_graph(trace_of(name)), visualize.decode_figure(trace_of(name))
    bars, *_ = figure.data
    marks = scatters(figure, "markers")
    assert sorted(id_ for trace in marks for _, id_, _ in trace.customdata) == sorted(tree)
    words = [note for note in figure.layout.annotations if note.textangle]
    assert len(words) == tree.graph["tokens"]
    ends = [(x - width / 2, x + width / 2) for x, width in zip(bars.x, bars.width, strict=True)]
    assert [0.5, *(end for _, end in ends)] == [*(start for start, _ in ends), tree.graph["bands"][-1].last + 0.5]
    assert figure.layout.width is None  # as wide as its container


def test_empty_figures_say_so_and_charts_hold_the_numbers_of_the_trace():
    for name in visualize._NAMES["figures.trace"].split():
        assert getattr(visualize, name)(EMPTY).layout.annotations[0].text == "nothing recorded"
    assert "sendChartToCloud" in pio.templates["dsbd"].layout.modebar.remove
    assert "no passes" in visualize.forest_text(EMPTY)
    layers, chosen, means = (figure := visualize.width_figure(TOY)).data
    assert (layers.yaxis, chosen.yaxis, means.yaxis) == (None, "y2", "y2"), "two quantities on one axis"
    assert figure.layout.annotations[0].text == "tokens that became final"
    widths = [[layer.width for layer in iteration.layers] for iteration in TOY.iterations]
    assert layers.x == means.x == tuple(range(1, 8))
    assert layers.y == tuple(map(len, widths))
    counts = Counter((number, width) for number, layers in enumerate(widths, 1) for width in layers)
    assert dict(zip(zip(chosen.x, chosen.y, strict=True), chosen.customdata, strict=True)) == counts
    assert means.y == tuple(sum(layers) / len(layers) for layers in widths)


def test_a_changed_graph_is_drawn_and_no_label_is_run_through():
    """Catches a figure that draws the trace again, and columns narrower than their labels."""
    forest = visualize.forest_graph(TOY, 1)
    forest.remove_node(next(id_ for id_ in forest if not forest.out_degree(id_)))
    changed, whole = visualize.forest_figure(forest), visualize.forest_figure(TOY, 1)
    drawn = [sum(len(trace.x) for trace in scatters(figure, "markers+text")) for figure in (changed, whole)]
    assert drawn == [len(forest), len(forest) + 1]
    assert whole.layout.width >= 168 * forest.graph["last_column"]
    tree = visualize.forest_graph(TOY)
    assert visualize.forest_figure(tree).to_json() == visualize.decode_figure(TOY).to_json()


@pytest.mark.parametrize(
    ("error", "message", "call", "arguments", "options"),
    [
        *((TraceError, f"iteration is {bad!r}; this trace has whole numbers from 0 to 6",
           visualize.forest_figure, (TOY, bad), {}) for bad in (-1, 7, True, "0", 1.0, "both")),
        *((TraceError, "iteration is 99; this trace has whole numbers from 0 to 6", call, (TOY,), {"iteration": 99})
          for call in (visualize.show, visualize.forest_svg, visualize.forest_text)),
        (TraceError, "step is 999; iteration 0 has whole", visualize.forest_svg, (TOY,), {"step": 999}),
        *((ValueError, "theme is 'pink'", call, (TOY,), {"theme": "pink"})
          for call in (visualize.decode_figure, visualize.forest_figure, visualize.forest_svg)),
        (ValueError, "no strings for language 'xx'; there are ar, de, en", Words, ("xx",), {}),
        *((ValueError, "no strings for language 'tlh'", call, (TOY,), {"language": "tlh"})
          for call in (visualize.width_figure, visualize.forest_svg)),
        *((TraceError, "cannot read trace", call, ("no such file",), {})
          for call in (visualize.forest_figure, visualize.decode_figure)),
        (TraceError, "int is no trace; give a trace, the path of a trace file or a result",
         visualize.forest_text, (3,), {}),
        *((TraceError, "attributes of visualize.forest_graph; give a graph whose nodes keep them", call, (graph,), {})
          for call in (visualize.forest_figure, visualize.decode_figure) for graph in (nx.DiGraph(), BARE)),
        (TraceError, "decode with record=True", visualize.forest_graph, (SimpleNamespace(trace=None),), {}),
        (ValueError, "no table: task", visualize.pareto_figure, ({"methods": []},), {}),
        (ValueError, "a str is no table of 'dsbd-benchmark/3'", visualize.pareto_figure, ("runs.jsonl",), {}),
        (ValueError, "height is 10; choose a whole number from 200 to 4000", visualize.show, (TOY,), {"height": 10}),
        (TraceError, "cannot write", visualize.export_html, (TOY, "none/x.html"), {}),
        (TraceError, "is no folder", visualize.export_site, ("a.json", "out"), {}),
        *((ValueError, message, visualize.embed_snippet, ("a.html",), options) for message, options in (
            ("kind is 'word'; choose one of iframe, jupyter", {"kind": "word"}),
            ("height is 0", {"height": 0}),
            ("steps is 201; choose a whole number from 0 to 200", {"steps": 201}),
            ("iteration is -1", {"iteration": -1}),
            ("step is True", {"step": True}),
        )),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_it_is_refused(error, message, call, arguments, options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(error, match=re.escape(message)):
        call(*arguments, **options)


def test_a_trace_is_seen_in_a_notebook_and_read_by_pandas():
    """Catches a table that lacks a row, or the iteration of a row."""
    for table in ("nodes", "trials", "draws", "layers"):
        frame = TOY.to_pandas(table)
        counts = {one.index: len(getattr(one, table)) for one in TOY.iterations if getattr(one, table)}
        assert frame.groupby("iteration").size().to_dict() == counts
    assert TOY.to_pandas("iterations")["draft_depth"].tolist() == [one.draft_depth for one in TOY.iterations]
    with pytest.raises(ValueError, match="table is 'beams'; choose one of nodes, trials"):
        TOY.to_pandas("beams")
    assert TOY._repr_html_() == visualize.show(TOY)._repr_html_()


ROOT = Path(__file__).parents[2]
EXAMPLES = {name: doctest.DocTestParser().get_examples(getattr(visualize, name).__doc__) for name in visualize.__all__}
PAGE = (ROOT / "docs" / "api" / "drawings.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_runs(name, tmp_path, monkeypatch):
    """Catches a public name without an example, an argument that does not exist."""
    for folder in ("assets", "benchmarks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    data = {}
    exec(PAGE.partition("```python\n")[2].partition("```")[0], data)
    (example,) = EXAMPLES[name]
    value = eval(example.source, data)
    assert (value is None) == name.startswith("export_") or "print(" in example.source or name == "export_site"
    assert isinstance(value, go.Figure) == name.endswith("_figure")
