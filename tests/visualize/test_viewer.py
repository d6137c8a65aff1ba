"""The viewer in a browser: steps, keys, themes, hostile tokens, strip and lanes, its views, the game, a long prompt;
and no serious finding of axe-core."""

import math
import xml.etree.ElementTree as ElementTree
from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import expect

import visualize
from tests.axe import serious
from tests.visualize.traces import SENSORY, nasty_trace, remembered, scene_of, toy_trace
from tests.visualize.visits import hostile_marks, show_view, unfold, viewer
from visualize.theme import MARKS
from visualize.words import number

VIEWS = ("text", "cut", "mask", "table")
TRACE, SCENE = toy_trace(), scene_of("toy")
WHOLE = SCENE.whole
PASSES, ALONE = len(WHOLE.bands), WHOLE.bands[-1].last
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
    unfold(page)
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
    unfold(page)
    page.focus(".dsbd")
    for _ in range(60):
        page.keyboard.press("Tab")
        focus = page.evaluate("""() => { const at = document.activeElement;
            return at === document.body ? null : [at.className || at.tagName, getComputedStyle(at).outlineStyle]; }""")
        if focus is None:
            break
        outlines.update([focus])
    assert [name for name, outline in outlines.items() if outline == "none"] == []
    for name in ("dsbd-play", "dsbd-phase", "dsbd-card", "dsbd-view", "dsbd-language", "dsbd-scroller"):
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
    assert (opened.step, page.input_value("[aria-label=Pass]")) == (0, "2")
    show_view(page, "text")
    picked = next(node.token for node in SCENE.iterations[0].nodes if node.state == "bonus")
    expect(page.locator(".dsbd-origin-picked").first).to_have_text(picked.replace("␣", " "))


def test_keys_and_buttons(opened):
    page = opened.page
    for key, step, shown in (("End", len(STEPS) - 1, "1"), ("Home", 0, "1"), ("PageDown", 0, "2"),
                             ("ArrowLeft", len(STEPS) - 1, "1")):  # fmt: skip
        opened.press(key)
        assert (opened.step, page.input_value("[aria-label=Pass]")) == (step, shown)  # readers count from 1
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
            counts = [f" ×{node.slots}" if node.slots > 1 else "" for node in scene.nodes]
            assert labels == [(node.label or "prompt") + count
                              for node, count in zip(scene.nodes, counts, strict=True)]  # fmt: skip
            visit.press("ArrowRight")
        for view in VIEWS:
            show_view(page, view)
            assert hostile_marks(page) == 0
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG", exact=True).click()
        ElementTree.fromstring(download.value.path().read_bytes())
        assert visit.errors == []


def test_a_band_and_a_key_go_to_their_pass(page):
    """Catches a click that opens the pass beside the one meant, and a mark of the pass that lags behind."""
    bands, strip = page.locator(".dsbd-strip-band"), page.locator(".dsbd-strip")
    expect(bands).to_have_count(PASSES)
    assert page.inner_text(".dsbd-strip-head b") == f"{PASSES} passes of the large model instead of {WHOLE.tokens}"
    bands.nth(3).click(position={"x": 5, "y": 105})
    assert page.input_value("[aria-label=Pass]") == "4"
    expect(page.locator(".dsbd-node:not([hidden])")).to_have_count(len(SCENE.iterations[3].nodes))  # no empty columns
    expect(page.locator(".dsbd-strip-band.dsbd-current")).to_have_count(1)
    assert bands.nth(3).get_attribute("class").endswith("dsbd-current")
    tokens = WHOLE.bands[3].last - WHOLE.bands[3].first + 1
    expect(strip).to_have_attribute("aria-valuetext", f"Pass 4: {tokens} tokens")
    page.focus(".dsbd-strip")
    for key, number_ in (("ArrowRight", 5), ("End", PASSES), ("ArrowRight", PASSES), ("Home", 1), ("ArrowUp", 2),
                         ("ArrowLeft", 1)):  # fmt: skip
        page.keyboard.press(key)
        assert (page.input_value("[aria-label=Pass]"), strip.get_attribute("aria-valuenow")) == (str(number_),) * 2


def test_readers_who_want_no_movement_see_the_end_until_the_first_input(browser, exported):
    """Catches lanes of two texts, a count that is not the recording's, words of the wrong writer, and a picture that
    stays in the way."""
    with viewer(browser, exported, reduced_motion="reduce") as visit:
        page, lanes = visit.page, visit.page.locator(".dsbd-lanes")
        expect(lanes).to_be_hidden()
        page.click(".dsbd-again")
        expect(lanes).to_be_visible()
        assert page.locator(".dsbd-lane-count").all_text_contents() == [f"{ALONE} passes", f"{PASSES} passes"]
        words = page.locator(".dsbd-lanes g:not([hidden]) > .dsbd-lane-words").all_text_contents()
        assert "".join("".join(words).split()) == "".join(TRACE.result.text.split()) * 2
        for mark in ("kept", "picked"):
            count = sum(node.row == 0 and node.state in MARKS[mark] for node in WHOLE.nodes)
            expect(page.locator(f".dsbd-lane-words ~ .dsbd-lane-{mark}")).to_have_count(count)
        assert page.locator("rect.dsbd-lane-pass").count() == ALONE + PASSES
        visit.press("ArrowRight")
        expect(lanes).to_be_hidden()
        page.click(".dsbd-again")
        page.click(".dsbd-play")
        expect(lanes).to_be_hidden()
        expect(page.locator(".dsbd-play")).to_have_attribute("aria-label", "Pause")
        visit.is_quiet()


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


def test_the_large_model_alone_is_as_fast_as_it_was_measured(browser, exported):
    """Catches lanes that show a gain where the decode was half as fast."""
    with viewer(browser, exported, reduced_motion="reduce") as visit:
        visit.page.evaluate(MOUNT, {"a": [99, {}]})
        visit.page.evaluate("() => { a.setAlone({ratio: 0.5}); a.lanes(true); }")
        boxes = "marks => marks.map((mark) => mark.getBBox()).map(({x, width}) => x + width)"
        ends = visit.page.locator("rect.dsbd-lane-pass").evaluate_all(boxes)
        left = visit.page.locator("rect.dsbd-lane-pass").first.evaluate("mark => mark.getBBox().x")
        clock = visit.page.locator(".dsbd-lane-ground").first.evaluate("line => line.getBBox().width")
        assert (ends[ALONE - 1] - left) / clock == pytest.approx(0.5, abs=0.01)
        assert ends[-1] > ends[ALONE - 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "blocks", "joint"])
def test_nothing_is_offered_where_nothing_is_won_or_the_distribution_is_another(browser, tmp_path, name):
    """Catches a picture, a turn or an explanation for a method that does not keep the distribution."""
    visualize.export_html(toy_trace(name), tmp_path / "page.html")
    with viewer(browser, tmp_path / "page.html") as visit:
        expect(visit.page.locator(".dsbd-again")).to_be_hidden()
        unfold(visit.page)
        assert "instead" not in visit.page.inner_text(".dsbd")
        for offer in (".dsbd-why", ".dsbd-turn"):
            expect(visit.page.locator(offer)).to_be_hidden()
        show_view(visit.page, "cut")
        expect(visit.page.locator(".dsbd-cut")).to_have_count(0)


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
    unfold(page)
    files = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind, exact=True).click()
        assert download.value.suggested_filename == f"dsbd-pass-2.{kind.lower()}"
        files[kind] = download.value.path().read_bytes()
    texts = "".join(ElementTree.fromstring(files["SVG"]).itertext())
    legend = page.locator(".dsbd-legend li").all_inner_texts()
    assert "width_threshold = 0.70" in legend[-1]
    expected = ["Token 1", *(node.label for node in SCENE.iterations[1].nodes), *"\n".join(legend).split("\n")]
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
    expect(page.locator(".dsbd-count-iteration")).to_have_text("2 of 4")
    run("() => a.add(trace.iterations.slice(4), {result: trace.result})")
    assert "".join(token["text"] for token in run("() => a.text().tokens")).strip() == TRACE.result.text.strip()


@pytest.mark.slow
def test_the_opening_story_is_told_once_and_ends_with_any_input(opened):
    """Catches a story that goes on while the reader acts or about another trace, starts again, writes into the
    address, or cannot pause."""
    page, url, sentence = opened.page, opened.page.url, opened.sentence
    stories = "() => [...document.querySelectorAll('.dsbd')].map((one) => one.dataset.story ?? '')"
    page.evaluate(MOUNT, {"a": [9, {}], "b": [9, {}]})
    page.evaluate("() => { a.story(); b.story(); }")
    assert page.get_attribute(".dsbd-play", "aria-label") == "Pause"
    page.evaluate("() => b.setTrace(grown(2))")
    assert page.evaluate(stories) == ["opening", ""]
    page.wait_for_function("""() => document.querySelector(".dsbd").dataset.story === "prompt"
        && getComputedStyle(document.querySelectorAll(".dsbd-node:not([hidden])")[1]).opacity === "0" """)
    assert opened.sentence != sentence
    assert page.url == url
    page.mouse.click(5, 5)
    assert page.evaluate("() => a.where().it") == 0
    assert (page.evaluate("() => a.story()"), page.evaluate(stories)) == (False, ["", ""])
    assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"


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

    page.click(".dsbd-why")
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
