"""The linked views, cut and fill, the game, traces that grow, the opening story, and the files the viewer saves."""

import itertools
import re
import xml.etree.ElementTree as ElementTree

import pytest
from playwright.sync_api import expect

import dsbd
import visualize
from tests.visualize.homes import show_view, unfold, viewer
from tests.visualize.story_pair import PROMPT, story_pair
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from tests.visualize.viewer.test_accessible import VIEWS
from visualize.look.states import MARKS, mark_of

TRACE = toy_trace()
SCENE = scene_of("toy")


def press(page, *keys: str) -> None:
    """Press keys on the viewer."""
    page.focus(".dsbd")
    for key in keys:
        page.keyboard.press(key)


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
    rows.nth(3).click()
    page.wait_for_url("**&node=*")


@pytest.mark.slow
def test_the_charts_follow_the_iteration(page):
    show_view(page, "charts")
    expect(page.locator(".dsbd-chart")).to_have_count(2)
    bands = page.locator(".dsbd-chart >> nth=0 >> .dsbd-chart-band")
    expect(bands).to_have_count(len(TRACE.iterations))
    widths = [layer.width for iteration in TRACE.iterations for layer in iteration.layers]
    expect(page.locator(".dsbd-chart .dsbd-chart-width")).to_have_count(len(widths))
    expect(bands.nth(1)).to_have_class("dsbd-chart-band dsbd-current")
    press(page, "PageDown")
    expect(bands.nth(2)).to_have_class("dsbd-chart-band dsbd-current")
    bands.nth(4).click()
    assert page.input_value("[aria-label=Pass]") == "5"


@pytest.mark.slow
def test_what_became_the_final_text_is_underlined(page):
    """Catches the path of another beam than the best, a guess underlined before it is chosen, a silent underline."""
    final = {node.id for node in SCENE.whole.nodes if node.row == 0}
    show_view(page, "tree")
    press(page, "PageUp", "Home")
    expect(page.locator(".dsbd-forest .dsbd-final")).to_have_count(0)
    seen = set()
    for iteration in SCENE.iterations:
        page.keyboard.press("End")
        places = page.locator(".dsbd-node:not([hidden])").evaluate_all(
            "found => found.filter((one) => one.querySelector('.dsbd-final')).map((one) => Number(one.dataset.at))"
        )
        underlined = {iteration.nodes[place].id for place in places}
        assert underlined == {one.id for one in iteration.nodes} & final
        expect(page.locator(".dsbd-legend .dsbd-final")).to_have_count(int(bool(places)))
        said = page.locator(".dsbd-tree li:not([hidden]) > span").filter(has_text="in the final text")
        expect(said).to_have_count(len(places))
        seen |= underlined
        page.keyboard.press("PageDown")
    assert seen == final


@pytest.mark.slow
def test_the_drawing_is_saved_as_svg_and_png(page):
    press(page, "End")
    unfold(page)
    files = {}
    for kind in ("SVG", "PNG"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=kind, exact=True).click()
        assert waiting.value.suggested_filename == f"dsbd-iteration-1.{kind.lower()}"
        files[kind] = waiting.value.path().read_bytes()
    texts = "".join(ElementTree.fromstring(files["SVG"]).itertext())
    assert all(node.label in texts for node in SCENE.iterations[1].nodes)
    assert "Token 1" in texts
    assert b"var(--" not in files["SVG"]
    assert files["PNG"].startswith(b"\x89PNG")


@pytest.mark.slow
def test_every_node_has_a_row_on_a_narrow_page(browser, exported):
    """Catches labels that cross each other, a child above its parent, and a root that is scrolled out of sight."""
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with viewer(browser, exported, "#iteration=1&step=9", **phone) as seen:
        page = seen.page
        places = page.evaluate(
            """() => [...document.querySelectorAll('.dsbd-node')].map(
                (node) => node.getAttribute('transform').match(/[-\\d.]+/g).map(Number))"""
        )
        heights = sorted(y for _, y in places)
        assert min(high - low for low, high in itertools.pairwise(heights)) > 20
        for node, (x, y) in zip(SCENE.iterations[0].nodes, places, strict=True):
            if node.parent >= 0:
                left, top = places[node.parent]
                assert (x > left, y > top) == (True, True)
        assert not page.is_visible(".dsbd-head-bands")
        assert page.locator(".dsbd-node >> nth=0").bounding_box()["y"] < 844
        bar = page.locator(".dsbd-controls").bounding_box()
        assert bar["y"] + bar["height"] <= 844  # the controls stay at the bottom of the screen
        for act, visible in ((None, False), (".dsbd-node:not([hidden]) >> nth=-1 >> .dsbd-hit", True),
                             (".dsbd-card .dsbd-close", False)):  # fmt: skip
            if act:
                page.locator(act).tap(force=True)
            expect(page.locator(".dsbd-card")).to_be_visible(visible=visible)


@pytest.mark.slow
def test_a_key_held_down_leaves_its_last_place_in_the_address(page):
    """Browsers drop addresses written faster than they like, and with them the place where the key was let go."""
    writes = page.evaluate(
        """async () => { const put = history.replaceState.bind(history); let count = 0;
        history.replaceState = (...given) => { count++; put(...given); };
        const press = (key) => document.querySelector('.dsbd').dispatchEvent(
            new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
        press('Home');
        for (let times = 0; times < 20; times++) {
            press('ArrowRight');
            await new Promise((done) => setTimeout(done, 5));
        }
        await new Promise((done) => setTimeout(done, 300));
        return count; }"""
    )
    assert "step=21" in page.url
    assert writes < 15


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
    window.trace = JSON.parse(await dsbdUnpack(document.getElementById('dsbd-scene-0').textContent));
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
        page, run = seen.page, seen.page.evaluate
        run(MOUNT, {"a": [1, {"hash": True}], "b": [9, {}], "c": [9, {}]})
        run("() => { a.goto({step: 5}); b.goto({it: 1, layer: 2}); c.goto({it: 4}); }")
        page.wait_for_url("**#*iteration=1&step=6*")
        run("() => a.setTrace(trace)")
        assert run("() => [a.where().it, a.where().step]") == [0, 5]
        run("() => a.setTrace(trace, {follow: true})")
        last = len(SCENE.iterations) - 1
        steps = len(SCENE.iterations[last].steps)
        where = run("() => a.where()")
        assert [where[name] for name in ("it", "step", "iterations", "steps")] == [last, steps - 1, last + 1, steps]
        run("() => { location.hash = '#iteration=1&step=6'; }")
        page.wait_for_function("() => a.where().it === 0 && a.where().step === 5")
        assert run("() => b.where().it") == 1
        run("() => { a.destroy(); c.destroy(); b.setTrace(null); b.setTrace({...grown(0), result: null}); }")
        expect(page.locator(".dsbd")).to_have_count(1)
        assert page.is_visible(".dsbd-empty")
        run("() => b.add(trace.iterations, {result: trace.result, follow: true})")
        assert not page.is_visible(".dsbd-empty")
        assert run("() => b.where().it") == last
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
        run("() => { a.show('charts'); a.add(trace.iterations.slice(4), {result: trace.result}); }")
        expect(page.locator(".dsbd-chart >> nth=0 >> .dsbd-chart-band")).to_have_count(len(SCENE.iterations))
        whole = run("() => a.text()")
        assert "".join(token["text"] for token in whole["tokens"]).strip() == TRACE.result.text.strip()
        seen.quiet()


@pytest.mark.slow
def test_a_decode_without_guesses_is_drawn_without_errors(browser, tmp_path):
    """Catches an empty forest whose drawing has impossible sizes."""
    settings = dsbd.DecodingSettings(method="beam_search", num_beams=3, max_new_tokens=12)
    visualize.export_html(dsbd.decode(story_pair(), PROMPT, settings, record=True), tmp_path / "page.html")
    with viewer(browser, tmp_path / "page.html") as seen:
        press(seen.page, "End", "PageDown", "End")
        for view in VIEWS:
            if not seen.page.locator(f".dsbd-view option[value={view}]").is_disabled():
                show_view(seen.page, view)
        seen.quiet()


STORY = {"a": [9, {"story": True}]}


@pytest.mark.slow
def test_the_opening_story_is_told_once_and_ends_with_any_input(browser, exported):
    """Catches a story that talks on while the reader acts, starts again, writes into the address, or cannot pause."""
    with viewer(browser, exported) as seen:
        page, address, said = seen.page, seen.page.url, seen.sentence
        mood = "() => document.querySelector('.dsbd').dataset.story"
        page.evaluate(MOUNT, STORY)
        assert (page.evaluate(mood), page.get_attribute(".dsbd-play", "aria-label")) == ("lanes", "Pause")
        page.wait_for_selector(".dsbd[data-story=prompt]")
        assert page.locator(".dsbd-node:not([hidden]) >> nth=1").evaluate("one => getComputedStyle(one).opacity") == "0"
        assert seen.sentence != said
        assert page.url == address
        page.mouse.click(5, 5)
        assert page.evaluate("() => a.where().it") == 0
        assert (page.evaluate("() => a.story()"), page.evaluate(mood)) == (False, None)
        assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"
        page.reload()
        page.wait_for_selector(".dsbd-play")
        page.evaluate(MOUNT, STORY)
        page.click(".dsbd-play")
        assert (page.get_attribute(".dsbd-play", "aria-label"), page.evaluate(mood)) == ("Play", None)
        seen.quiet()


@pytest.mark.slow
def test_the_story_told_to_its_end_waits_where_its_pass_is_over(browser, exported):
    """Catches an end in the middle of things, and a play button that goes nowhere from there."""
    with viewer(browser, exported) as seen:
        page, where = seen.page, "() => [a.where().it, a.where().step]"
        page.clock.install()
        page.evaluate(MOUNT, STORY)
        page.clock.run_for(5600 + 8700)  # the two lanes, then the first pass
        assert page.evaluate(where) == [0, len(SCENE.iterations[0].steps) - 1]
        page.click(".dsbd-play")
        page.clock.run_for(1200)
        assert page.evaluate(where) == [1, 0]
        seen.quiet()


@pytest.mark.slow
def test_only_marks_that_occur_are_explained_and_the_formula_stays_as_the_reader_left_it(page):
    """Catches a legend of eleven marks below a forest with four."""
    changes = [change for step in SCENE.iterations[1].steps for change in step.changes]
    shown = page.locator(".dsbd-legend li").all_inner_texts()
    assert len(shown) <= 7
    assert any("×2" in one for one in shown) == any(change.slots > 1 for change in changes)
    marks = page.locator(".dsbd-legend li[data-mark]").evaluate_all("found => found.map((one) => one.dataset.mark)")
    assert marks == [mark for mark in MARKS if mark in {mark_of(change.state) for change in changes}]
    for _ in range(60):
        if page.locator(".dsbd-formula-place summary").count():
            break
        press(page, "ArrowRight")
    expect(page.locator(".dsbd-formula-place details[open]")).to_have_count(0)
    page.click(".dsbd-formula-place summary")
    page.wait_for_timeout(50)
    press(page, "ArrowLeft", "ArrowRight")
    expect(page.locator(".dsbd-formula-place details[open]")).to_have_count(1)
    expect(page.locator(".dsbd-card details[open]")).to_have_count(1)


LAYER = SCENE.iterations[1].layers[0]
HEIGHTS = """() => [...document.querySelectorAll(".dsbd-cut-field")].map((field) =>
  ["outline", "kept", "filled"].map((kind) => {
    const part = field.querySelector(`.dsbd-cut-${kind}`);
    return part.hidden ? 0 : parseFloat(part.style.height);
  }))"""

NOTES_HIT = """() => [...document.querySelectorAll(".dsbd-cut-field")].flatMap((field) => {
  const [note, off] = ["note", "off"].map((kind) => field.querySelector(`.dsbd-cut-${kind}`).getBoundingClientRect());
  return off.height && note.height && note.bottom > off.top + 1 ? [note.bottom - off.top] : [];
})"""


def kept(page) -> float:
    return float(re.search(r"\d(\.\d+)?", page.inner_text(".dsbd-cut-said")).group())


def require_full(heights) -> None:
    assert all(abs(outline - green - amber) < 1e-3 for outline, green, amber in heights)


@pytest.mark.slow
def test_a_worse_small_model_shrinks_the_green_and_moves_no_outline(page):
    """Catches a bar that moves an outline, a gap that stays open, and a slider whose picture does not follow."""
    page.click(".dsbd-why")
    expect(page.locator(".dsbd-cut-field")).to_have_count(len(LAYER.record.alternatives) + 1)
    expect(page.locator(".dsbd-cut")).to_contain_text(f"How many are kept here ({LAYER.width}) is chosen")
    recorded, before = page.evaluate(HEIGHTS), kept(page)
    require_full(recorded)
    assert page.evaluate(NOTES_HIT) == []
    worst = max(range(len(recorded)), key=lambda at: recorded[at][0])
    slider = page.locator(".dsbd-cut input").nth(worst)
    slider.focus()
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "0")
    dragged = page.evaluate(HEIGHTS)
    require_full(dragged)
    assert [column[0] for column in dragged] == [column[0] for column in recorded]
    assert dragged[worst][1] == 0
    assert kept(page) < before
    box = page.locator(".dsbd-cut-field").nth(worst).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.5)
    require_full(page.evaluate(HEIGHTS))
    assert page.evaluate(HEIGHTS)[worst][1] > 0, "the bar follows the pointer too"
    page.click(".dsbd-cut-reset")
    assert page.evaluate(HEIGHTS) == recorded


ITERATION = TRACE.iterations[1]
DECIDED = [trial for trial in ITERATION.trials if trial.uniform is not None]
PLACES = [at for at, trial in enumerate(ITERATION.trials) if trial.uniform is not None]
TRIED = [at for at, step in enumerate(SCENE.iterations[1].steps, 1) if step.phase == "trial"]
VERDICTS = [TRIED[place] for place in PLACES]
"""Where each verdict is shown, as addresses count."""


@pytest.mark.slow
def test_right_answers_bring_what_was_recorded(page):
    """Catches a verdict that the forest shows before it is asked, and a game that a keyboard cannot play."""
    page.focus(".dsbd-turn")
    page.keyboard.press("Enter")
    said = page.locator(".dsbd-game-said")
    expect(page.locator(".dsbd-game").get_by_role("button", name="Play", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    for trial, step in zip(DECIDED, VERDICTS, strict=True):
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
def test_a_wrong_answer_is_explained(page):
    page.click(".dsbd-turn")
    panel, said = page.locator(".dsbd-game"), page.locator(".dsbd-game-said")
    panel.get_by_role("button", name="Play", exact=True).click()
    for trial in DECIDED:
        panel.get_by_role("button", name="Accept", exact=True).click()
        if trial.verdict == "rejected":
            expect(said).to_contain_text("would no longer follow the large model")
        panel.get_by_role("button", name="Next", exact=True).click()
    expect(said.first).to_contain_text(f" of {len(DECIDED)} guesses")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 800), (390, 844)])
def test_the_forest_and_the_question_are_seen_together(browser, exported, size):
    """Catches a question that stands below the forest, covers the guess it asks about, or outlives its pass."""
    with viewer(browser, exported, "#iteration=2", viewport=dict(zip(("width", "height"), size, strict=True))) as seen:
        page = seen.page
        page.click(".dsbd-turn")
        page.keyboard.press("Enter")
        for name in ("Accept", "Next"):
            asked, shown = page.get_by_role("button", name=name, exact=True), page.locator(".dsbd-scroller")
            expect(asked).to_be_in_viewport(ratio=1)
            expect(shown).to_be_in_viewport(ratio=0.9)
            forest, game = shown.bounding_box(), page.locator(".dsbd-game").bounding_box()
            assert game["x"] >= forest["x"] + forest["width"] or game["y"] >= forest["y"] + forest["height"]
            asked.click()
        page.keyboard.press("PageUp")
        expect(page.locator(".dsbd-game")).to_be_hidden()
        seen.quiet()
