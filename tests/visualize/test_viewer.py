"""The viewer in a browser: steps, keys, themes, hostile tokens, the strip and the lanes, its views, the game, a long
prompt; and axe-core, which finds nothing serious."""

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
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    page.click(".dsbd-turn")
    page.keyboard.press("Enter")
    assert serious(page, ".dsbd", colours_only=scheme == "dark") == [], "the game"


@pytest.mark.slow
def test_everything_interactive_is_reached_by_keyboard_and_shows_its_focus(page):
    """A control that cannot be tabbed to, or whose focus cannot be seen, is lost to keyboard users."""
    reached = set()
    unfold(page)
    page.focus(".dsbd")
    for _ in range(60):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            """() => { const at = document.activeElement; const css = getComputedStyle(at);
            return at === document.body ? null : [at.className || at.tagName, css.outlineStyle]; }"""
        )
        if seen is None:
            break
        reached.add(seen[0])
        assert seen[1] != "none", seen[0]
    for name in ("dsbd-play", "dsbd-phase", "dsbd-card", "dsbd-view", "dsbd-language", "dsbd-scroller"):
        assert any(name in one for one in reached), name


TRACE, SCENE = toy_trace(), scene_of("toy")
WHOLE = SCENE.whole
PASSES, ALONE = len(SCENE.whole.bands), SCENE.whole.bands[-1].last
TEXT = "".join(TRACE.result.text.split())
ROWS = ".dsbd-lanes g:not([hidden]) > .dsbd-lane-words"
STEPS = SCENE.iterations[0].steps


@pytest.fixture
def opened(browser, exported):
    with viewer(browser, exported) as seen:
        seen.page.focus(".dsbd")
        yield seen


def test_stepping_through_an_iteration_tells_every_sentence_and_never_moves_a_node(opened):
    page = opened.page
    places = """() => [...document.querySelectorAll('.dsbd-node:not([hidden])')].map(
        node => [Number(node.dataset.at), node.getAttribute('transform')])"""
    seen, said = {}, []
    for step in range(len(STEPS)):
        assert opened.step == step
        said.append(opened.sentence)
        for at, place in page.evaluate(places):
            assert seen.setdefault(at, place) == place
        page.keyboard.press("ArrowRight")
    assert len(seen) == len(SCENE.iterations[0].nodes)
    assert len(set(said)) == len(said)
    assert opened.step == 0
    assert page.input_value("[aria-label=Pass]") == "2"
    show_view(page, "text")
    picked = next(node.token for node in SCENE.iterations[0].nodes if node.state == "bonus")
    expect(page.locator(".dsbd-origin-picked").first).to_have_text(picked.replace("␣", " "))
    opened.quiet()


def test_keys_and_buttons(opened):
    page = opened.page
    page.keyboard.press("End")
    assert opened.step == len(STEPS) - 1
    page.keyboard.press("Home")
    assert opened.step == 0
    page.keyboard.press("PageDown")
    assert page.input_value("[aria-label=Pass]") == "2"  # readers count from 1
    page.keyboard.press("ArrowLeft")
    assert opened.step == len(STEPS) - 1
    page.click("[aria-label='First step']")
    page.click("[aria-label='Step forward']")
    assert opened.step == 1
    page.wait_for_url("**#iteration=1&step=2")
    page.focus(".dsbd")
    page.keyboard.press(" ")
    expect(page.locator(".dsbd-count-step")).not_to_have_text(f"2 of {len(STEPS)}")
    page.keyboard.press(" ")
    assert page.get_attribute(".dsbd-play", "aria-label") == "Play"
    assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"


def test_pointing_at_a_node_shows_its_arithmetic_and_a_click_keeps_it(opened):
    page, nodes = opened.page, SCENE.iterations[0].nodes
    page.keyboard.press("End")
    place = next(at for at, node in enumerate(nodes) if node.state == "rejected")
    mark, said = page.locator(f".dsbd-node[data-at='{place}'] path"), number(nodes[place].records[0].uniform)
    mark.hover(force=True)
    page.wait_for_selector(".dsbd-state:has-text('dropped guess')")
    mark.click(force=True)
    page.mouse.move(2, 2)
    assert said in page.inner_text(".dsbd-card")
    page.wait_for_url(f"**&node={nodes[place].id}")
    page.focus(".dsbd")
    page.keyboard.press("Escape")
    hint = "Point at a node to read its numbers."
    assert page.inner_text(".dsbd-card").splitlines()[0] == hint
    assert said in page.inner_text(".dsbd-card"), "what stands below the hint as an example"
    page.wait_for_url(lambda url: "node=" not in url)


def test_a_card_says_the_share_among_all_versions_and_the_token_s_own_probability(opened):
    """Catches a joint probability that reads as the large model's own."""
    recorded = {node.id: node for node in TRACE.iterations[0].nodes}
    place, found = next(
        (place, found)
        for place, node in enumerate(SCENE.iterations[0].nodes)
        if (found := recorded.get(node.id)) and found.target_prob
        if number(math.exp(found.target_log_prob)) != number(found.target_prob)
    )
    opened.page.keyboard.press("End")
    opened.page.locator(f".dsbd-node[data-at='{place}'] path").click(force=True)
    said = opened.page.inner_text(".dsbd-card")
    assert "Shares among all versions of the text. After this text alone: " in said
    assert f"large model {number(math.exp(found.target_log_prob))}." in said


def test_hostile_tokens_stay_text_in_the_drawing_and_in_every_view(browser, tmp_path):
    path = tmp_path / "nasty.html"
    visualize.export_html(nasty_trace(), path)
    labels = "() => [...document.querySelectorAll('.dsbd-label')].map(node => node.textContent)"
    with viewer(browser, path) as opened:
        page = opened.page
        page.focus(".dsbd")
        for scene in scene_of("nasty").iterations:
            page.keyboard.press("End")
            expected = [
                (node.label or "prompt") + (f" ×{node.slots}" if node.slots > 1 else "") for node in scene.nodes
            ]
            shown = [text.translate(dict.fromkeys(map(ord, "\u2068\u2069"))) for text in page.evaluate(labels)]
            assert shown == expected
            page.keyboard.press("ArrowRight")
        for view in VIEWS:
            show_view(page, view)
            assert hostile_marks(page) == 0
        with page.expect_download() as waiting:
            page.get_by_role("button", name="SVG", exact=True).click()
        ElementTree.fromstring(waiting.value.path().read_bytes())
        assert opened.errors == []


def shown(page) -> int:
    return int(page.input_value("[aria-label=Pass]")) - 1


def test_a_band_and_a_key_go_to_their_pass(page):
    """Catches a click that opens the pass beside the one meant, and a mark of the pass that lags behind."""
    bands = page.locator(".dsbd-strip-band")
    expect(bands).to_have_count(len(WHOLE.bands))
    title = f"{len(WHOLE.bands)} passes of the large model instead of {WHOLE.tokens}"
    assert page.inner_text(".dsbd-strip-head b") == title
    page.locator(".dsbd-strip-band >> nth=3").click(position={"x": 5, "y": 105})
    band = WHOLE.bands[3]
    assert shown(page) == 3
    expect(page.locator(".dsbd-node:not([hidden])")).to_have_count(len(SCENE.iterations[3].nodes))  # no empty columns
    expect(page.locator(".dsbd-strip-band.dsbd-current")).to_have_count(1)
    assert bands.nth(3).get_attribute("class").endswith("dsbd-current")
    strip = page.locator(".dsbd-strip")
    expect(strip).to_have_attribute("aria-valuetext", f"Pass 4: {band.last - band.first + 1} tokens")
    page.focus(".dsbd-strip")
    for key, place in (("ArrowRight", 4), ("End", len(WHOLE.bands) - 1), ("ArrowRight", len(WHOLE.bands) - 1),
                       ("Home", 0), ("ArrowUp", 1), ("ArrowLeft", 0)):  # fmt: skip
        page.keyboard.press(key)
        assert (shown(page), strip.get_attribute("aria-valuenow")) == (place, str(place + 1))


def test_who_wants_no_movement_sees_the_end_until_the_first_input(browser, exported):
    """Catches lanes of two texts, a count that is not the recording's, words of the wrong writer, and a picture that
    stays in the way."""
    with viewer(browser, exported, reduced_motion="reduce") as seen:
        page, lanes = seen.page, seen.page.locator(".dsbd-lanes")
        expect(lanes).to_be_hidden()
        page.click(".dsbd-again")
        expect(lanes).to_be_visible()
        assert page.locator(".dsbd-lane-count").all_text_contents() == [f"{ALONE} passes", f"{PASSES} passes"]
        assert "".join("".join(page.locator(ROWS).all_text_contents()).split()) == TEXT + TEXT
        for mark, states in (("kept", MARKS["kept"]), ("picked", MARKS["picked"])):
            written = sum(node.row == 0 and node.state in states for node in SCENE.whole.nodes)
            expect(page.locator(f".dsbd-lane-words ~ .dsbd-lane-{mark}")).to_have_count(written)
        assert page.locator("rect.dsbd-lane-pass").count() == ALONE + PASSES
        page.keyboard.press("ArrowRight")
        expect(lanes).to_be_hidden()
        page.click(".dsbd-again")
        page.click(".dsbd-play")
        expect(lanes).to_be_hidden()
        expect(page.locator(".dsbd-play")).to_have_attribute("aria-label", "Pause")
        seen.quiet()


def test_the_large_model_alone_is_as_fast_as_it_was_measured(browser, exported):
    """Catches lanes that show a gain where the decode was half as fast."""
    with viewer(browser, exported, reduced_motion="reduce") as seen:
        seen.page.evaluate(MOUNT, {"a": [99, {}]})
        seen.page.evaluate("() => { a.setAlone({ratio: 0.5}); a.lanes(true); }")
        boxes = "marks => marks.map((mark) => mark.getBBox()).map(({x, width}) => x + width)"
        ends = seen.page.locator("rect.dsbd-lane-pass").evaluate_all(boxes)
        left = seen.page.locator("rect.dsbd-lane-pass").first.evaluate("mark => mark.getBBox().x")
        clock = seen.page.locator(".dsbd-lane-ground").first.evaluate("line => line.getBBox().width")
        assert (ends[ALONE - 1] - left) / clock == pytest.approx(0.5, abs=0.01)
        assert ends[-1] > ends[ALONE - 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "blocks", "joint"])
def test_nothing_is_offered_where_nothing_is_won_or_the_distribution_is_another(browser, tmp_path, name):
    """Catches a picture, a turn or an explanation for a method that does not keep the distribution."""
    visualize.export_html(toy_trace(name), tmp_path / "page.html")
    with viewer(browser, tmp_path / "page.html") as seen:
        expect(seen.page.locator(".dsbd-again")).to_be_hidden()
        unfold(seen.page)
        assert "instead" not in seen.page.inner_text(".dsbd")
        for offer in (".dsbd-why", ".dsbd-turn"):
            expect(seen.page.locator(offer)).to_be_hidden()
        show_view(seen.page, "cut")
        expect(seen.page.locator(".dsbd-cut")).to_have_count(0)


@pytest.mark.slow
def test_the_mask_shows_whom_a_node_sees_and_the_table_its_row(page):
    scene = SCENE.iterations[1]
    place = next(at for at, node in enumerate(scene.nodes) if node.column == 3 and node.kind == "drafted")
    show_view(page, "mask")
    page.hover(f".dsbd-node[data-at='{place}'] path", force=True)
    row = page.locator(".dsbd-mask-row.dsbd-current")
    assert row.get_attribute("data-at") == str(place)
    assert (row.locator(".dsbd-cell-seen").count(), row.locator(".dsbd-cell-self").count()) == (3, 1)
    assert page.inner_text(".dsbd-panel-mask .dsbd-hint").startswith(f"“{scene.nodes[place].label}” ")
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
        with page.expect_download() as waiting:
            page.get_by_role("button", name=kind, exact=True).click()
        assert waiting.value.suggested_filename == f"dsbd-pass-2.{kind.lower()}"
        files[kind] = waiting.value.path().read_bytes()
    texts = "".join(ElementTree.fromstring(files["SVG"]).itertext())
    assert all(node.label in texts for node in SCENE.iterations[1].nodes)
    assert "Token 1" in texts
    legend = page.locator(".dsbd-legend li").all_inner_texts()
    assert "width_threshold = 0.70" in legend[-1]
    assert all(part in texts for entry in legend for part in entry.split("\n"))
    assert b"var(--" not in files["SVG"]
    picture = Image.open(BytesIO(files["PNG"])).convert("RGB")
    assert len(picture.getcolors(1 << 24)) > 20
    below = picture.crop((0, picture.height - 40, picture.width, picture.height))
    assert len(below.getcolors(1 << 24)) > 20, "the legend is part of the picture"


@pytest.mark.slow
def test_a_bare_viewer_fits_on_a_slide_and_grows_with_it(browser, exported):
    """Catches tools on a slide, a card that is off it, labels of twelve pixels, and a forest that grows out of it."""
    with viewer(browser, exported, "?bare#iteration=2&step=9", viewport={"width": 700, "height": 620}) as seen:
        tools = (".dsbd-controls", ".dsbd-phases", ".dsbd-more", ".dsbd-whole")
        assert [tool for tool in tools if seen.page.is_visible(tool)] == []
        assert seen.page.locator(".dsbd-card").bounding_box()["y"] + 60 < 620
        assert seen.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        seen.page.set_viewport_size({"width": 1280, "height": 720})
        seen.page.wait_for_function("() => document.querySelector('.dsbd-label').getBoundingClientRect().height > 17")
        seen.page.wait_for_function("() => document.documentElement.scrollHeight <= innerHeight")


MOUNT = """async (options) => {
    window.trace = JSON.parse(await dsbdUnpack(document.getElementById('dsbd-trace').textContent));
    window.grown = (count) => ({...trace, iterations: trace.iterations.slice(0, count)});
    document.getElementById('viewer').remove();
    for (const [name, [count, given]] of Object.entries(options)) {
        const holder = document.body.appendChild(document.createElement('div'));
        window[name] = DsbdViewer.mount(holder, grown(count), given);
    }
}"""
"""Mount the page's trace again: a viewer for each name, with so many iterations and these options."""


@pytest.mark.slow
def test_several_viewers_keep_to_themselves_and_their_traces_can_be_replaced(browser, exported):
    """Catches a viewer that writes the place of another, and a new trace that moves the reader."""
    with viewer(browser, exported) as seen:
        page, run, last = seen.page, seen.page.evaluate, len(SCENE.iterations) - 1
        run(MOUNT, {"a": [1, {"hash": True}], "b": [9, {}], "c": [9, {}]})
        run("() => { a.goto({step: 5}); b.goto({it: 1}); c.goto({it: 4}); }")
        page.wait_for_url("**#*iteration=1&step=6*")
        run("() => a.setTrace(trace)")
        assert run("() => [a.where().it, a.where().step]") == [0, 5]
        run("() => a.setTrace(trace, {follow: true})")
        assert run("() => [a.where().it, a.where().iterations]") == [last, last + 1]
        page.wait_for_url(f"**#*iteration={last + 1}&step={len(SCENE.iterations[last].steps)}*")
        run("() => { location.hash = '#iteration=1&step=6'; }")
        page.wait_for_function("() => a.where().it === 0 && a.where().step === 5")
        assert run("() => b.where().it") == 1
        run("() => { a.destroy(); c.destroy(); b.setTrace({...grown(0), result: null}); }")
        expect(page.locator(".dsbd")).to_have_count(1)
        assert page.is_visible(".dsbd-empty")
        assert seen.errors == []


@pytest.mark.slow
def test_a_trace_that_grows_leaves_the_reader_alone(browser, exported):
    """Catches news, of which several come in a second, that undo what the reader has set, and a text that stays old."""
    with viewer(browser, exported) as seen:
        page, run = seen.page, seen.page.evaluate
        run(MOUNT, {"a": [2, {}]})
        run("() => { a.setTrace({...grown(2), result: null}); a.goto({it: 1, step: 8}); a.show('cut'); }")
        slider = page.locator(".dsbd-cut input >> nth=0")
        slider.evaluate("input => { input.value = 0.2; input.dispatchEvent(new Event('input')); input.focus(); }")
        named, said = slider.get_attribute("aria-label"), page.inner_text(".dsbd-cut-said")
        short = run("() => a.text().tokens.length")
        run("() => a.add(trace.iterations.slice(2, 4))")
        assert (slider.input_value(), page.inner_text(".dsbd-cut-said")) == ("0.2", said)
        assert run("() => document.activeElement.getAttribute('aria-label')") == named
        assert run("() => a.text().tokens.length") > short
        expect(page.locator(".dsbd-count-iteration")).to_have_text("2 of 4")
        run("() => a.add(trace.iterations.slice(4), {result: trace.result})")
        whole = run("() => a.text()")
        assert "".join(token["text"] for token in whole["tokens"]).strip() == TRACE.result.text.strip()
        seen.quiet()


@pytest.mark.slow
def test_the_opening_story_is_told_once_and_ends_with_any_input(browser, exported):
    """Catches a story that talks on while the reader acts or about another trace, starts again, writes into the
    address, or cannot pause."""
    with viewer(browser, exported) as seen:
        page, address, said = seen.page, seen.page.url, seen.sentence
        mood = "() => document.querySelector('.dsbd').dataset.story"
        page.evaluate(MOUNT, {"a": [9, {}], "b": [9, {}]})
        page.evaluate("() => { a.story(); b.story(); }")
        assert (page.evaluate(mood), page.get_attribute(".dsbd-play", "aria-label")) == ("opening", "Pause")
        page.evaluate("() => b.setTrace(grown(2))")
        told = "() => [...document.querySelectorAll('.dsbd')].map((one) => one.dataset.story ?? '')"
        assert page.evaluate(told) == ["opening", ""]
        page.wait_for_function("""() => document.querySelector(".dsbd").dataset.story === "prompt"
            && getComputedStyle(document.querySelectorAll(".dsbd-node:not([hidden])")[1]).opacity === "0" """)
        assert seen.sentence != said
        assert page.url == address
        page.mouse.click(5, 5)
        assert page.evaluate("() => a.where().it") == 0
        assert (page.evaluate("() => a.story()"), page.evaluate(mood)) == (False, None)
        assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"
        seen.quiet()


LAYER = SCENE.iterations[1].layers[0]
HEIGHTS = """() => [...document.querySelectorAll(".dsbd-cut-field")].map((field) =>
  ["outline", "kept", "filled"].map((kind) => {
    const part = field.querySelector(`.dsbd-cut-${kind}`);
    return part.hidden ? 0 : parseFloat(part.style.height);
  }))"""


@pytest.mark.slow
def test_a_worse_small_model_shrinks_the_green_and_moves_no_outline(page):
    """Catches a bar that moves an outline, a gap that stays open, and a slider whose picture does not follow."""

    def drawn() -> list:
        heights = page.evaluate(HEIGHTS)
        assert all(abs(outline - green - amber) < 1e-3 for outline, green, amber in heights)
        return heights

    page.click(".dsbd-why")
    expect(page.locator(".dsbd-cut-field")).to_have_count(len(LAYER.record.alternatives) + 1)
    expect(page.locator(".dsbd-cut")).to_contain_text(f"How many are kept here ({LAYER.width}) is chosen")
    recorded, said = drawn(), page.inner_text(".dsbd-cut-said")
    worst = max(range(len(recorded)), key=lambda at: recorded[at][0])
    page.locator(".dsbd-cut input").nth(worst).focus()
    page.keyboard.press("Home")
    dragged = drawn()
    assert [column[0] for column in dragged] == [column[0] for column in recorded]
    assert dragged[worst][1] == 0
    assert sum(column[1] for column in dragged) < sum(column[1] for column in recorded)
    assert page.inner_text(".dsbd-cut-said") != said
    box = page.locator(".dsbd-cut-field").nth(worst).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.5)
    assert drawn()[worst][1] > 0, "the bar follows the pointer too"
    page.click(".dsbd-cut-reset")
    assert drawn() == recorded


ITERATION = TRACE.iterations[1]
TRIED = [at for at, step in enumerate(SCENE.iterations[1].steps, 1) if step.phase == "trial"]
DECIDED = [pair for pair in zip(ITERATION.trials, TRIED, strict=True) if pair[0].uniform is not None]
"""Each trial that a random number decided, and the step of its verdict, as addresses count."""


@pytest.mark.slow
def test_right_answers_bring_what_was_recorded(page):
    """Catches a verdict that the forest shows before it is asked, and a game that a keyboard cannot play."""
    page.focus(".dsbd-turn")
    page.keyboard.press("Enter")
    said = page.locator(".dsbd-game-said")
    expect(page.locator(".dsbd-game").get_by_role("button", name="Play", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    for trial, step in DECIDED:
        expect(page.locator(".dsbd-game-guess")).to_be_visible()
        page.wait_for_url(f"**&step={step - 1}*")
        page.get_by_role("button", name="Accept" if trial.verdict == "accepted" else "Reject", exact=True).focus()
        page.keyboard.press("Enter")
        expect(said).to_contain_text(f"Right: {trial.verdict}")
        page.wait_for_url(f"**&step={step}*")
        expect(page.get_by_role("button", name="Next", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
    expect(said.first).to_have_text(f"You decided {len(DECIDED)} of {len(DECIDED)} guesses as the rule does.")
    scores = page.locator(".dsbd-game .dsbd-bar b").all_inner_texts()
    assert scores[0] == str(len(ITERATION.layers))
    page.keyboard.press("Escape")
    expect(page.locator(".dsbd-game")).to_be_hidden()
    expect(page.locator(".dsbd-turn")).to_be_focused()


@pytest.mark.slow
def test_the_memory_of_a_long_prompt(browser, tmp_path):
    """Catches an arrow that also turns the step, a number of the segment chosen before, and a text that is markup."""
    visualize.export_html(remembered(), tmp_path / "memory.html")
    with viewer(browser, tmp_path / "memory.html", "#iteration=2&step=3") as seen:
        page, before, said = seen.page, seen.sentence, seen.page.locator(".dsbd-memory-said")
        cells = page.locator(".dsbd-memory-cell")
        expect(page.locator(".dsbd-memory > b")).to_have_text("A long prompt, read in 10 segments")
        expect(said).to_have_text("Segment 10 recalls segment 1 (41\u202f%) and segment 2 (22\u202f%) most.")
        heights = "found => found.map((bar) => parseFloat(bar.style.height) / 100)"
        bars = page.locator(".dsbd-memory-bar:not([hidden])").evaluate_all(heights)
        assert bars == pytest.approx(remembered().prompt.memory.segments[-1].weights, abs=1e-5)
        expect(page.locator(".dsbd-memory-legend")).to_contain_text(f"{SENSORY} tokens of segment 9 again")
        expect(page.locator(".dsbd-memory")).to_contain_text("exact for these two, not for the whole prompt")
        cells.nth(2).click()
        for key, told in (("ArrowLeft", "Segment 2 recalls segment 1 (100\u202f%)."),
                          ("Home", "Segment 1 is the first one: there is nothing to recall yet.")):  # fmt: skip
            page.keyboard.press(key)
            expect(said).to_have_text(told)
        assert cells.first.evaluate("one => one === document.activeElement")
        assert page.locator(".dsbd-memory-cell[tabindex='0']").count() == 1
        assert seen.sentence == before
        cells.nth(1).click()
        text = page.inner_text(".dsbd-memory-text")
        assert text.startswith("2. </script><img src=x onerror=alert(1)>")
        assert len(text) > 600
        assert hostile_marks(page) == 0
        seen.quiet()
        assert serious(page, ".dsbd-memory") == []
