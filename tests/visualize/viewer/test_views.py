"""The linked views, what the badge says of a tampered trace, and the files the viewer saves."""

import csv
import io
import itertools
import re
import xml.etree.ElementTree as ElementTree

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import show_view, unfold, viewer
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.look.states import MARKS, mark_of

pytestmark = pytest.mark.slow

TRACE = toy_trace()
SCENE = scene_of("toy")


def press(page, *keys: str) -> None:
    """Press keys on the viewer."""
    page.focus(".dsbd")
    for key in keys:
        page.keyboard.press(key)


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


def test_slots_add_up_and_are_marked_at_the_commit(page):
    """Catches slots of repeated guesses that are counted as text."""
    show_view(page, "slots")
    for at in (1, 0):
        iteration, kept = TRACE.iterations[at], TRACE.iterations[at].kept
        forest = {node.id for node in iteration.nodes if node.kind != "drawn"}
        press(page, "End")
        stays = len(forest & set(kept.nodes))
        marked = [page.locator(f".dsbd-slot{kind}").count() for kind in ("", ".dsbd-stays", ".dsbd-dropped")]
        assert marked == [len(forest), stays, len(forest) - stays]
        counts = [int(text) for text in page.locator(".dsbd-block b").all_inner_texts()]
        assert counts[0] == kept.prompt_slots + (at == 0)  # the last token of the prompt is read in the first pass
        assert sum(counts) + len(forest) == kept.slots_scored
        page.keyboard.press("PageUp")
    expect(page.locator(".dsbd-slot.dsbd-stays")).to_have_count(0)


def test_the_charts_follow_the_iteration(page):
    show_view(page, "charts")
    page.wait_for_selector(".dsbd-chart .main-svg")
    lines = "() => [...document.querySelectorAll('.dsbd-chart')].map((chart) => chart.layout.shapes[0].x0)"
    assert page.evaluate(lines) == [2, 2]  # readers count from 1
    titles = page.locator(".dsbd-chart :is(.xtitle, .ytitle)").all_text_contents()
    assert titles == ["pass", "pass", "seconds"]
    widths = page.evaluate("() => document.querySelector('.dsbd-chart').data[0].y")
    assert widths == [len(iteration.layers) for iteration in TRACE.iterations]
    press(page, "PageDown")
    assert page.evaluate(lines) == [3, 3]


def test_what_became_the_final_text_is_underlined(page):
    """Catches the path of another beam than the best, a guess underlined before it is chosen, a silent underline."""
    parents, final = {token.id: token.parent for token in SCENE.tokens}, set()
    node = SCENE.result[0].node
    while node in parents:
        final.add(node)
        node = parents[node]
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


def test_what_if_marks_what_would_differ(page):
    iteration, differ = TRACE.iterations[1], page.locator(".dsbd-differs")
    show_view(page, "whatif")
    expect(differ).to_have_count(0)
    place = next(at for at, one in enumerate(iteration.trials) if one.verdict == "rejected" and one.acceptance > 0)
    slider = page.locator(".dsbd-panel-whatif tbody tr").nth(place).locator("input")
    slider.evaluate("input => { input.value = 0; input.dispatchEvent(new Event('input')); }")
    assert f"would differ: {differ.count()}." in page.inner_text(".dsbd-whatif-said")
    assert differ.count() > 0
    page.get_by_role("button", name="As recorded").click()
    expect(differ).to_have_count(0)


def test_the_drawing_is_saved_as_svg_and_png_and_the_nodes_as_csv(page):
    press(page, "End")
    unfold(page)
    files = {}
    for kind in ("SVG", "PNG", "CSV"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=kind, exact=True).click()
        assert waiting.value.suggested_filename == f"dsbd-iteration-1.{kind.lower()}"
        files[kind] = waiting.value.path().read_bytes()
    texts = "".join(ElementTree.fromstring(files["SVG"]).itertext())
    assert all(node.label in texts for node in SCENE.iterations[1].nodes)
    assert "Token 1" in texts
    assert b"var(--" not in files["SVG"]
    assert files["PNG"].startswith(b"\x89PNG")
    table = files["CSV"].decode("utf-8-sig")
    assert table == visualize.nodes_csv(SCENE, 1)
    states = [row["state"] for row in csv.DictReader(io.StringIO(table))]
    assert states == [node.state for node in SCENE.iterations[1].nodes]


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
    window.scene = JSON.parse(await dsbdUnpack(document.getElementById('dsbd-scene-0').textContent));
    window.grown = (count) => ({...scene, iterations: scene.iterations.slice(0, count)});
    document.getElementById('viewer').remove();
    for (const [name, [count, given]] of Object.entries(options)) {
        const holder = document.body.appendChild(document.createElement('div'));
        window[name] = DsbdViewer.mount(holder, grown(count), given);
    }
}"""
"""Mount the page's scene again: a viewer for each name, with so many iterations and these options."""


def test_several_viewers_keep_to_themselves_and_their_scenes_can_be_replaced(browser, exported):
    """Catches viewers that write their place without a prefix, and a new scene that moves the reader."""
    empty = visualize.scene_json(visualize.SceneBuilder(None).scene())
    with viewer(browser, exported) as seen:
        page, run = seen.page, seen.page.evaluate
        run(MOUNT, {"a": [1, {"hash": "a"}], "b": [9, {"hash": "b"}], "c": [9, {}]})
        run("() => { a.goto({step: 5}); b.goto({it: 1, layer: 2}); c.goto({it: 4}); }")
        page.wait_for_url("**#*a.iteration=1*b.iteration=2*")
        assert "iteration=5" not in page.url
        run("() => a.setScene(scene)")
        assert run("() => [a.where().it, a.where().step]") == [0, 5]
        run("() => a.setScene(scene, {follow: true})")
        last = len(SCENE.iterations) - 1
        assert run("() => [a.where().it, a.where().step]") == [last, len(SCENE.iterations[last].steps) - 1]
        run("() => { location.hash = '#a.iteration=1&a.step=6'; }")
        page.wait_for_function("() => a.where().it === 0 && a.where().step === 5")
        assert run("() => b.where().it") == 1
        run("(empty) => { a.destroy(); c.destroy(); b.setScene(null); b.setScene(empty); }", empty)
        expect(page.locator(".dsbd")).to_have_count(1)
        assert page.is_visible(".dsbd-empty")
        assert seen.errors == []


def test_news_of_a_running_decode_leave_the_reader_alone(browser, exported):
    """Catches a new scene, of which several come in a second, that undoes what the reader has set."""
    with viewer(browser, exported) as seen:
        page, run = seen.page, seen.page.evaluate
        run(MOUNT, {"a": [2, {}]})
        run("() => { a.goto({it: 1, step: 8}); a.show('whatif'); }")
        press(page, "+")
        width = "() => document.querySelector('.dsbd-forest').getBoundingClientRect().width"
        zoomed = run(width)
        slider = page.locator("[aria-label='width threshold']")
        slider.evaluate("input => { input.value = 0.2; input.dispatchEvent(new Event('input')); input.focus(); }")
        said = page.inner_text(".dsbd-whatif-said")
        run("() => a.setScene(grown(4))")
        assert (slider.input_value(), page.inner_text(".dsbd-whatif-said")) == ("0.2", said)
        assert run("() => document.activeElement.getAttribute('aria-label')") == "width threshold"
        expect(page.locator(".dsbd-count-iteration")).to_have_text("2 of 4")
        assert run(width) == zoomed
        run("() => { a.show('charts'); a.setScene(grown(5)); }")
        assert run("() => document.querySelector('.dsbd-chart').data[0].x.length") == 5


STORY = {"a": [9, {"story": True}]}


def test_the_opening_story_is_told_once_and_ends_with_any_input(browser, exported):
    """Catches a story that talks on while the reader acts, starts again, writes into the address, or cannot pause."""
    with viewer(browser, exported) as seen:
        page, address, sentences = seen.page, seen.page.url, [step.sentence for step in SCENE.iterations[0].steps]
        mood = "() => document.querySelector('.dsbd').dataset.story"
        page.evaluate(MOUNT, STORY)
        assert (page.evaluate(mood), page.get_attribute(".dsbd-play", "aria-label")) == ("lanes", "Pause")
        page.wait_for_selector(".dsbd[data-story=prompt]")
        assert page.locator(".dsbd-node:not([hidden]) >> nth=1").evaluate("one => getComputedStyle(one).opacity") == "0"
        assert seen.sentence not in sentences
        assert page.url == address
        page.mouse.click(5, 5)
        assert seen.sentence in sentences
        assert (page.evaluate("() => a.story()"), page.evaluate(mood)) == (False, None)
        assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"
        page.reload()
        page.wait_for_selector(".dsbd-play")
        page.evaluate(MOUNT, STORY)
        page.click(".dsbd-play")
        assert (page.get_attribute(".dsbd-play", "aria-label"), page.evaluate(mood)) == ("Play", None)
        seen.quiet()


def test_the_story_told_to_its_end_waits_where_its_pass_is_over(browser, exported):
    """Catches an end in the middle of things, and a play button that goes nowhere from there."""
    with viewer(browser, exported) as seen:
        page, where = seen.page, "() => [a.where().it, a.where().step]"
        page.clock.install()
        page.evaluate(MOUNT, STORY)
        page.clock.run_for(5600 + 8700)  # the two lanes, then the first pass
        assert page.evaluate(where) == [0, len(SCENE.iterations[0].steps) - 1]
        assert seen.sentence == SCENE.iterations[0].steps[-1].sentence
        page.click(".dsbd-play")
        page.clock.run_for(1200)
        assert page.evaluate(where) == [1, 0]
        seen.quiet()


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


def test_the_width_and_the_place_in_the_text_are_seen_where_every_node_has_a_row(browser, exported):
    """Catches a phone that hides the dynamic width, and a token whose number starts again in every pass."""
    iteration, phone = SCENE.iterations[1], {"viewport": {"width": 390, "height": 844}}
    address = f"#iteration=2&step={len(iteration.steps)}"
    with viewer(browser, exported, address, **phone) as seen:
        kept = [
            f"Token {layer.layer} · {iteration.before + layer.layer}\nkeep {layer.width}" for layer in iteration.layers
        ]
        expect(seen.page.locator(".dsbd-widths li")).to_have_text(kept, use_inner_text=True)
    with viewer(browser, exported, address, viewport={"width": 1000, "height": 800}) as seen:
        kept = [f"keep {layer.width}" for layer in iteration.layers]
        expect(seen.page.locator(".dsbd-head-width")).to_have_text(kept)
        first = seen.page.locator(".dsbd-head-title").first
        expect(first).to_have_text(re.compile(rf"^Token 1 · {iteration.before + 1}( in the text)?$"))


def test_a_dotted_word_opens_its_line_by_mouse_and_by_key(page):
    """Catches a word of the trade that is explained nowhere, or only to those with a mouse."""
    show_view(page, "table")
    word, line = page.locator(".dsbd-panel-table .dsbd-term"), page.locator(".dsbd-panel-table .dsbd-term-line")
    expect(line).to_be_hidden()
    word.click()
    expect(line).to_contain_text("One mark stands for several exact states.")
    expect(word).to_have_attribute("aria-expanded", "true")
    word.press("Enter")
    expect(line).to_be_hidden()
