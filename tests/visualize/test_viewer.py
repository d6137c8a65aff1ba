"""The viewer in a browser: steps, keys, themes, hostile tokens, lanes, its views, the game, a long prompt;
and no serious finding of axe-core."""

import math
import re
import xml.etree.ElementTree as ElementTree
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import expect

import visualize
from tests.axe import serious
from tests.visualize.traces import SENSORY, nasty_trace, remembered, scene_of, toy_trace
from tests.visualize.visits import hostile_marks, pass_of, show_view, viewer
from visualize.words import number

VIEWS = ("text", "cut", "mask", "table")
TRACE, SCENE = toy_trace(), scene_of("toy")
WHOLE = SCENE.whole
PASSES = len(WHOLE.bands)
STEPS = SCENE.iterations[0].steps
OVERFLOWS = "() => document.documentElement.scrollWidth > innerWidth"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "language", "width"),
    [("light", "en", 1280), ("dark", "en", 1280), ("light", "ar", 1280), ("light", "ar", 400), ("light", "de", 400)],
)
def test_axe_finds_nothing_serious(page, scheme, language, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_selector(f".dsbd[data-theme={scheme}]")
    page.select_option(".dsbd-language", language)
    for view in VIEWS if language == "en" else VIEWS[:1]:
        show_view(page, view)
        assert serious(page, ".dsbd", colours_only=scheme == "dark") == [], view
    assert not page.evaluate(OVERFLOWS)
    page.click(".dsbd-turn")
    page.keyboard.press("Enter")
    assert serious(page, ".dsbd", colours_only=scheme == "dark") == [], "the game"


@pytest.mark.slow
def test_everything_interactive_is_reached_by_keyboard_and_shows_its_focus(page):
    """Catches a control that cannot be tabbed to, or whose focus cannot be seen."""
    outlines = {}
    page.focus(".dsbd")
    for _ in range(60):
        page.keyboard.press("Tab")
        focus = page.evaluate("""() => { const at = document.activeElement;
            return at === document.body ? null : [at.className || at.tagName, getComputedStyle(at).outlineStyle]; }""")
        if focus is None:
            break
        outlines.update([focus])
    assert [name for name, outline in outlines.items() if outline == "none"] == []
    for name in (
        "dsbd-play",
        "dsbd-phase",
        "dsbd-card",
        "dsbd-view",
        "dsbd-language",
        "dsbd-scroller",
        "dsbd-lanes-room",
    ):
        assert any(name in classes for classes in outlines), name


def test_stepping_through_an_iteration_shows_every_sentence_and_never_moves_a_node(opened):
    page = opened.page
    script = """() => [...document.querySelectorAll('.dsbd-node:not([hidden])')].map(
        node => [Number(node.dataset.at), node.getAttribute('transform')])"""
    positions, sentences = {}, set()
    for step in range(len(STEPS)):
        assert opened.step == step
        sentences.add(opened.sentence)
        for node, position in page.evaluate(script):
            assert positions.setdefault(node, position) == position
        opened.press("ArrowRight")
    assert (len(positions), len(sentences)) == (len(SCENE.iterations[0].nodes), len(STEPS))
    assert (opened.step, pass_of(page)) == (0, 2)
    show_view(page, "text")
    picked = next(node.token for node in SCENE.iterations[0].nodes if node.state == "bonus")
    expect(page.locator(".dsbd-origin-picked").first).to_have_text(picked.replace("␣", " "))


def test_keys_and_buttons(opened):
    page = opened.page
    for key, step, shown in (("End", len(STEPS) - 1, 1), ("Home", 0, 1), ("PageDown", 0, 2),
                             ("ArrowLeft", len(STEPS) - 1, 1)):  # fmt: skip
        opened.press(key)
        assert (opened.step, pass_of(page)) == (step, shown)  # readers count from 1
    page.click("[aria-label='First step']")
    page.click("[aria-label='Step forward']")
    assert opened.step == 1
    page.wait_for_url("**#iteration=1&step=2")
    page.focus(".dsbd")
    opened.press(" ")
    expect(page.locator(".dsbd-count-step")).not_to_have_text(f"2 of {len(STEPS)}")
    opened.press(" ")
    assert page.get_attribute(".dsbd-play", "aria-label") == "Play"
    assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"


def test_pointing_at_a_node_shows_its_arithmetic_and_a_click_keeps_it(opened):
    page, nodes = opened.page, SCENE.iterations[0].nodes
    opened.press("End")
    index = next(index for index, node in enumerate(nodes) if node.state == "rejected")
    mark, uniform = page.locator(f".dsbd-node[data-at='{index}'] path"), number(nodes[index].records[0].uniform)
    mark.hover(force=True)
    page.wait_for_selector(".dsbd-state:has-text('dropped guess')")
    mark.click(force=True)
    page.mouse.move(2, 2)
    assert uniform in page.inner_text(".dsbd-card")
    page.wait_for_url(f"**&node={nodes[index].id}")
    page.focus(".dsbd")
    opened.press("Escape")
    assert page.inner_text(".dsbd-card").splitlines()[0] == "Point at a node to read its numbers."
    assert uniform in page.inner_text(".dsbd-card"), "the example below the hint"
    page.wait_for_url(lambda url: "node=" not in url)


def test_a_card_says_the_share_among_all_versions_and_the_token_s_own_probability(opened):
    """Catches a joint probability that reads as the large model's own."""
    recorded = {node.id: node for node in TRACE.iterations[0].nodes}
    index, own = next(
        (index, own)
        for index, node in enumerate(SCENE.iterations[0].nodes)
        if (record := recorded.get(node.id)) and record.target_prob
        if (own := number(math.exp(record.target_log_prob))) != number(record.target_prob)
    )
    opened.press("End")
    opened.page.locator(f".dsbd-node[data-at='{index}'] path").click(force=True)
    opened.page.locator(".dsbd-card summary").click()
    card = opened.page.inner_text(".dsbd-card")
    assert "Shares among all versions of the text. After this text alone: " in card
    assert f"large model {own}." in card


def test_hostile_tokens_stay_text_in_the_drawing_and_in_every_view(browser, tmp_path):
    visualize.export_html(nasty_trace(), tmp_path / "nasty.html")
    script = "() => [...document.querySelectorAll('.dsbd-label')].map(node => node.textContent)"
    with viewer(browser, tmp_path / "nasty.html") as visit:
        page = visit.page
        page.focus(".dsbd")
        for scene in scene_of("nasty").iterations:
            visit.press("End")
            labels = [text.translate(dict.fromkeys(map(ord, "\u2068\u2069"))) for text in page.evaluate(script)]
            counts = [f" ×{node.multiplicity}" if node.multiplicity > 1 else "" for node in scene.nodes]
            assert labels == [("∎" if node.ends else node.label or "prompt") + count
                              for node, count in zip(scene.nodes, counts, strict=True)]  # fmt: skip
            visit.press("ArrowRight")
        for view in VIEWS:
            show_view(page, view)
            assert hostile_marks(page) == 0
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG", exact=True).click()
        ElementTree.fromstring(download.value.path().read_bytes())
        assert visit.errors == []


def test_a_click_and_a_key_on_the_lanes_go_to_their_pass(page):
    """Catches a click that opens the pass beside the one meant, a mark that lags behind, and a pass that is drawn for
    words that it did not bring."""
    current = page.locator(".dsbd-lanes g.dsbd-current")
    passes, lanes = page.locator("g:has(> .dsbd-lane-band)"), page.locator(".dsbd-lanes-room")
    expect(passes).to_have_count(PASSES)
    expect(page.locator(".dsbd-lane-pass")).to_have_count(WHOLE.tokens + PASSES)
    assert page.inner_text(".dsbd-lanes-head b") == f"{PASSES} passes of the large model instead of {WHOLE.tokens}"
    assert page.locator(".dsbd-lane-sum").all_text_contents() == [f"{WHOLE.tokens} passes", f"{PASSES} passes"]
    first, last = WHOLE.bands[3].first, min(WHOLE.bands[3].last, WHOLE.tokens)
    for click in (passes.nth(3), page.locator(".dsbd-lanes g:not(:has(> .dsbd-lane-band))").nth(first - 1)):
        page.focus(".dsbd-lanes-room")
        page.keyboard.press("Home")
        click.locator(".dsbd-lane-pass").click()
        assert pass_of(page) == 4
        expect(page.locator(".dsbd-node:not([hidden])")).to_have_count(len(SCENE.iterations[3].nodes))
        expect(current).to_have_count(1 + last - first + 1)
        tokens = WHOLE.bands[3].last - first + 1
        expect(lanes).to_have_attribute("aria-valuetext", f"Pass 4: {tokens} tokens")
    page.focus(".dsbd-lanes-room")
    for key, number_ in (("ArrowRight", 5), ("End", PASSES), ("ArrowRight", PASSES), ("Home", 1), ("ArrowUp", 2),
                         ("ArrowLeft", 1)):  # fmt: skip
        page.keyboard.press(key)
        assert pass_of(page) == number_


MOUNT = """async (options) => {
    window.trace = JSON.parse(await dsbdUnpack(document.getElementById('dsbd-trace').textContent));
    window.grown = (count) => count < trace.iterations.length
        ? {...trace, iterations: trace.iterations.slice(0, count), result: null} : trace;
    document.getElementById('viewer').remove();
    for (const [name, [count, given]] of Object.entries(options)) {
        const holder = document.body.appendChild(document.createElement('div'));
        window[name] = DsbdViewer.mount(holder, grown(count), given);
    }
}"""
"""Mounts the trace of the page again: a viewer for each name, with so many iterations and these options."""


def test_the_lanes_end_in_sums_of_what_passes_cost(browser, exported):
    """Catches a gain where passes that check cost more, a sum that its parts do not give, and another clock for each
    lane."""
    with viewer(browser, exported) as visit:
        visit.page.evaluate(MOUNT, {"a": [99, {}]})
        for node, guess, wins in ((0.0, 0.0, True), (0.0, 0.0004, True), (0.09, 0.002, False)):
            cost = {"alone": 0.01, "node": node, "guess": guess}
            clock = visit.page.evaluate("(cost) => { a.setCosts(cost); return a.clock(); }", cost)
            alone, guided = visit.page.locator(".dsbd-lane-sum").all_text_contents()
            assert alone == f"{10 * WHOLE.tokens} ms"
            total = float(guided.removesuffix(" ms"))
            (one,), (*guessing, checking) = (
                [(int(times), float(each)) for times, each in re.findall(r"(\d+) × ([\d.]+) ms", text)]
                for text in visit.page.locator(".dsbd-lane-parts").all_text_contents()
            )
            assert (one, checking[0], len(guessing)) == ((WHOLE.tokens, 10.0), PASSES, 1)
            assert sum(times * each for times, each in [*guessing, checking]) == pytest.approx(total, rel=0.006)
            assert guessing[0][1] == pytest.approx(1000 * guess)
            assert (clock["ratio"] > 1) == wins
            assert clock["ratio"] == pytest.approx(10 * WHOLE.tokens / total)
            boxes = "marks => marks.map((mark) => mark.getBBox()).map(({x, width}) => x + width)"
            ends = visit.page.locator(".dsbd-lane-pass").evaluate_all(boxes)
            assert (ends[WHOLE.tokens - 1] > ends[-1]) == wins


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "blocks", "joint"])
def test_nothing_is_offered_where_nothing_is_won_or_the_distribution_is_another(browser, tmp_path, name):
    """Catches a picture, a turn or an explanation for a method that does not keep the distribution."""
    visualize.export_html(toy_trace(name), tmp_path / "page.html")
    with viewer(browser, tmp_path / "page.html") as visit:
        expect(visit.page.locator(".dsbd-lane-label")).to_have_count(1)
        assert "instead" not in visit.page.inner_text(".dsbd")
        for offer in ("[data-view=cut]", ".dsbd-turn"):
            expect(visit.page.locator(offer)).to_be_hidden()


@pytest.mark.slow
def test_the_mask_shows_what_a_node_attends_to_and_the_table_its_row(page):
    nodes = SCENE.iterations[1].nodes
    index = next(index for index, node in enumerate(nodes) if node.column == 3 and node.kind == "drafted")
    show_view(page, "mask")
    page.hover(f".dsbd-node[data-at='{index}'] path", force=True)
    row = page.locator(".dsbd-mask-row.dsbd-current")
    assert row.get_attribute("data-at") == str(index)
    assert (row.locator(".dsbd-cell-seen").count(), row.locator(".dsbd-cell-self").count()) == (3, 1)
    assert page.inner_text(".dsbd-panel-mask .dsbd-hint").startswith(f"“{nodes[index].label}” ")
    page.hover(".dsbd-mask-row >> nth=2 >> .dsbd-cell-self")
    assert row.get_attribute("data-at") == "2"
    show_view(page, "table")
    rows = page.locator(".dsbd-panel-table tbody tr:not([hidden])")
    assert rows.count() == page.locator(".dsbd-node:not([hidden])").count()
    rows.nth(3).locator("button").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**&node=*")


@pytest.mark.slow
def test_the_drawing_is_saved_as_svg_and_png(page):
    page.focus(".dsbd")
    page.keyboard.press("End")
    files = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        assert download.value.suggested_filename == f"dsbd-pass-2.{kind.lower()}"
        files[kind] = download.value.path().read_bytes()
    texts = "".join(ElementTree.fromstring(files["SVG"]).itertext())
    legend = page.locator(".dsbd-legend li").all_inner_texts()
    assert "width_threshold = 0.70" in legend[-1]
    drawn = ("∎" if node.ends else node.label for node in SCENE.iterations[1].nodes)
    expected = ["Token 1", *drawn, *"\n".join(legend).split("\n")]
    assert [text for text in expected if text not in texts] == []
    assert b"var(--" not in files["SVG"]
    picture = Image.open(BytesIO(files["PNG"])).convert("RGB")
    below = picture.crop((0, picture.height - 40, picture.width, picture.height))
    for name, part in (("picture", picture), ("its legend", below)):
        assert len(part.getcolors(1 << 24)) > 20, name


@pytest.mark.slow
def test_a_bare_viewer_fits_on_a_slide_and_grows_with_it(browser, exported):
    """Catches tools on a slide, a card that is off it, labels of twelve pixels, and a forest that grows out of it."""
    with viewer(browser, exported, "?bare#iteration=2&step=9", viewport={"width": 700, "height": 620}) as visit:
        page = visit.page
        tools = (".dsbd-controls", ".dsbd-phases", ".dsbd-more", ".dsbd-whole")
        assert [tool for tool in tools if page.is_visible(tool)] == []
        assert page.locator(".dsbd-card").bounding_box()["y"] + 60 < 620
        assert not page.evaluate(OVERFLOWS)
        page.set_viewport_size({"width": 1280, "height": 720})
        page.wait_for_function("() => document.querySelector('.dsbd-label').getBoundingClientRect().height > 17")
        page.wait_for_function("() => document.documentElement.scrollHeight <= innerHeight")


@pytest.mark.slow
def test_several_viewers_keep_to_themselves_and_their_traces_can_be_replaced(opened):
    """Catches a viewer that writes the place of another, and a new trace that moves the reader."""
    page, run, last = opened.page, opened.page.evaluate, PASSES - 1
    run(MOUNT, {"a": [1, {"hash": True}], "b": [9, {}], "c": [9, {}]})
    run("() => { a.goto({step: 5}); b.goto({it: 1}); c.goto({it: 4}); }")
    page.wait_for_url("**#*iteration=1&step=6*")
    run("() => a.setTrace(trace)")
    assert run("() => [a.where().it, a.where().step]") == [0, 5]
    run("() => a.setTrace(trace, {follow: true})")
    assert run("() => [a.where().it, a.where().iterations]") == [last, PASSES]
    page.wait_for_url(f"**#*iteration={PASSES}&step={len(SCENE.iterations[last].steps)}*")
    run("() => { location.hash = '#iteration=1&step=6'; }")
    page.wait_for_function("() => a.where().it === 0 && a.where().step === 5")
    assert run("() => b.where().it") == 1
    run("() => { a.destroy(); c.destroy(); b.setTrace(grown(0)); }")
    expect(page.locator(".dsbd")).to_have_count(1)
    assert page.is_visible(".dsbd-empty")


@pytest.mark.slow
def test_a_trace_that_grows_leaves_the_reader_alone(opened):
    """Catches updates, of which several come in a second, that undo what the reader has set, and an outdated text."""
    page, run = opened.page, opened.page.evaluate
    run(MOUNT, {"a": [2, {}]})
    run("() => { a.goto({it: 1, step: 8}); a.show('cut'); }")
    slider = page.locator(".dsbd-cut input >> nth=0")
    slider.evaluate("input => { input.value = 0.2; input.dispatchEvent(new Event('input')); input.focus(); }")
    label, sentence = slider.get_attribute("aria-label"), page.inner_text(".dsbd-cut-said")
    length = run("() => a.text().tokens.length")
    run("() => a.add(trace.iterations.slice(2, 4))")
    assert (slider.input_value(), page.inner_text(".dsbd-cut-said")) == ("0.2", sentence)
    assert run("() => document.activeElement.getAttribute('aria-label')") == label
    assert run("() => a.text().tokens.length") > length
    expect(page.locator(".dsbd-count-iteration")).to_have_text("Pass 2 of 4")
    run("() => a.add(trace.iterations.slice(4), {result: trace.result})")
    assert "".join(token["text"] for token in run("() => a.text().tokens")).strip() == TRACE.result.text.strip()


LAYER = SCENE.iterations[1].layers[0]
HEIGHTS = """() => [...document.querySelectorAll(".dsbd-cut-field")].map((field) =>
  ["outline", "kept", "filled"].map((kind) => {
    const part = field.querySelector(`.dsbd-cut-${kind}`);
    return part.hidden ? 0 : parseFloat(part.style.height);
  }))"""


@pytest.mark.slow
def test_a_worse_small_model_shrinks_the_green_and_moves_no_outline(page):
    """Catches a bar that moves an outline, a gap that stays open, and a slider whose picture does not follow."""

    def columns() -> list:
        heights = page.evaluate(HEIGHTS)
        assert all(abs(outline - green - amber) < 1e-3 for outline, green, amber in heights)
        return heights

    show_view(page, "cut")
    expect(page.locator(".dsbd-cut-field")).to_have_count(len(LAYER.record.alternatives) + 1)
    expect(page.locator(".dsbd-cut")).to_contain_text(f"How many are kept here ({LAYER.width}) is chosen")
    recorded, sentence = columns(), page.inner_text(".dsbd-cut-said")
    highest = max(range(len(recorded)), key=lambda index: recorded[index][0])
    page.locator(".dsbd-cut input").nth(highest).focus()
    page.keyboard.press("Home")
    dragged = columns()
    assert [column[0] for column in dragged] == [column[0] for column in recorded]
    assert dragged[highest][1] == 0
    assert sum(column[1] for column in dragged) < sum(column[1] for column in recorded)
    assert page.inner_text(".dsbd-cut-said") != sentence
    box = page.locator(".dsbd-cut-field").nth(highest).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.5)
    assert columns()[highest][1] > 0, "the bar follows the pointer too"
    page.click(".dsbd-cut-reset")
    assert columns() == recorded


ITERATION = TRACE.iterations[1]
TRIALS = [number for number, step in enumerate(SCENE.iterations[1].steps, 1) if step.phase == "trial"]
DECIDED = [pair for pair in zip(ITERATION.trials, TRIALS, strict=True) if pair[0].uniform is not None]
"""Each trial that a random number decided, and the step of its verdict, from 1 as in addresses."""


@pytest.mark.slow
def test_right_answers_bring_what_was_recorded(page):
    """Catches a verdict that the forest shows before the question, and a game that a keyboard cannot play."""
    page.focus(".dsbd-turn")
    page.keyboard.press("Enter")
    sentence, button = page.locator(".dsbd-game-said"), page.locator(".dsbd-game").get_by_role("button", name="Play")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    for trial, step in DECIDED:
        expect(page.locator(".dsbd-game-guess")).to_be_visible()
        page.wait_for_url(f"**&step={step - 1}*")
        page.get_by_role("button", name="Accept" if trial.verdict == "accepted" else "Reject", exact=True).focus()
        page.keyboard.press("Enter")
        expect(sentence).to_contain_text(f"Right: {trial.verdict}")
        page.wait_for_url(f"**&step={step}*")
        expect(page.get_by_role("button", name="Next", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
    expect(sentence.first).to_have_text(f"You decided {len(DECIDED)} of {len(DECIDED)} guesses as the rule does.")
    assert page.locator(".dsbd-game .dsbd-bar b").first.inner_text() == str(len(ITERATION.layers))
    page.keyboard.press("Escape")
    expect(page.locator(".dsbd-game")).to_be_hidden()
    expect(page.locator(".dsbd-turn")).to_be_focused()


@pytest.mark.slow
def test_the_memory_of_a_long_prompt(browser, tmp_path):
    """Catches an arrow that also turns the step, a number of the segment chosen before, and a text that is markup."""
    visualize.export_html(remembered(), tmp_path / "memory.html")
    with viewer(browser, tmp_path / "memory.html", "#iteration=2&step=3") as visit:
        page, before, sentence = visit.page, visit.sentence, visit.page.locator(".dsbd-memory-said")
        cells = page.locator(".dsbd-memory-cell")
        expect(page.locator(".dsbd-memory > b")).to_have_text("A long prompt, read in 10 segments")
        expect(sentence).to_have_text("Segment 10 recalls segment 1 (41\u202f%) and segment 2 (22\u202f%) most.")
        script = "bars => bars.map((bar) => parseFloat(bar.style.height) / 100)"
        heights = page.locator(".dsbd-memory-bar:not([hidden])").evaluate_all(script)
        assert heights == pytest.approx(remembered().prompt.memory.segments[-1].weights, abs=1e-5)
        expect(page.locator(".dsbd-memory-legend")).to_contain_text(f"{SENSORY} tokens of segment 9 again")
        expect(page.locator(".dsbd-memory")).to_contain_text("exact for these two, not for the whole prompt")
        cells.nth(2).click()
        for key, text in (("ArrowLeft", "Segment 2 recalls segment 1 (100\u202f%)."),
                          ("Home", "Segment 1 is the first one: there is nothing to recall yet.")):  # fmt: skip
            visit.press(key)
            expect(sentence).to_have_text(text)
        expect(cells.first).to_be_focused()
        assert page.locator(".dsbd-memory-cell[tabindex='0']").count() == 1
        assert visit.sentence == before
        cells.nth(1).click()
        text = page.inner_text(".dsbd-memory-text")
        assert text.startswith("2. </script><img src=x onerror=alert(1)>")
        assert len(text) > 600
        assert hostile_marks(page) == 0
        visit.is_quiet()
        assert serious(page, ".dsbd-memory") == []
