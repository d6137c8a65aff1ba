"""Pages: alone, as a site, an article, lessons with slides and a lab, in notebooks, books and decks; what they contain,
the errors that help a teacher, and journeys in a browser."""

import html
import json
import re
import shutil
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import expect

import visualize
from dsbd.tracing.audit import verify_trace
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path
from tests.axe import serious
from tests.command_line import refused
from tests.visualize.traces import NASTY, nasty_trace, toy_trace
from tests.visualize.visits import hostile_marks, served, visit
from visualize.forest import steps_of
from visualize.pages.lesson import place_in, read_lesson
from visualize.pages.lesson_page import stops_of
from visualize.pages.live import live_element
from visualize.pages.site import html_page

TRACE = toy_trace()
STEPS = [len(steps_of(iteration, TRACE.settings)) for iteration in TRACE.iterations]
ROOT = Path(__file__).parents[2]
PAGES = Path(__file__).with_name("pages")
"""A page around frames, a deck that sends the events of reveal.js, and a lesson with hostile texts."""
ARTICLE = read_lesson(asset_path("article/article.md"))
ARTICLE_TRACE = Trace.load(ARTICLE.trace)
ARGUMENTS = {"decode": "'trace.json.gz'", "width": "'trace.json.gz'", "forest": "'trace.json.gz', 1",
             "pareto": "read('table.json')"}  # fmt: skip
"""Of each public figure, in a notebook beside these files."""
VIEWERS = ("'trace.json.gz'", "'nasty.json.gz', iteration=2", "'trace.json.gz', height=500")
"""Arguments of the viewers in that notebook."""
STRANGER = """() => {
  const other = document.getElementById("b").contentWindow.document, script = other.createElement("script");
  script.textContent = "parent.frames[0].postMessage({dsbd: 'last'}, '*')";
  other.body.append(script);
}"""
"""A foreign frame beside the viewer tries to step it."""
SCROLL = """([at, share]) => scrollBy(0,
    document.querySelectorAll('main article')[at].getBoundingClientRect().top - share * innerHeight)"""


def step_is(frame, step: int, it: int = 0) -> None:
    """Wait until the viewer in a frame shows a step, from 0."""
    expect(frame.locator(".dsbd-count-step").first).to_have_text(f"{step + 1} of {STEPS[it]}")


def test_the_page_names_nothing_outside():
    """Catches token text that ends its element, and an address that the page would load from."""
    page = html_page(nasty_trace())
    assert len(page) < 160_000
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == page.count("<script")
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", page) == ["data:,"]
    assert re.findall(r"https?://[^\"' )]+", page) == []
    element = live_element([TRACE], "live/", "en", prompt="".join(NASTY))
    assert not re.search("[<>&\u2028\u2029]", data := element.partition('json">')[2].partition("</script>")[0])
    assert json.loads(data)["pairs"][0]["prompt"] == "".join(NASTY)


@pytest.mark.parametrize("policy", ["script-src 'self'", "script-src 'unsafe-inline'"])
def test_a_host_that_forbids_scripts_in_a_page_leaves_a_sentence(browser, tmp_path, policy):
    """Catches a page of which only the title is left there, and a sentence that stays where the viewer runs."""
    meta, forbids = f'<meta http-equiv="Content-Security-Policy" content="{policy}">', "self" in policy
    (tmp_path / "page.html").write_text(html_page(TRACE).replace("<title>", f"{meta}<title>"), encoding="utf-8")
    with visit(browser, tmp_path / "page.html") as visitor:
        sentence = visitor.page.locator(".until", has_text="put it on another host")
        expect(visitor.page.locator(".until")).to_have_count(int(forbids))
        expect(sentence).to_be_visible(visible=forbids)
        expect(visitor.page.locator(".dsbd-forest")).to_have_count(1 - int(forbids))
        expect(visitor.page.locator(".said")).to_have_text(TRACE.prompt.text + TRACE.result.text)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write a site of two traces, one of them with hostile tokens and a hostile file name, and the article."""
    folder = tmp_path_factory.mktemp("traces")
    TRACE.save(folder / "1-toy fox.json.gz")
    (folder / "<b>&'Nasty'.json").write_text(json.dumps(nasty_trace().to_dict()))
    (folder / "notes.txt").write_text("not a trace")
    pages = visualize.export_site(folder, folder / "site", title="<i>Forests</i>", article=ARTICLE.path)
    assert pages == ["index.html", "article.html", "forests/1-toy-fox.html", "forests/b-nasty.html"]
    index, article, toy, nasty = ((folder / "site" / page).read_text(encoding="utf-8") for page in pages)
    assert not re.search(r'(?:src|href)="https?://', index + article + toy + nasty)
    assert "&lt;iframe src=&#34;b-nasty.html&#34; title=&#34;&amp;lt;b&amp;gt;" in nasty
    assert "<b>" not in index + nasty
    return folder / "site"


def test_the_index_leads_to_every_viewer(browser, site):
    """Catches dead links, titles that are markup, and a page that needs a server."""
    with visit(browser, site / "index.html") as visitor:
        page = visitor.page
        expect(page.locator("h1")).to_have_text("<i>Forests</i>")
        assert page.inner_text(".about").startswith("A small model guesses, a large model checks")
        assert page.locator(".cards h3").all_inner_texts() == ["Toy fox", "<b>&'Nasty'"]
        assert page.evaluate("() => [...document.images].every((one) => one.complete && one.naturalWidth > 200)")
        page.click("text=Toy fox")
        (frame,) = visitor.drawn()
        step_is(frame, 0)
        expect(page.locator(".said")).to_have_text(TRACE.prompt.text + TRACE.result.text)
        with page.expect_download() as download:
            page.click("text=Download the trace")
        assert Trace.load(download.value.path()) == TRACE
        page.click("text=All decodes and lessons")
        page.wait_for_selector(".cards")
        visitor.is_quiet()


@pytest.mark.slow
def test_a_site_is_read_without_its_server(browser, site):
    """Catches a site that keeps only the pages that were opened."""
    with ExitStack() as server:
        address = server.enter_context(served(site))
        with visit(browser, f"{address}index.html") as visitor:
            visitor.page.evaluate("() => navigator.serviceWorker.ready")
            server.close()
            for page in ("forests/1-toy-fox.html", "article.html"):
                visitor.page.goto(address + page)
                visitor.drawn()
            visitor.page.click("text=All decodes and lessons")
            expect(visitor.page.locator(".cards h3")).to_have_count(2)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "scheme", "share"), [(1280, 800, "light", 0.2), (390, 844, "dark", 0.57)])
def test_the_forest_of_the_article_changes_as_one_scrolls(browser, site, width, height, scheme, share):
    """Catches a card that shows another place or covers the forest, and a page that scrolls sideways."""
    viewport = {"width": width, "height": height}
    with visit(browser, site / "article.html", viewport=viewport, color_scheme=scheme) as visitor:
        page = visitor.page
        page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])", state="attached")
        expect(page.locator(".cut .dsbd-cut-field").first).to_be_attached()
        for index, card in enumerate(card for card in ARTICLE.cards if "lab" not in card.blocks):
            page.evaluate(SCROLL, [index, share])
            has_lanes = "lanes" in card.blocks
            expect(page.locator(".dsbd-lanes")).to_be_visible(visible=has_lanes)
            expect(page.locator(".dsbd-scroller")).to_be_visible(visible=not has_lanes)
            if card.place:
                label = re.compile(f"^Forest of pass {place_in(ARTICLE_TRACE, card.place)[0] + 1}: ")
                expect(page.locator(".dsbd-forest")).to_have_attribute("aria-label", label)
            drawn = page.locator(".dsbd-lanes" if has_lanes else ".dsbd-scroller")
            expect(drawn).to_be_in_viewport(ratio=0.45 if has_lanes else 0.95)  # one of two lanes may be clipped
            expect(page.locator("main article").nth(index).locator(".text").first).to_be_in_viewport(ratio=1)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        visitor.is_quiet()  # axe-core fetches the style sheet itself, which the page forbids
        assert serious(page) == []
        page.click("text=All decodes and lessons")
        expect(page.locator(".first a")).to_have_text(ARTICLE.title)


@pytest.mark.slow
def test_the_page_around_a_frame_shows_and_steps_the_viewer(browser, exported, lesson):
    """Catches a drawing without width on a slide that was hidden when it loaded, a slide that cannot step or shows the
    wrong step, messages taken from another sender, and a low frame that scrolls."""
    shutil.copy(PAGES / "host.html", exported.parent)
    with visit(browser, exported.with_name("host.html")) as visitor:
        page, steps = visitor.page, STEPS[0]
        page.wait_for_timeout(500)
        page.evaluate("() => { document.getElementById('slide').style.display = 'block'; }")
        (viewer,) = visitor.drawn()
        page.wait_for_timeout(200)
        assert viewer.evaluate("() => document.querySelector('.dsbd-forest').getBoundingClientRect().width") > 400
        page.evaluate("() => { document.getElementById('a').height = 450; }")
        viewer.wait_for_function("() => innerHeight === 450 && document.documentElement.scrollHeight === 450")

        end = (len(STEPS) - 1, STEPS[-1] - 1)
        for name, (it, step) in (
            ("next", (0, 1)), ("goto", (0, steps - 1)), ("next", (1, 0)), ("previous", (0, steps - 1)),
            ("last", end), ("next", end), ("first", (0, 0)), ("previous", (0, 0)),
        ):  # fmt: skip
            page.evaluate("message => say(message)", {"dsbd": name, "it": it, "step": step})
            step_is(viewer, step, it=it)
        for junk in ({"dsbd": "goto", "it": "<b>", "step": -4}, {"dsbd": "eval"}, {"dsbd": 3}, "dsbd", None, 7):
            page.evaluate("message => say(message)", junk)
        page.evaluate(STRANGER)
        page.wait_for_timeout(200)
        step_is(viewer, 0)
        page.evaluate("src => { document.getElementById('a').src = src; }", (lesson / "lesson.html").as_uri())
        page.frame_locator("#a").locator(".lesson.slides").wait_for()
        visitor.is_quiet()


@pytest.mark.parametrize("kind", ["iframe", "jupyter"])
def test_a_snippet_opens_in_its_place(kind):
    """Catches a snippet that opens at another step, and a title that ends its frame."""
    snippet = visualize.embed_snippet("viewer.html", kind, iteration=1, step=2, title='A "forest" <b>')
    assert "viewer.html#iteration=2&step=3" in html.unescape(snippet)
    assert ("<iframe" in snippet) == (' title="A &#34;forest&#34; &lt;b&gt;" width="100%" height="720"' in snippet)


@pytest.mark.slow
def test_the_slides_of_reveal_step_the_viewer(browser, exported):
    """Catches a viewer that does not follow the presenter, or loses its step when the slide was hidden."""
    page = exported.with_name("deck.html")
    slides = visualize.embed_snippet("viewer.html", "reveal", iteration=0, step=3, steps=4)
    assert slides.count('<span class="fragment dsbd-step"></span>') == 4
    page.write_text((PAGES / "deck.html").read_text(encoding="utf-8").replace("SLIDES", slides), encoding="utf-8")
    with visit(browser, page) as visitor:
        (frame,) = visitor.drawn()
        is_at = "step => new URLSearchParams(location.hash.slice(1)).get('step') === String(step + 1)"
        frame.wait_for_function(is_at, arg=3)  # a bare viewer shows no count
        for by, step in ((1, 4), (1, 5), (1, 6), (-1, 5)):
            visitor.page.evaluate("by => press(by)", by)
            frame.wait_for_function(is_at, arg=step)
        frame.evaluate("() => location.reload()")
        visitor.page.wait_for_timeout(200)
        (frame,) = visitor.drawn()
        frame.wait_for_function(is_at, arg=5)
        visitor.is_quiet()


@pytest.mark.slow
def test_every_figure_and_viewer_is_seen_in_a_notebook_that_was_executed_and_saved(browser, tmp_path):
    """Catches a figure that vanishes without the network, Plotly's script, 5 MB, in more than one cell, viewers that
    need a kernel, hostile tokens that run, and a code host that strips frames and then shows nothing."""
    nbformat = pytest.importorskip("nbformat", reason="runs wherever nbconvert is installed")
    nbconvert = pytest.importorskip("nbconvert", reason="runs wherever nbconvert is installed")
    pytest.importorskip("ipykernel", reason="runs wherever a kernel is installed")
    TRACE.save(tmp_path / "trace.json.gz")
    nasty_trace().save(tmp_path / "nasty.json.gz")
    shutil.copy(ROOT / "benchmarks/results/sql-table.json", tmp_path / "table.json")
    names = [name for name in dir(visualize) if name.endswith("_figure")]
    calls = [f"visualize.{name}({ARGUMENTS[name.removesuffix('_figure')]})" for name in names]
    opening = f"""import json, sys; sys.path.insert(0, {str(ROOT)!r}); import visualize
read = lambda file: json.load(open(file))"""
    codes = (opening, *calls, *(f"visualize.show({arguments})" for arguments in VIEWERS))
    cells = [nbformat.v4.new_code_cell(code) for code in codes]
    notebook, resources = nbformat.v4.new_notebook(cells=cells), {"metadata": {"path": str(tmp_path)}}
    nbconvert.preprocessors.ExecutePreprocessor(timeout=120).preprocess(notebook, resources)
    outputs = [output.data for cell in notebook.cells[1 : 1 + len(calls)] for output in cell.outputs]
    assert sum("plotly.js v" in output.get("text/html", "")[:20_000] for output in outputs) == 1
    assert len(nbformat.writes(notebook)) < 14_000_000
    viewers = [cell.outputs[0].data["text/html"] for cell in notebook.cells[1 + len(calls) :]]
    exporter = nbconvert.HTMLExporter(require_js_url="", mathjax_url="", jquery_url="", mermaid_js_url="")
    page = tmp_path / "notebook.html"
    page.write_text(exporter.from_notebook_node(notebook)[0], encoding="utf-8")
    with visit(browser, page) as visitor:
        figures = visitor.page.locator(".svg-container, .jp-RenderedSVG > *")
        expect(figures).to_have_count(len(names))
        assert figures.evaluate_all("all => all.filter((one) => one.getBoundingClientRect().height < 100)") == []
        frames = visitor.drawn(3)
        assert [hostile_marks(frame) for frame in frames] == [0, 0, 0]
        step_is(frames[1], STEPS[2] - 1, it=2)
        frames[0].focus(".dsbd")
        visitor.page.keyboard.press("Home")
        step_is(frames[0], 0)
        visitor.is_quiet()
    stripped = re.sub(r'<iframe.*?</iframe>| style="[^"]*"', "", viewers[1], flags=re.S)
    page.write_text(f"<!doctype html><meta charset='utf-8'>{stripped}", encoding="utf-8")
    with visit(browser, page) as visitor:
        assert visitor.page.evaluate("() => document.querySelector('img').naturalWidth") > 300
        assert "forest" in visitor.page.get_attribute("img", "alt")
        visitor.is_quiet()


SHIPPED = sorted(asset_path("lessons").glob("*.md"))
TRIED = TRACE.iterations[0].trials[0].node
_, VERDICT = place_in(TRACE, f"iteration=1 layer=1 node={TRIED}")
LAST = len(steps_of(TRACE.iterations[0], TRACE.settings)) - 1
HEAD = "---\ntitle: T\ntrace: t.json\n---\n"
SCREEN = {"width": 1280, "height": 720}
LEAST = 19.9  # pixels of the smallest text on a slide
SMALL = """least => [...document.querySelectorAll(".lesson *")].filter((one) => !one.closest("svg, .dsbd-scroller")
  && one.checkVisibility({visibilityProperty: true})
  && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())).flatMap((one) => {
    let zoom = 1;
    for (let at = one; at; at = at.parentElement) zoom *= Number(getComputedStyle(at).zoom);
    const size = zoom * parseFloat(getComputedStyle(one).fontSize);
    return size < least ? [`${size} ${one.textContent}`] : [];
  })"""
CUT_OFF = """() => [...document.querySelectorAll(".cards")].filter((one) =>
  one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth).length"""
LABELS = """() => [...document.querySelectorAll(".forest .dsbd")].filter((one) => one.checkVisibility())
  .map((one) => 12.5 * one.currentCSSZoom)"""
"""Pixels of the labels of a visible forest."""
CARD = "article:not([hidden])"


@pytest.fixture(scope="module")
def lesson(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("lesson")
    (folder / "t.json").write_text(json.dumps(nasty_trace().to_dict()))
    lesson = (PAGES / "lesson.md").read_text(encoding="utf-8").replace("TRIED", str(TRIED))
    (folder / "lesson.md").write_text(lesson, encoding="utf-8")
    visualize.export_lesson(folder / "lesson.md", folder / "lesson.html")
    return folder


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# T", "line 1: a lesson opens with ---"),
        ("---\ntitle: T\n", "line 1: the opening --- is never closed"),
        ("---\ntitle: T\n---\n## A", "line 3: no trace before this line"),
        ("---\nauthor: me\n---\n", "line 2: 'author: me'; write title:, trace:"),
        (HEAD + "Text only.", "no cards; start each with"),
        (HEAD + "## {iteration=1}", "line 5: '## {iteration=1}'; write ## Title"),
        (HEAD + "## A {at=3}", "line 5: 'at=3' is no place"),
        (HEAD + "## A {iteration=x}", "line 5: iteration is 'x'; write a whole number"),
        (HEAD + "## A\n\n- [x] one", "line 7: a question has two options or more"),
        (HEAD + "## A\n- [x] one\n- [ ] two\n\nMore text.", "line 9: after the options write only the explanation"),
        (HEAD + "## A {iteration=1 step=1000}", "line 5: step=1000: iteration 1 has steps from 1 to"),
        (HEAD + "## A {iteration=1 node=999}", "iteration=1 node=999: iteration 1 has no such step; it tries"),
        (HEAD + "## A\n```lab\nnone.json\n```", "tables 'none.json': No such file"),
        (HEAD + "## A\n```lab\ntables.json\n```", "tables 'tables.json': draft after '0' is no distribution"),
        (HEAD + "## A\n```lab\nt.json\n```", "tables 't.json': write words"),
        (HEAD + "## A\n```cut iteration=1 layer=9\n```", "line 5: iteration=1 layer=9: iteration 1 has no"),
        (HEAD + "## A\n![p](../../secret.svg)", "card of line 5: picture '../../secret.svg': name a .svg"),
        (HEAD + "## A\n![p](https://example.org/a.png)", "picture 'https://example.org/a.png'"),
        ("---\ntitle: T\ntrace: none.json\n---\n## A", "trace: cannot read trace"),
    ],
)
def test_errors_name_file_line_and_remedy(text, message, tmp_path, capsys):
    """Catches a traceback, and an error that leaves a teacher searching."""
    TRACE.save(tmp_path / "t.json")
    tables = json.loads((asset_path("lessons") / "three-words.json").read_text(encoding="utf-8"))
    (tmp_path / "tables.json").write_text(json.dumps(tables | {"draft": {"": [0.5, 0.5, 0.0]}}), "utf-8-sig")
    (tmp_path / "bad.md").write_text(text, encoding="utf-8")
    error = refused(capsys, "lesson", str(tmp_path / "bad.md"), "--output", str(tmp_path / "out.html"))
    assert "bad.md" in error
    assert message in error


def test_an_article_asks_nothing(tmp_path, capsys):
    TRACE.save(tmp_path / "t.json")
    (tmp_path / "asks.md").write_text(f"{HEAD}## A\n\n- [x] one\n- [ ] two\n")
    flags = ["--traces", str(tmp_path), "--article", str(tmp_path / "asks.md"), "--output", str(tmp_path / "site")]
    assert "asks.md, line 5: an article asks nothing" in refused(capsys, "site", *flags)


@pytest.mark.slow
def test_the_verdict_is_hidden_until_answered_and_from_no_teacher(browser, lesson):
    """Catches a verdict that is visible, a student who steps past a question, and markup that runs."""
    with visit(browser, lesson / "lesson.html") as visitor:
        page, (frame,) = visitor.page, visitor.drawn()

        def pressed(key) -> int:
            page.focus(".dsbd")
            visitor.press(key)
            return visitor.step

        expect(page.locator("h1")).to_have_text('Hostile <b>title</b> & "quotes"')
        expect(page.locator(".count")).to_have_text("Card 1 of 4")
        page.click("button.next")
        spoilers = (".answer", ".dsbd-more", ".dsbd-whole", ".dsbd-legend")  # later marks would give the verdict away
        assert [part for part in spoilers if page.is_visible(part)] == []
        assert {visitor.step, *map(pressed, ("ArrowRight", "End", "PageDown"))} == {VERDICT - 1}
        assert page.inner_text(".locked")
        assert pressed("ArrowLeft") == VERDICT - 2
        page.click("article:not([hidden]) .options button >> nth=0")
        assert visitor.step == VERDICT
        assert page.is_visible(".dsbd-more")
        expect(page.locator("article:not([hidden]) .verdict")).to_have_text("No.")
        assert page.inner_text("article:not([hidden]) .answer").endswith("Because so.")
        assert pressed("End") == LAST
        page.click("button.next")
        page.click("button.next")
        assert page.is_disabled("button.next")
        assert page.url.endswith("#card=4")
        assert hostile_marks(frame) == page.locator(".cards script, .cards a, .cards img[src=x]").count() == 0
        page.goto(f"{(lesson / 'lesson.html').as_uri()}#card=2&teacher=1")
        page.reload()
        visitor.drawn()
        assert [visitor.step, pressed("End")] == [VERDICT, LAST]
        visitor.is_quiet()


@pytest.mark.parametrize(
    ("fragment", "context", "counts"),
    [("", {}, [4, 2, 0, 0, 1, 0]), ("#teacher=1", {}, [4, 3, 2, 0, 1, 0]),
     ("", {"java_script_enabled": False}, [4, 2, 0])],
    ids=["printed", "printed for the teacher", "without scripts"],
)  # fmt: skip
@pytest.mark.slow
def test_every_card_is_shown_and_no_answer_but_for_the_teacher(browser, lesson, fragment, context, counts):
    with visit(browser, lesson / "lesson.html", fragment, **context) as visitor:
        if not context:
            visitor.drawn()
            visitor.page.emulate_media(media="print")
            assert visitor.page.evaluate(
                "[...document.querySelectorAll('.still')].every((one) => one.naturalWidth > 100)"
            )
        parts = ("article", ".still", ".answer", ".forest", ".blanks", "nav")
        assert [visitor.page.locator(f"{part}:visible").count() for part in parts][: len(counts)] == counts
        visitor.is_quiet()


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_lessons_lead_where_they_say(path):
    """Catches a lesson whose places are not in its trace any more, and a trace that fails the audit."""
    lesson = read_lesson(path)
    trace = Trace.load(lesson.trace)
    assert verify_trace(trace).passed
    stops_of(lesson, trace)
    assert any(card.options for card in lesson.cards)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """Write every shipped lesson."""
    folder = tmp_path_factory.mktemp("shipped")
    for path in SHIPPED:
        visualize.export_lesson(path, folder / f"{path.stem}.html")
    return folder


@pytest.mark.parametrize("name", [path.stem for path in SHIPPED])
@pytest.mark.slow
def test_every_slide_fits_and_can_be_read(name, browser, shipped):
    """Catches a card that is cut off or too small at the lower end of projectors, and a forest without its bars."""
    with visit(browser, shipped / f"{name}.html", "#slides", viewport=SCREEN) as visitor:
        page = visitor.page
        page.wait_for_selector(".lesson.slides")
        labels: list[float] = []
        count = page.locator("article").count()
        for number in range(1, count + 1):
            expect(page.locator(".count")).to_have_text(f"Card {number} of {count}")
            labels += page.evaluate(LABELS)
            assert page.evaluate(SMALL, LEAST) == []
            assert page.evaluate(CUT_OFF) == 0
            if not name.startswith("7"):  # else widths in rows replace the columns with bars
                assert page.locator(".dsbd-widths:visible").count() == 0
            if page.locator(f"{CARD} .options").count():
                assert page.locator(f"{CARD} .answer").is_hidden()
                page.keyboard.press("PageDown")
                assert page.locator(f"{CARD} .answer").is_visible()
                assert page.evaluate(CUT_OFF) == 0
            page.keyboard.press("PageDown")
        expect(page.locator(".count")).to_have_text(f"Card {count} of {count}")
        assert median(labels) > 18 or name.startswith("7"), "a forest that is a strip below large text"
        visitor.is_quiet()


@pytest.mark.slow
def test_the_button_decodes_in_the_browser(browser, tmp_path):
    """Catches a lab that does not start from a file, hides its verdict, or prints itself and not the recorded chart."""
    visualize.export_lesson(asset_path("lessons") / "5-lossless.md", tmp_path / "lesson.html")
    with visit(browser, tmp_path / "lesson.html", viewport={"width": 390, "height": 844}) as visitor:
        page = visitor.page
        page.wait_for_selector("html.live .lab-run", state="attached")
        page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])")
        while not page.is_visible(".lab-run"):
            page.click("button.next")
        assert not page.is_visible(".forest")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        sentence = page.locator(".lab-said")
        for decoder, words in (("dsbd", "fit the exact distribution"), ("accept_all", "do not come from")):
            page.select_option(".lab-settings select >> nth=0", decoder)
            page.focus(".lab-run")
            page.keyboard.press("Enter")
            expect(sentence).to_contain_text("5,000 decodes: chi-square")
            expect(sentence).to_contain_text(words)
        expect(page.locator(".lab-line")).to_have_count(2)
        page.fill(".lab-settings input", "1")
        page.keyboard.press("Tab")
        expect(sentence).to_be_empty()
        page.emulate_media(media="print")
        assert not page.is_visible(".lab")
        assert page.is_visible(".lab-instead img")
        visitor.is_quiet()
