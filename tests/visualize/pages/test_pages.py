"""Pages, sites, articles, snippets and notebooks: what they carry and ask for, and journeys in a browser."""

import html
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

import visualize
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path
from tests.axe import serious
from tests.command_line import refused, run
from tests.visualize.homes import hostile_marks, served, visit
from tests.visualize.nasty import NASTY, nasty_trace
from tests.visualize.toy import toy_trace
from visualize.figures.chart_style import Figure, brings_script
from visualize.forest import steps_of
from visualize.pages.document import data_element
from visualize.pages.lesson import read_lesson
from visualize.pages.trace_page import html_page

TRACE = toy_trace()
STEPS = [len(steps_of(iteration, TRACE.settings)) for iteration in TRACE.iterations]
ROOT = Path(__file__).parents[3]
ARTICLE = read_lesson(asset_path("article/article.md"))
BENCH, TABLE, RECORDED = "read('bench.json')", "read('table.json')", "'trace.json.gz'"
GIVEN = {
    **dict.fromkeys(("decode", "width"), RECORDED), "forest": f"{RECORDED}, 1", "race": "read('race.json')",
    "pareto": TABLE, "speed": BENCH,
}  # fmt: skip
"""What each public figure is drawn of, in a notebook beside these files."""
SHOWN = (
    "visualize.show('trace.json.gz')",
    "visualize.show('nasty.json.gz', iteration=2)",
    "visualize.show('trace.json.gz', height=500)",
)
HOST = """<!doctype html><meta charset="utf-8">
<div id="slide" style="display:none"><iframe id="a" src="viewer.html" width="900" height="700"></iframe></div>
<iframe id="b" srcdoc="<p>a stranger"></iframe>
<script>window.told = []; addEventListener("message", ({data}) => told.push(data));
window.say = (message) => document.getElementById("a").contentWindow.postMessage(message, "*");</script>"""
STRANGER = """() => {
  const other = document.getElementById("b").contentWindow.document, script = other.createElement("script");
  script.textContent = "parent.frames[0].postMessage({dsbd: 'last'}, '*')";
  other.body.append(script);
}"""
"""A foreign frame beside the viewer that tries to step it."""
DECK = """<!doctype html><meta charset="utf-8"><div class="slides">{slides}</div><script>
globalThis.Reveal = {{heard: {{}}, on(name, act) {{ this.heard[name] = act; }}}};
const steps = () => [...document.querySelectorAll(".dsbd-step")];
globalThis.press = (by) => {{
  const all = steps(), at = all.filter((one) => one.classList.contains("visible")).length;
  const fragment = by > 0 ? all[at] : all[at - 1];
  fragment.classList.toggle("visible");
  Reveal.heard[by > 0 ? "fragmentshown" : "fragmenthidden"]({{fragment}});
}};</script>"""
"""A deck that sends the events of reveal.js, without its style."""
COVERED = """() => [...document.querySelectorAll("main article")].flatMap((card) => {
  const one = card.getBoundingClientRect(), other = document.querySelector(".dsbd-body").getBoundingClientRect();
  const [x, y] = [Math.max(one.left, other.left) + 20, Math.max(one.top, other.top) + 20];
  const isOver = x < Math.min(one.right, other.right) && y < Math.min(one.bottom, other.bottom);
  return isOver && card.contains(document.elementFromPoint(x, y)) ? [card.innerText] : [];
})"""
SCROLL = """([at, share]) => scrollBy(0,
    document.querySelectorAll('main article')[at].getBoundingClientRect().top - share * innerHeight)"""


def step_is(frame, step: int, it: int = 0) -> None:
    """Wait until the viewer of a frame shows a step, from 0."""
    expect(frame.locator(".dsbd-count-step").first).to_have_text(f"{step + 1} of {STEPS[it]}")


# What pages carry and ask for


def test_the_page_names_nothing_outside():
    """Catches token text that ends its element, and an address that the page would load from."""
    page = html_page([nasty_trace()])
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == page.count("<script")
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", page) == ["data:,"]
    assert re.findall(r"https?://[^\"' )]+", page) == []
    element = str(data_element("x", NASTY[:-1]))
    assert not re.search("[<>&\u2028\u2029]", inside := element.partition('json">')[2].partition("</script>")[0])
    assert json.loads(inside) == NASTY[:-1]


def test_a_page_is_one_small_file(tmp_path):
    """Catches a page that has grown."""
    visualize.export_html(TRACE, tmp_path / "page.html")
    (page,) = tmp_path.iterdir()
    assert page.stat().st_size < 160_000


def test_the_bundle_of_a_notebook_has_a_picture_and_text():
    """Catches a terminal or a screen reader that gets nothing."""
    bundle = visualize.show(SimpleNamespace(trace=TRACE), iteration=1)._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/svg+xml", "text/plain"}
    assert bundle["text/plain"] == visualize.forest_text(TRACE, 1)
    assert bundle["image/svg+xml"] == visualize.forest_svg(TRACE, 1)


def test_the_cell_that_brings_plotly_brings_it_again_when_it_runs_again(monkeypatch):
    """Catches a notebook that was run cell by cell and saved without Plotly's script, or with many copies."""
    parent: dict = {}
    monkeypatch.setattr("IPython.get_ipython", lambda: SimpleNamespace(get_parent=lambda: parent))
    monkeypatch.setattr(Figure, "_carrier", None)
    for cell_run, cell, expected in (("1", "a", True), ("1", "a", False), ("2", "b", False), ("3", "a", True)):
        parent.update(header={"msg_id": cell_run}, metadata={"cellId": cell})
        assert brings_script() is expected, (cell_run, cell)
    parent.update(header={"msg_id": "4"}, metadata={})  # a program that executes notebooks names no cells
    assert brings_script() is False


def test_the_article_quotes_its_trace():
    """Catches an article about a trace that was recorded again."""
    trace, text = Trace.load(ARTICLE.trace), " ".join(card.text for card in ARTICLE.cards)
    passes, tokens = len(trace.iterations), sum(len(iteration.layers) for iteration in trace.iterations)
    assert f"these {tokens} tokens take it **{tokens} passes**" in text
    assert f"take **{passes} passes** instead of {tokens}" in " ".join(text.split())
    width, won = (card.position for card in ARTICLE.cards if card.title in ("The width", "One pass"))
    assert trace.iterations[width.it].layers[(width.layer or 1) - 1].width == 3
    assert len(trace.iterations[won.it].layers) == 5


def test_an_article_asks_nothing(tmp_path, capsys):
    TRACE.save(tmp_path / "t.json")
    (tmp_path / "asks.md").write_text("---\ntitle: T\ntrace: t.json\n---\n## A\n\n- [x] one\n- [ ] two\n")
    flags = ["--traces", str(tmp_path), "--article", str(tmp_path / "asks.md"), "--output", str(tmp_path / "site")]
    assert "asks.md, line 5: an article asks nothing" in refused(capsys, "site", *flags)


@pytest.mark.parametrize("live", [False, True])
def test_the_live_page_is_linked_where_it_is(tmp_path, live):
    TRACE.save(tmp_path / "toy.json.gz")
    pages = visualize.export_site(tmp_path, tmp_path / "site", article=ARTICLE.path, live=live)
    assert ("live.html" in pages) == live
    for page in ("article.html", "index.html"):
        assert ("live.html" in (tmp_path / "site" / page).read_text(encoding="utf-8")) == live


def test_the_command_writes_the_site(tmp_path, capsys):
    TRACE.save(tmp_path / "a.json")
    flags = ["--traces", str(tmp_path), "--output", str(tmp_path / "out" / "deep"), "--json"]
    code, out, _ = run(capsys, "site", *flags)
    assert (code, json.loads(out)["pages"]) == (0, ["index.html", "article.html", "forests/a.html"])


# Journeys


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write a site of two traces, one of them with hostile tokens and a hostile file name, and of the article."""
    folder = tmp_path_factory.mktemp("traces")
    TRACE.save(folder / "1-toy fox.json.gz")
    (folder / "<b>&'Nasty'.json").write_text(json.dumps(nasty_trace().to_dict()))
    (folder / "notes.txt").write_text("not a trace")
    pages = visualize.export_site(folder, folder / "site", title="<i>Forests</i>", article=ARTICLE.path)
    assert pages == ["index.html", "article.html", "forests/1-toy-fox.html", "forests/b-nasty.html"]
    written = [(folder / "site" / page).read_text(encoding="utf-8") for page in pages]
    assert not re.search(r'(?:src|href)="https?://', "".join(written))
    assert "&lt;iframe src=&#34;b-nasty.html&#34; title=&#34;&amp;lt;b&amp;gt;" in written[3]
    assert "<b>" not in written[0] + written[3]
    return folder / "site"


def test_the_index_leads_to_every_viewer(browser, site):
    """Catches dead links, titles that are markup, and a page that needs a server."""
    with visit(browser, site / "index.html") as seen:
        page = seen.page
        expect(page.locator("h1")).to_have_text("<i>Forests</i>")
        assert page.inner_text(".about").startswith("A small model guesses, a large model checks")
        assert page.locator(".cards h3").all_inner_texts() == ["Toy fox", "<b>&'Nasty'"]
        assert page.evaluate("() => [...document.images].every((one) => one.complete && one.naturalWidth > 200)")
        page.click("text=Toy fox")
        (frame,) = seen.drawn()
        step_is(frame, 0)
        with page.expect_download() as download:
            page.click("text=Download the trace")
        assert Trace.load(download.value.path()) == TRACE
        page.click("text=All decodes and lessons")
        page.wait_for_selector(".cards")
        seen.quiet()


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["", 'sandbox="allow-scripts"'])
def test_a_served_page_in_a_frame_is_the_viewer_alone(browser, site, sandbox):
    """Catches links and titles inside an embedded frame, and a policy that a sandboxed frame cannot meet."""
    frame = f"<iframe {sandbox} src='forests/1-toy-fox.html' width=1000 height=800></iframe>"
    (site / "host.html").write_text(f"<!doctype html><link rel=icon href='data:,'>{frame}")
    with served(site) as address, visit(browser, address + "host.html") as seen:
        (frame,) = seen.drawn()
        assert not frame.is_visible(".around")
        assert [url for url in seen.outside if not url.startswith(address)] == []
        assert seen.errors == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "scheme", "share"), [(1280, 800, "light", 0.2), (390, 844, "dark", 0.57)])
def test_the_forest_of_the_article_changes_as_one_scrolls(browser, site, width, height, scheme, share):
    """Catches a card that shows another place or covers the forest, and a page that scrolls sideways."""
    viewport = {"width": width, "height": height}
    with visit(browser, site / "article.html", viewport=viewport, color_scheme=scheme) as seen:
        page = seen.page
        page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])", state="attached")
        expect(page.locator(".cut .dsbd-cut-field").first).to_be_attached()
        for at, card in enumerate(card for card in ARTICLE.cards if "lab" not in card.blocks):
            page.evaluate(SCROLL, [at, share])
            has_lanes = "lanes" in card.blocks
            expect(page.locator(".dsbd-lanes")).to_be_visible(visible=has_lanes)
            expect(page.locator(".dsbd-scroller")).to_be_visible(visible=not has_lanes)
            if card.position:
                place = re.compile(f"^Forest of pass {card.position.it + 1}: ")
                expect(page.locator(".dsbd-forest")).to_have_attribute("aria-label", place)
            drawn = page.locator(".dsbd-lanes" if has_lanes else ".dsbd-scroller")
            expect(drawn).to_be_in_viewport(ratio=0.45 if has_lanes else 0.95)  # one of two lanes may be clipped
            assert page.evaluate(COVERED) == []
            expect(page.locator("main article").nth(at).locator(".text").first).to_be_in_viewport(ratio=1)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        seen.quiet()  # axe-core asks for the style sheet itself, which the page forbids
        assert serious(page) == []
        page.click("text=All decodes and lessons")
        expect(page.locator(".first a")).to_have_text(ARTICLE.title)


@pytest.mark.slow
def test_an_article_on_paper_and_without_scripts_shows_text_and_pictures(browser, site):
    for context in ({"java_script_enabled": False}, {"reduced_motion": "reduce"}):
        with visit(browser, site / "article.html", **context) as seen:
            page = seen.page
            if "reduced_motion" in context:
                page.wait_for_selector("html.live .dsbd-lanes")
                page.emulate_media(media="print")
            lanes = sum("lanes" in card.blocks for card in ARTICLE.cards)
            assert page.locator("article h2:visible").count() == len(ARTICLE.cards)
            assert page.locator("article .lanes:visible").count() == lanes
            assert page.locator("article .still:visible").count() >= 5
            expect(page.locator(".forest")).to_be_hidden()
            expect(page.locator(".lab-instead")).to_be_visible()


@pytest.mark.slow
def test_several_viewers_share_a_page(browser, tmp_path):
    """Catches viewers that overwrite each other's place in the address, and hostile tokens that run."""
    visualize.export_html([TRACE, nasty_trace(), TRACE], tmp_path / "several.html")
    with visit(browser, tmp_path / "several.html", "#iteration=2&step=3") as seen:
        (frame,) = seen.drawn()
        frame.wait_for_function("() => document.querySelectorAll('.dsbd-forest').length === 3")
        frame.evaluate("() => document.querySelectorAll('.dsbd')[1].focus()")
        seen.page.keyboard.press("End")
        ends = [f"{step} of {STEPS[0]}" for step in (1, STEPS[0], 1)]
        assert frame.locator(".dsbd-count-step").all_inner_texts() == ends
        assert seen.page.url.endswith("#iteration=2&step=3")
        assert hostile_marks(frame) == 0
        seen.quiet()


@pytest.mark.slow
def test_the_page_around_a_frame_shows_and_steps_the_viewer(browser, exported):
    """Catches a drawing of no width on a slide that was hidden when it loaded, a slide that cannot step or gets the
    wrong place, and messages that are taken from another sender."""
    exported.with_name("host.html").write_text(HOST, encoding="utf-8")
    with visit(browser, exported.with_name("host.html")) as seen:
        page, steps = seen.page, STEPS[0]
        page.wait_for_timeout(500)
        page.evaluate("() => { document.getElementById('slide').style.display = 'block'; }")
        (viewer,) = seen.drawn()
        page.wait_for_timeout(200)
        assert viewer.evaluate("() => document.querySelector('.dsbd-forest').getBoundingClientRect().width") > 400

        def after(*message) -> dict:
            asked = dict(zip(("dsbd", "it", "step"), message, strict=False))
            page.evaluate("message => { told.length = 0; say(message); }", asked)
            page.wait_for_function("() => told.length > 0")
            return page.evaluate("() => told[told.length - 1]")

        begin = {"dsbd": "place", "it": 0, "step": 0, "iterations": len(STEPS), "first": True, "last": False}
        assert after("hello") == begin
        assert after("next") == {**begin, "step": 1, "first": False}
        assert after("goto", 0, steps - 1)["step"] == steps - 1
        assert after("next")["it"] == 1
        assert after("previous") == {**begin, "step": steps - 1, "first": False}
        assert [after(asked)["last"] for asked in ("last", "next")] == [True, True]
        assert [after(asked) for asked in ("first", "previous")] == [begin, begin]
        for junk in ({"dsbd": "goto", "it": "<b>", "step": -4}, {"dsbd": "eval"}, {"dsbd": 3}, "dsbd", None, 7):
            page.evaluate("message => say(message)", junk)
        page.evaluate(STRANGER)
        page.wait_for_timeout(200)
        step_is(viewer, 0)
        seen.quiet()


def framed(kind: str, snippet: str) -> str:
    """Return what the place of a snippet makes of it."""
    if kind == "myst":
        address = re.match(r":::\{iframe\} (\S+)\n:width: 100%\n", snippet)[1]
        return f'<iframe src="{html.escape(address)}" width="100%" height="700"></iframe>'
    if kind == "jupyter":
        made: dict = {}
        exec(snippet.split("\n", 1)[1].replace("IFrame(", "made.update(src="), {"made": made})
        return f'<iframe src="{html.escape(made["src"])}" width="{made["width"]}" height="{made["height"]}"></iframe>'
    return re.fullmatch(r"(?:```\{=html\}\n)?(.*?)\n(?:```\n)?", snippet, re.S)[1]


@pytest.mark.slow
def test_a_snippet_opens_in_its_place(browser, exported):
    """Catches a snippet that its place cannot read, or that opens elsewhere than asked."""
    kinds = ("iframe", "jupyter", "myst", "quarto", "moodle", "wordpress")
    how = {"iteration": 1, "step": 2, "title": 'A "forest" <b>'}
    frames = [framed(kind, visualize.embed_snippet("viewer.html", kind, **how)) for kind in kinds]
    assert max(map(len, frames)) < 400
    page = exported.with_name("all.html")
    page.write_text(f"<!doctype html><meta charset='utf-8'>{' '.join(frames)}".replace("lazy", "eager"))
    with visit(browser, page) as seen:
        for frame in seen.drawn(len(kinds)):
            step_is(frame, 2, it=1)
        seen.quiet()


@pytest.mark.slow
def test_the_slides_of_reveal_step_the_viewer(browser, exported):
    """Catches a viewer that does not follow the presenter, or loses its place when the slide was hidden."""
    page = exported.with_name("deck.html")
    slides = visualize.embed_snippet("viewer.html", "reveal", iteration=0, step=3, steps=4)
    assert slides.count('<span class="fragment dsbd-step"></span>') == 4
    page.write_text(DECK.format(slides=slides), encoding="utf-8")
    with visit(browser, page) as seen:
        (frame,) = seen.drawn()
        told = "step => new URLSearchParams(location.hash.slice(1)).get('step') === String(step + 1)"
        frame.wait_for_function(told, arg=3)  # a bare viewer shows no count
        for by, step in ((1, 4), (1, 5), (1, 6), (-1, 5)):
            seen.page.evaluate("by => press(by)", by)
            frame.wait_for_function(told, arg=step)
        frame.evaluate("() => location.reload()")
        seen.page.wait_for_timeout(200)
        (frame,) = seen.drawn()
        frame.wait_for_function(told, arg=5)
        seen.quiet()


@pytest.mark.slow
def test_every_figure_and_viewer_is_seen_in_a_notebook_that_was_executed_and_saved(browser, tmp_path):
    """Catches a figure that vanishes without the network, Plotly's script, 5 MB, in more than one cell, viewers that
    need a kernel, hostile tokens that run, and a code host that strips frames and shows nothing."""
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
    opening = f"""import json, sys; sys.path.insert(0, {str(ROOT)!r}); import visualize
read = lambda file: json.load(open(file))"""
    cells = [nbformat.v4.new_code_cell(code) for code in (opening, *calls, *SHOWN)]
    notebook, resources = nbformat.v4.new_notebook(cells=cells), {"metadata": {"path": str(tmp_path)}}
    nbconvert.preprocessors.ExecutePreprocessor(timeout=120).preprocess(notebook, resources)
    outputs = [output.data for cell in notebook.cells[1 : 1 + len(calls)] for output in cell.outputs]
    assert sum("plotly.js v" in output.get("text/html", "")[:20_000] for output in outputs) == 1
    assert len(nbformat.writes(notebook)) < 14_000_000
    viewers = [cell.outputs[0].data["text/html"] for cell in notebook.cells[1 + len(calls) :]]
    exporter = nbconvert.HTMLExporter(require_js_url="", mathjax_url="", jquery_url="", mermaid_js_url="")
    page = tmp_path / "notebook.html"
    page.write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    with visit(browser, page) as seen:
        drawn = seen.page.locator(".svg-container, .jp-RenderedSVG > *")
        expect(drawn).to_have_count(len(names))
        assert drawn.evaluate_all("all => all.filter((one) => one.getBoundingClientRect().height < 100)") == []
        frames = seen.drawn(3)
        assert [hostile_marks(frame) for frame in frames] == [0, 0, 0]
        step_is(frames[1], STEPS[2] - 1, it=2)
        frames[0].focus(".dsbd")
        seen.page.keyboard.press("Home")
        step_is(frames[0], 0)
        seen.quiet()
    stripped = re.sub(r'<iframe.*?</iframe>| style="[^"]*"', "", viewers[1], flags=re.S)
    page.write_text(f"<!doctype html><meta charset='utf-8'>{stripped}", encoding="utf-8")
    with visit(browser, page) as seen:
        assert seen.page.evaluate("() => document.querySelector('img').naturalWidth") > 300
        assert "forest" in seen.page.get_attribute("img", "alt")
        seen.quiet()
