"""The viewer in notebooks: run, saved, converted, stripped of scripts, and as text."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import hostile_marks, visit
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.figures.pictured import _Carrier

TRACE = toy_trace()
ROOT = Path(__file__).parents[3]
BENCH, TABLE, RECORDED = "read('bench.json')", "read('table.json')", "'trace.json.gz'"
GIVEN = {
    **dict.fromkeys(("decode", "timeline", "tokens", "width"), RECORDED),
    **dict.fromkeys(("forest", "mask"), f"{RECORDED}, 1"),
    **dict.fromkeys(("pareto", "dynamic_width"), TABLE),
    **dict.fromkeys(("speed", "quality"), BENCH),
    "race": "read('race.json')",
}
"""What each public figure is drawn of, in a notebook beside these files."""


@pytest.mark.slow
def test_without_frames_and_scripts_the_picture_remains(browser, tmp_path):
    """Catches a code host that strips frames, scripts and styles and shows nothing."""
    source = visualize.show(nasty_trace())._repr_html_()
    stripped = re.sub(r'<iframe.*?</iframe>| style="[^"]*"', "", source, flags=re.S)
    (tmp_path / "stripped.html").write_text(f"<!doctype html><meta charset='utf-8'>{stripped}", encoding="utf-8")
    with visit(browser, tmp_path / "stripped.html") as seen:
        assert seen.page.evaluate("() => document.querySelector('img').naturalWidth") > 300
        assert "forest" in seen.page.get_attribute("img", "alt")
        seen.quiet()


def test_the_bundle_has_a_picture_and_text():
    """Catches a terminal or a screen reader that gets nothing."""
    bundle = visualize.show(TRACE, iteration=1)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/svg+xml", "text/plain"}
    assert bundle["text/plain"] == visualize.forest_text(TRACE, 1)
    assert bundle["image/svg+xml"] == visualize.forest_svg(TRACE, 1)
    empty = visualize.SceneBuilder(None).scene()
    assert "no passes" in visualize.show(empty)._repr_mimebundle_()["text/plain"]


SHOWN = (
    "visualize.show('trace.json.gz')",
    "visualize.show('nasty.json.gz', plotly='shared', iteration=2)",
    "visualize.show('trace.json.gz', plotly='shared', height=500)",
)


@pytest.mark.slow
def test_every_figure_and_viewer_is_seen_in_a_notebook_that_was_executed_and_saved(browser, tmp_path):
    """Catches a figure that vanishes without the network, Plotly's script, 5 MB, in more than one cell, viewers that
    need a kernel, and hostile tokens that run."""
    nbformat = pytest.importorskip("nbformat", reason="runs wherever nbconvert is installed")
    nbconvert = pytest.importorskip("nbconvert", reason="runs wherever nbconvert is installed")
    pytest.importorskip("ipykernel", reason="runs wherever a kernel is installed")
    TRACE.save(tmp_path / "trace.json.gz")
    nasty_trace().save(tmp_path / "nasty.json.gz")
    shutil.copy(ROOT / "assets/races/stories.json", tmp_path / "race.json")
    shutil.copy(ROOT / "benchmarks/results/sql-table.json", tmp_path / "table.json")
    bench = json.loads((ROOT / "benchmarks/results/0.3B-cpu.json").read_text(encoding="utf-8"))["methods"]
    (tmp_path / "bench.json").write_text(json.dumps(bench), encoding="utf-8")
    names = [name for name in dir(visualize) if name.endswith("_figure")]
    calls = [f"visualize.{name}({GIVEN[name.removesuffix('_figure')]})" for name in names]
    opening = (
        f"import json, sys; sys.path.insert(0, {str(ROOT)!r}); import visualize\nread = lambda f: json.load(open(f))"
    )
    cells = [nbformat.v4.new_code_cell(code) for code in (opening, *calls, *SHOWN)]
    notebook, resources = nbformat.v4.new_notebook(cells=cells), {"metadata": {"path": str(tmp_path)}}
    nbconvert.preprocessors.ExecutePreprocessor(timeout=120).preprocess(notebook, resources)
    outputs = [output.data for cell in notebook.cells[1 : 1 + len(calls)] for output in cell.outputs]
    assert sum("image/svg+xml" in output for output in outputs) == 2
    assert sum("plotly.js v" in output.get("text/html", "")[:20_000] for output in outputs) == 1
    assert len(nbformat.writes(notebook)) < 14_000_000
    viewers = [cell.outputs[0].data["text/html"] for cell in notebook.cells[1 + len(calls) :]]
    assert [len(html) > 1_000_000 for html in viewers] == [True, False, False]
    exporter = nbconvert.HTMLExporter(require_js_url="", mathjax_url="", jquery_url="", mermaid_js_url="")
    page = tmp_path / "notebook.html"
    page.write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    with visit(browser, page) as seen:
        drawn = seen.page.locator(".svg-container, .jp-RenderedSVG > *")
        expect(drawn).to_have_count(len(names))
        assert drawn.evaluate_all("all => all.filter((one) => one.getBoundingClientRect().height < 100)") == []
        frames = seen.drawn(3)
        assert [hostile_marks(frame) for frame in frames] == [0, 0, 0]
        assert frames[1].input_value("[aria-label=Pass]") == "3"
        frames[0].focus(".dsbd")
        seen.page.keyboard.press("Home")
        assert frames[0].inner_text(".dsbd-sentence") == scene_of("toy").iterations[0].steps[0].sentence
        seen.quiet()


def test_the_cell_that_brings_plotly_brings_it_again_when_it_runs_again(monkeypatch):
    """Catches a notebook that was run cell by cell and saved without Plotly's script, or with many copies."""
    parent: dict = {}
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(get_parent=lambda: parent))
    carrier = _Carrier()
    for run, cell, expected in (("1", "a", True), ("1", "a", False), ("2", "b", False), ("3", "a", True)):
        parent.update(header={"msg_id": run}, metadata={"cellId": cell})
        assert carrier.is_here() is expected, (run, cell)
    parent.update(header={"msg_id": "4"}, metadata={})  # a program that executes notebooks names no cells
    assert carrier.is_here() is False
