"""What a visitor of the page does, in a browser; one promise each."""

import gzip
import json
import re

import httpx
import pytest
from playwright.sync_api import expect

from dsbd.cli import main
from tests.axe import serious
from tests.page.conftest import wait_until
from tests.watched import Watched, settle

pytestmark = pytest.mark.slow

PATIENCE = 90_000
HERE = re.compile(r"(http://127\.0\.0\.1:|data:|blob:)")
SHIFT = """() => new Promise((done) => {
    new PerformanceObserver((list) => done(list.getEntries().reduce((sum, {value}) => sum + value, 0)))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => done(0), 500);
})"""
TABS = ("Play", "Race", "Learn", "About")


class Visit(Watched):
    """One visitor's page."""

    def __init__(
        self, browser, address: str, scheme: str = "light", waits_for: str = "#forest .dsbd-node", pair: str = "Stories"
    ) -> None:
        context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 800})
        super().__init__(context.new_page())
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(address)
        self.page.wait_for_selector(waits_for)
        if pair and waits_for != "#run" and "?" not in address:
            self.page.get_by_label(pair, exact=True).check(force=True)
            self.says(".headline", "22 passes")
            expect(self.page.locator("#prompt textarea")).to_have_value(re.compile("fox"))

    def settings(self, is_open: bool) -> None:
        if (self.page.get_attribute(".settings-switch", "aria-expanded") == "true") != is_open:
            self.page.click(".settings-switch" if is_open else ".settings-close")

    def set_field(self, name: str, value: str) -> None:
        self.settings(True)
        self.page.fill(f"#field-{name} input[type=number]", value)
        self.page.keyboard.press("Tab")
        self.settings(False)

    def run(self, prompt: str = "Once upon a time") -> None:
        self.page.fill("#prompt textarea", prompt)
        self.page.click("#run")

    def says(self, where: str, pattern: str) -> str:
        matches = self.page.locator(where).filter(has_text=re.compile(pattern))
        matches.first.wait_for()
        return matches.first.inner_text()

    def decoded(self) -> None:
        """Wait for the end of a run, and until all of it is shown."""
        self.says("#note", "Decoded just now")
        expect(self.page.locator(".is-older")).to_have_count(0)  # the note may come before the passes
        expect(self.page.locator(".text-edge, .text-caret")).to_have_count(0)

    def share(self, what: str) -> None:
        """Choose an entry of the menu Share."""
        if not self.page.evaluate("document.querySelector('#share').open"):
            self.page.click("#share > summary")
        self.page.click(f"[data-do={what}]")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()

    def text(self) -> str:
        return self.page.inner_text(".running-line")


@pytest.fixture
def visits(browser, address, bundled):
    """Make visits. In none there is an error, and nothing is asked of another machine."""
    opened: list[Visit] = []

    def visit(where: str = "", base: str = address, **how) -> Visit:
        opened.append(Visit(browser, base + where, **how))
        return opened[-1]

    yield visit
    bundled.pace = 0.0
    for one in opened:
        one.stop()
        one.page.context.close()
    wait_until(lambda: bundled.running()[0] == 0)
    assert [one.errors for one in opened if one.errors] == []
    assert [url for one in opened for url in one.urls if not HERE.match(url)] == []


@pytest.fixture
def visit(visits) -> Visit:
    return visits()


def test_the_page_opens_with_what_pays(visits):
    """A visitor sees a question answered in fewer passes, its rows, and the exact sentence; a run measures the gain."""
    visit = visits(pair="")
    page = visit.page
    assert page.input_value("#prompt textarea") == "Show the young members who joined between 2010 and 2014."
    headline = visit.says(".headline", r"^2 passes instead of 17(: about ([0-9.]+ × )?as fast)?$")
    visit.says(".same", r"^Alone, the large model writes the same text, token for token\.")
    raced = "on average over 16 prompts raced: [0-9.]+ to [0-9.]+ × as fast$"
    visit.says(".measured", f"^{'Calculated for this answer; o' if 'about' in headline else 'O'}{raced[1:]}")
    assert visit.text().startswith("SELECT name, city FROM members WHERE joined BETWEEN 2010 AND 2014")
    assert page.locator(".answer-rows :is(th, td)").all_inner_texts()[:4] == ["name", "city", "Adam Rossi", "Rome"]
    sums = page.locator(".dsbd-lane-sum").all_text_contents()
    assert ["ms" in one for one in sums] == 2 * ["about" in headline]
    assert page.locator(".dsbd-node:not([hidden])").count() >= 20, "the forest of the first screen is one"
    assert page.locator(".dsbd-state").inner_text() == "dropped guess"
    assert page.locator(".in-pass").all_inner_texts()[0].strip() == "2010", "the words of the pass that is shown"
    legend = page.locator(".dsbd-below").bounding_box()
    assert legend["y"] + legend["height"] <= 800, "the first screen is whole"
    assert page.evaluate(SHIFT) <= 0.02, "what was read moved while the page loaded"
    page.click("#run")
    visit.decoded()
    expect(page.locator(".headline")).to_contain_text(headline.partition(":")[0])
    assert page.evaluate(SHIFT) <= 0.02, "what was read moved during the run"
    page.click("[data-do=explain]")
    visit.says(".kept-words", "that of beam sampling with 4 beams and this seed")
    visit.says(".costs", "The lanes count with what passes cost|was not measured here, so the lanes count passes")
    assert page.locator(".pays circle").count() == 3 + ("about" in headline), "the recorded races, and this decode"
    expect(page.locator("[data-do=why]")).to_be_hidden()
    visit.settings(True)
    page.select_option("#shown", label="SQL speculative sampling")
    visit.settings(False)
    page.click("[data-do=why]")
    page.wait_for_selector(".dsbd-cut")
    visit.settings(True)
    page.get_by_label("Exact: ", exact=False).check()
    visit.settings(False)
    page.fill("#prompt textarea", "Which authors wrote more than two books?")
    page.click("#run")
    visit.decoded()
    visit.says(".headline", r"^[0-9]+ pass(es)? instead of [0-9]+")
    visit.says(".measured", "^(Measured: .* (as fast|the time)|This machine is busy: not measured)$")
    visit.says(".same", "^Alone, the large model writes the same (text, token|query, which)")
    assert "Perplexity" not in visit.says(".compared", "with the large model alone")
    visit.settings(True)
    page.get_by_label("Method").click()
    page.get_by_role("option", name="One text: Sampling", exact=True).click()
    expect(page.locator("#preset input:checked")).to_have_count(0)
    page.get_by_label("Dynamic: narrower", exact=False).check()
    page.click("[data-do=run]")
    visit.says(".same", "Each token by the large model; a narrower search where it is sure")
    visit.settings(False)
    page.fill("#prompt textarea", "What is the capital of France?")
    page.click("#run")
    visit.says("#note", "This pair knows a library only.* Decoded just now")


def test_a_changed_word_and_a_text_that_is_expected(visits):
    """Catches a claim of another text, marks elsewhere, and a box that one of both ways to run does not read."""
    visit = visits(pair="")
    for year, words in ((2012, "passes instead of 10"), (2014, "8 of 9 tokens stand, 1 was written anew")):
        visit.run(f"How many members joined after {year}?")
        visit.decoded()
        visit.says(".claim", words)
    assert visit.page.locator(".mark:not(.mark-stands)").all_inner_texts()[0] == " 2014"
    visit.settings(True)
    visit.page.get_by_label("I expect this text").fill(visit.text().strip(" ∎"))
    visit.settings(False)
    visit.page.click("#run")
    visit.says(".same", "Guessed from the text that you expect, too: all 9 tokens stand; they are marked")
    visit.share("live")
    visit.says(".live-note", "Decoded in this browser")
    assert visit.page.evaluate("DsbdPage.shownTrace().guess.length") == 2


def test_a_run_and_what_is_wrong_with_a_setting(visit):
    """A visitor sees text and forest of the run, or one sentence; the prompt is no markup."""
    for name, value, words in (("seed", "", "Seed is empty"), ("max_new_tokens", "2.5", r"max_new_tokens is 2\.5")):
        visit.set_field(name, value)
        visit.run()
        problem = visit.says("#problem [role=alert]", words)
        assert "/" not in problem
        expect(visit.page.locator("#run")).to_be_visible()
        expect(visit.page.locator(".toast-body:visible")).to_have_count(0)
        visit.set_field(name, "5")
    visit.set_field("max_new_tokens", "12")
    visit.run("<b>Once</b> ${x} {{y}}")
    visit.decoded()
    expect(visit.page.locator("#problem [role=alert]")).to_have_count(0)
    assert visit.text().startswith("<b>Once</b> ${x} {{y}}")
    expect(visit.page.locator(".running-line b")).to_have_count(0)
    text = visit.text()[: len("<b>Once</b> ${x} {{y}}") + 1]
    visit.page.click("[data-do=further]")
    wait_until(lambda: visit.page.input_value("#prompt textarea").startswith(text))
    visit.decoded()


def test_a_pair_without_a_recorded_decode(visits, toy_page):
    """Catches a page of a host's own models that does not open, and a run that finds no viewer."""
    visit = visits(base=toy_page, waits_for="#run")
    assert visit.page.locator("#forest .dsbd-node").count() == 0
    visit.set_field("max_new_tokens", "8")
    visit.run()
    visit.decoded()
    expect(visit.page.locator("#forest .dsbd-node:not([hidden])")).not_to_have_count(0)
    visit.tab("Race")
    visit.says("#race-note", "Nothing has run yet")


def test_stop_keeps_what_is_there(visits, bundled, monkeypatch):
    """And Stop of one who waits ends nothing but the waiting."""
    monkeypatch.setattr(bundled.turns, "most", 1)
    visit, second = visits(), visits()
    second.run("")
    second.says("#problem [role=alert]", "Prompt is blank")
    bundled.pace = 0.2
    visit.run()
    visit.says("#note", r"pass [2-9]")
    second.run()
    second.says("#note", "Waiting for a run of another visitor")
    expect(second.page.locator("#problem [role=alert]")).to_have_count(0)
    second.page.click("#stop")
    second.says("#note", "Stopped")
    expect(second.page.locator("#run")).to_be_visible()
    visit.page.click("#stop")
    visit.says("#note", r"Stopped\. What was recorded stays")
    expect(visit.page.locator("#run")).to_be_visible()
    expect(visit.page.locator("#stop")).to_be_hidden()
    wait_until(lambda: bundled.running()[0] == 0)
    assert len(visit.text()) > len("Once upon a time")
    expect(visit.page.locator("#shown option").first).to_contain_text("Stopped run 1: DSBD")
    expect(visit.page.locator(".text-caret")).to_have_count(0)
    bundled.pace = 0.0
    visit.run("The dog")
    visit.decoded()
    assert visit.text().startswith("The dog")
    assert visit.page.locator("#shown option").all_inner_texts()[0].startswith("Your run 2: DSBD, “The dog”")


def test_another_decode_looked_at_during_a_run(visit, bundled):
    """Catches a run that is lost when its visitor looks at another decode meanwhile."""
    bundled.pace = 0.2
    visit.run()
    visit.says("#note", r"pass [2-9]")
    visit.settings(True)
    visit.page.select_option("#shown", label="Beam sampling")
    visit.says(".headline", "64 passes of the large model")
    bundled.pace = 0.0
    visit.decoded()
    visit.says(".headline", "64 passes of the large model")
    visit.page.select_option("#shown", index=0)
    assert visit.text().startswith("Once upon a time")
    visit.says(".headline", "[0-9]+ passes instead of 64")


def test_a_reload_or_a_closed_tab_leaves_no_run_behind(visits, bundled):
    first, second = visits(), visits()
    bundled.pace = 0.2
    first.run()
    first.says("#note", "pass")
    second.run()
    first.page.reload()
    second.says("#note", "pass")
    second.page.close()
    wait_until(lambda: bundled.running()[0] == 0)
    first.errors[:] = [error for error in first.errors if "abort" not in error.lower() and "Connection" not in error]


def test_a_link_runs_and_is_copied(visits, address):
    visit = visits("/?prompt=A+cat&max_new_tokens=8&seed=3&method=sampling&pair=bundled:stories")
    visit.decoded()
    assert visit.text().startswith("A cat")
    visit.share("link")
    visit.says(".share-note", "Copied")
    link = visit.page.input_value(".share-link")
    shown = visit.text()
    again = visits(link.removeprefix(address))
    again.decoded()
    assert again.text() == shown
    wrong = visits("/?prompt=A+cat&seeed=3#iteration=2&step=1")
    assert "'seeed'" in wrong.says("#problem [role=alert]", "The link could not be followed")


@pytest.mark.parametrize("origin", ["run", "recorded", "live"])
def test_a_saved_trace_is_the_trace(visit, tmp_path, capsys, origin):
    """Catches numbers that JavaScript writes otherwise, so that the digest of a saved file is another one."""
    if origin == "recorded":
        visit.settings(True)
        visit.page.select_option("#shown", label="Beam sampling")  # its statistics hold 1.0
        visit.says("#forest", "beam_sampling")
        visit.settings(False)
    if origin == "run":
        visit.set_field("max_new_tokens", "16")
        visit.run()
        visit.decoded()
    if origin == "live":
        visit.share("live")
        visit.says(".live-note", "Decoded in this browser")
    with visit.page.expect_download() as saving:
        visit.share("trace")
    saving.value.save_as(path := tmp_path / "trace.json.gz")
    assert main(["verify-trace", str(path)]) == 0, capsys.readouterr()
    text, options = visit.text(), visit.page.locator("#shown option").count()
    visit.settings(True)
    visit.page.set_input_files("#open-trace", path)
    expect(visit.page.locator("#shown option")).to_have_count(options + 1)
    expect(visit.page.locator("#shown option").first).to_contain_text("Your file")
    assert visit.text() == text
    if origin != "recorded":
        return
    whole = json.loads(gzip.decompress(path.read_bytes()))
    first = whole["iterations"][0]
    own = first["nodes"][0] | {"parent": first["nodes"][0]["id"]}
    damaged = {
        "cut.json.gz": path.read_bytes()[:3000],
        "text.json": b"no JSON",
        "null.json": b"null",
        "other.json": json.dumps(whole | {"format": "x/1"}).encode(),
        "numbers.json": json.dumps(whole | {"iterations": [1, 2, 3]}).encode(),
        "own-parent.json": json.dumps(whole | {"iterations": [first | {"nodes": [own, *first["nodes"][1:]]}]}).encode(),
        "parents.json": json.dumps(whole | {"iterations": [first | {"nodes": [None]}]}).encode(),
        "hollow.json": json.dumps({"format": "dsbd-trace/2", "iterations": [], "prompt": {"pieces": []}}).encode(),
    }
    for name, content in damaged.items():
        (tmp_path / name).write_bytes(content)
        visit.page.set_input_files("#open-trace", tmp_path / name)
        visit.says("#open-problem", f"{name} cannot be opened: ")
        assert visit.text() == text, name
        expect(visit.page.locator("#shown option")).to_have_count(options + 1)
    with visit.page.expect_download() as saving:
        visit.settings(False)
        visit.share("page")
    saving.value.save_as(page := tmp_path / "page.html")
    home = visit.page.evaluate("() => location.origin + location.pathname")
    visit.page.goto(page.as_uri())
    visit.page.wait_for_selector(".dsbd-node")
    expect(visit.page.locator("p > a")).to_have_text([home])
    visit.urls[:] = [url for url in visit.urls if not url.startswith("file:")]


def test_the_browser_writes_what_the_server_writes(visit):
    """Catches a prompt without the words of its pair, another setting or seed, and a button that cannot do it."""
    for pair, prompt in (("Stories", "Once upon a time"), ("Questions to SQL", "Which members have the most loans?")):
        visit.page.get_by_label(pair, exact=True).check(force=True)
        visit.set_field("seed", "7")
        visit.run(prompt)
        visit.decoded()
        there = visit.text(), visit.page.inner_text(".headline").partition(":")[0]
        visit.share("live")
        visit.says(".live-note", "Decoded in this browser")
        assert (visit.text(), visit.page.inner_text(".headline").partition(":")[0]) == there
    visit.page.get_by_label("Long stories", exact=True).check(force=True)
    visit.page.click("#share > summary")
    expect(visit.page.locator("[data-do=live]")).to_be_hidden()


def test_the_forest_is_touched_and_a_lost_version_goes_on(visits):
    """Catches sliders that decode with another seed or leave the old forest, a version that begins elsewhere, and the
    rows of half a query."""
    visit = visits(pair="")
    page, text = visit.page, visit.text()
    slide = """([name, value]) => { const slider = document.querySelector(`[data-touch=${name}]`);
        slider.value = value; slider.dispatchEvent(new Event("input", {bubbles: true})); }"""
    page.evaluate(slide, ["draft_depth", 2])
    visit.says(".touch-note", "^The same text in [5-9] passes, before in 2$")
    visit.says(".headline", "^[5-9] passes instead of 17")
    assert visit.text() == text, "no guess changes a draw"
    page.evaluate(slide, ["max_width", 2])
    expect(page.locator(".dsbd-head-bands")).to_contain_text("keep 2")
    page.locator("#shown").wait_for(state="attached")
    visit.settings(True)
    page.select_option("#shown", label="SQL young members")
    visit.settings(False)
    expect(page.locator(".touch output").nth(1)).to_have_text("4")
    path = page.inner_text(".dsbd-path").replace("…", "").strip()
    page.click(".dsbd-continue")
    visit.decoded()
    prompt = page.input_value("#prompt textarea")
    assert prompt.startswith("Q: Show the young members who joined between 2010 and 2014.\nSQL: SELECT")
    assert prompt.endswith(path)
    expect(page.locator(".answer-rows")).not_to_contain_text("error")


def test_another_decode_another_pair_and_plotly(visit):
    """Catches a figure of another decode than the one that is shown."""
    expect(visit.page.locator(".running-line .mark")).not_to_have_count(0)
    visit.settings(True)
    first = visit.text()
    other = visit.page.locator("#shown option").first.get_attribute("value")
    visit.page.select_option("#shown", other)
    wait_until(lambda: visit.text() != first)
    visit.settings(False)
    visit.page.click(".forest-switch button:last-child")
    visit.page.locator(".plotly-mount .js-plotly-plot").nth(1).wait_for()
    visit.page.click(".forest-switch button:first-child")
    visit.page.get_by_label("Questions to SQL", exact=True).check(force=True)
    expect(visit.page.locator("#prompt textarea")).to_have_value(re.compile("young members"))
    visit.page.click("#run")
    visit.decoded()
    assert "SELECT" in visit.text()
    visit.page.click(".forest-switch button:last-child")
    figure = visit.page.locator(".plotly-mount .js-plotly-plot")
    figure.nth(1).wait_for()
    assert "SELECT" in visit.page.inner_text(".running-line")
    wheel = """(figure) => { const event = new WheelEvent("wheel", {deltaY: -200, bubbles: true, cancelable: true});
        figure.querySelector(".nsewdrag").dispatchEvent(event);
        return event.defaultPrevented; }"""
    view = "({layout}) => [...layout.xaxis.range, ...layout.yaxis.range, layout.dragmode]"
    for one in (figure.first, figure.nth(1)):
        whole = one.evaluate(view)
        assert not one.evaluate(wheel), "the page scrolls over a figure that lies still"
        one.locator("[data-title=Pan]").click()
        assert one.evaluate(wheel), "the wheel is the figure's now"
        wait_until(lambda one=one, whole=whole: one.evaluate(view)[:2] != whole[:2])
        one.locator("[data-title='All of it again']").click()
        wait_until(lambda one=one, whole=whole: one.evaluate(view) == whole)
        assert not one.evaluate(wheel)


def test_distinct_beams_side_by_side_with_beams_that_repeat(visits):
    """Catches a switch that a pair does not follow, a claim of the other setting, the figures of another decode, and
    a second forest that stays when its pair goes."""
    visit = visits(pair="")
    page = visit.page
    for pair in ("Questions to SQL", "Stories", "Long stories"):
        page.get_by_label(pair, exact=True).check(force=True)
        visit.set_field("max_new_tokens", "16")
        visit.settings(True)
        page.locator("#field-replacement").get_by_label("On", exact=True).check()
        expect(page.locator("#field-forest input")).to_have_value("coupled")
        visit.settings(False)
        page.click("#run")
        visit.decoded()
        visit.says(".distinct", r"^Distinct beams: [0-9.]+ tokens? from a pass")
        expect(page.locator("#run")).to_be_visible()
        visit.says(".same", "^Alone, the large model writes the same text, token for token")
        expect(page.locator(".kept-words")).to_contain_text("with 4 distinct beams and this seed")
        expect(page.locator("#forest .dsbd-node:not([hidden])", has_text="×")).to_have_count(0)
    visit.settings(True)
    page.select_option("#second", label="A word from long before")
    visit.settings(False)
    own, other = page.locator(".stages .figures").all()
    expect(other).to_contain_text("A word from long before: 64 tokens in ")
    layers, passes = re.search(r"Your run 3: 16 tokens in ([0-9]+) passes, ([0-9.]+) layers", own.inner_text()).groups()
    assert int(layers) * float(passes) == pytest.approx(16, abs=1)
    assert page.locator(".stages .dsbd").count() == 2
    boxes = [one.bounding_box() for one in page.locator(".stages .dsbd").all()]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    page.set_viewport_size({"width": 820, "height": 1180})
    boxes = [one.bounding_box() for one in page.locator(".stages .dsbd").all()]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    assert serious(page) == []
    page.get_by_label("Stories", exact=True).check(force=True)
    expect(page.locator(".stages .dsbd")).to_have_count(1)


def test_another_prompt_than_that_of_the_answer(visits):
    """Catches an old answer under a new question, a pair that opens empty, and a reload that forgets what was typed."""
    visit = visits(pair="")
    page = visit.page
    page.get_by_role("button", name="The most loans").click()
    visit.says(".running-line", "ORDER BY COUNT")
    expect(page.locator(".older")).to_be_hidden()
    page.fill("#prompt textarea", "مرحبا")
    visit.says(".older", "Press Run")
    expect(page.locator("#note")).to_have_text("")
    page.reload()
    visit.says(".older", "Press Run")
    assert page.input_value("#prompt textarea") == "مرحبا"
    page.get_by_label("Long stories", exact=True).check(force=True)
    visit.says(".running-line", "The secret animal is a puppy")
    expect(page.locator(".older")).to_be_hidden()
    page.click("#share > summary")
    page.click("#python summary")
    page.click("[data-do=copy]")
    visit.says("[data-do=copy]", "Copied|Selected")
    page.reload()
    visit.says(".running-line", "The secret animal is a puppy")
    page.get_by_label("Stories", exact=True).check(force=True)
    visit.says(".headline", "22 passes")
    text = visit.text()
    page.click("#run")
    visit.decoded()
    assert visit.text() == text, "the same seed, the same text as in the recording"
    visit.set_field("max_new_tokens", "8")
    visit.run("مرحبا")
    visit.decoded()
    expect(page.locator(".older")).to_be_hidden()
    flows = "getComputedStyle(document.querySelector('.running-line')).direction"
    assert page.evaluate(flows) == "ltr", "the continuation is English"


def test_a_race_runs_is_stopped_and_played(visit, bundled):
    visit.tab("Race")
    visit.says(".race-headline", "× as fast")
    expect(visit.page.locator(".race-badge")).to_be_visible()
    visit.page.click("#race-recorded label:has-text('Questions to SQL')")
    visit.says("#race-stage", "Right answer")
    visit.says(".race-headline", "the same text, token for token")
    visit.page.click("text=Decoders, questions, runs and length")
    for word in ("Sampling", "Speculative sampling", "DSBD, exact"):
        visit.page.locator("#race-decoders").get_by_label(word, exact=True).uncheck()
    for name, value in (("runs", "1"), ("tokens", "8")):
        visit.page.fill(f"#race-{name} input[type=number]", value)
        visit.page.keyboard.press("Tab")
    visit.page.click("#race-run")
    visit.says("#race-note", "Measured here, now")
    expect(visit.page.locator(".race-lane")).to_have_count(2)
    expect(visit.page.locator("#race-scatter .main-svg").first).to_be_visible()
    expect(visit.page.locator("#race-run")).to_be_visible()
    visit.page.fill("#race-runs input[type=number]", "5")
    visit.page.keyboard.press("Tab")
    bundled.pace = 0.3
    visit.page.click("#race-run")
    visit.says("#race-note", "[4-9] of [0-9]+ runs done")
    visit.page.click("#race-stop")
    visit.says("#race-note", r"Stopped\. Shown is what ran until then")
    expect(visit.page.locator("#race-run")).to_be_visible()
    expect(visit.page.locator(".race-lane")).not_to_have_count(0)


def test_a_lesson_and_a_recording(visit):
    visit.tab("Learn")
    visit.page.click("#learn-lessons label:has-text('3 One iteration')")
    expect(visit.page.locator(".learn-frame")).to_have_attribute("src", re.compile("lessons/.*by-hand|lessons/.*3"))
    frame = visit.page.frame_locator(".learn-frame")
    frame.locator("h1").first.wait_for()
    visit.page.click("#learn-recordings input")
    visit.page.get_by_role("option").filter(has_text="SQL").last.click()
    visit.page.frame_locator(".learn-frame").locator(".dsbd-node").first.wait_for()
    visit.page.click("#learn-play")
    expect(visit.page.get_by_role("tab", name="Play", exact=True)).to_have_attribute("aria-selected", "true")
    wait_until(
        lambda: visit.page.input_value("#shown") != visit.page.locator("#shown option").first.get_attribute("value")
    )
    expect(visit.page.get_by_label("Questions to SQL", exact=True)).to_be_checked()
    expect(visit.page.locator("#prompt textarea")).to_have_value("Show the titles of long books not written in French.")
    visit.tab("Learn")
    visit.page.click("text=Embed this")
    wait_until(lambda: "<iframe" in visit.page.input_value("#learn-snippet textarea"))
    address = visit.page.get_attribute(".learn-links a[download]", "href")
    assert httpx.get(visit.page.url.split("#")[0] + address).status_code == 200


def test_a_lesson_comes_without_a_jump(visits):
    """Catches a frame that swings while its page is drawn, and moves what stands below it."""
    page = visits(pair="").page
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(page.url.split("#")[0] + "?__theme=light#learn")
    page.frame_locator(".learn-frame").locator(".dsbd-node").first.wait_for()
    page.wait_for_timeout(1000)
    assert page.evaluate(SHIFT) <= 0.02


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_tab_is_accessible_and_fits_a_phone(visits, scheme):
    visit, problems = visits(scheme=scheme), {}
    for name in TABS:
        visit.tab(name)
        if name == "Play":
            visit.settings(True)
            problems["settings"] = serious(visit.page, context="#settings-panel")
            visit.settings(False)
        if name == "Learn":
            visit.page.frame_locator(".learn-frame").locator("h1").first.wait_for()
        if name == "Race":
            visit.page.locator("#race-scatter .main-svg").first.wait_for()
        problems[name] = serious(visit.page)
    visit.page.set_viewport_size({"width": 390, "height": 844})
    for name in TABS:
        visit.tab(name)
        settle(visit.page)
        wide = visit.page.evaluate("document.documentElement.scrollWidth")
        problems[f"{name} on a phone"] = [] if wide <= 390 else [f"{wide} pixels wide"]
        small = visit.page.evaluate(
            "[...document.querySelectorAll('input:not([type=range], [type=checkbox], [type=radio]), select, textarea')]"
            ".filter((one) => one.offsetParent && parseFloat(getComputedStyle(one).fontSize) < 16)"
            ".map((one) => one.closest('[id]').id)"
        )
        problems[f"{name} zooms"] = small
    assert {where: what for where, what in problems.items() if what} == {}
