"""The viewer in a browser: steps, keys, themes, hostile tokens, the strip, the two lanes; silence to the network."""

import statistics
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import hostile_marks, show_view, unfold, viewer
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of, trace_of
from tests.visualize.viewer.test_accessible import VIEWS
from tests.watched import settle
from visualize.look.states import MARKS
from visualize.pages.trace_page import html_page
from visualize.words.words import Words, number

SCENE = scene_of("toy")
WHOLE = SCENE.whole
PHONE = {"viewport": {"width": 390, "height": 844}}
PASSES, ALONE = len(SCENE.whole.bands), SCENE.whole.bands[-1].last
TEXT = "".join(toy_trace().result.text.split())
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
    page.wait_for_url("**#iteration=1&step=2&layer=2")
    page.focus(".dsbd")
    page.keyboard.press(" ")
    expect(page.locator(".dsbd-count-step")).not_to_have_text(f"2 of {len(STEPS)}")
    page.keyboard.press(" ")
    assert page.get_attribute(".dsbd-play", "aria-label") == "Play"
    assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"


def test_the_tree_of_words_says_what_the_drawing_shows(opened):
    page = opened.page
    page.keyboard.press("End")
    show_view(page, "tree")
    items = page.locator("[role=treeitem] > span").all_inner_texts()
    assert len(items) == len(SCENE.iterations[0].nodes)
    assert any(item.startswith("␣little, kept guess, ×3, large model 0.55") for item in items)
    page.focus("[role=treeitem][tabindex='0']")
    page.keyboard.press("ArrowDown")
    focused = page.evaluate("() => document.activeElement.firstChild.textContent")
    assert focused in items[1:]
    expect(page.locator(".dsbd-token")).to_have_text(focused.split(",")[0])
    assert opened.step == len(STEPS) - 1  # the arrow moved in the tree, not in time


@pytest.mark.slow
@pytest.mark.parametrize(("touch", "least"), [(True, 44), (False, 28)])
def test_controls_are_large_and_named(browser, exported, touch, least):
    with viewer(browser, exported, has_touch=touch, is_mobile=touch) as opened:
        unfold(opened.page)
        boxes = opened.page.evaluate(
            """() => [...document.querySelectorAll('.dsbd button, .dsbd select, .dsbd input[type=range]')]
                .filter((node) => node.getClientRects().length).map((node) =>
                    [node.getAttribute('aria-label') || node.textContent, node.getBoundingClientRect().height])"""
        )
    assert len(boxes) >= 12
    assert [box for box in boxes if not box[0] or box[1] < least] == []


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
    assert said not in page.inner_text(".dsbd-card")
    page.wait_for_url(lambda url: "node=" not in url)


def test_a_link_leads_to_its_step_its_layer_and_its_node(browser, exported):
    iteration = SCENE.iterations[2]
    node = next(node for node in iteration.nodes if node.column == 2)
    layer = next(layer for layer in iteration.layers if layer.layer == 2)
    with viewer(browser, exported, "#iteration=3&step=7") as opened:
        assert opened.step == 6
    with viewer(browser, exported, f"#iteration=3&layer=2&node={node.id}") as opened:
        assert opened.step == layer.step
        expect(opened.page.locator(".dsbd-card .dsbd-token")).to_have_text(node.token)


@pytest.mark.parametrize(("scheme", "width"), [("light", 400), ("dark", 1280)])
def test_the_theme_follows_the_page_and_nothing_scrolls_sideways(browser, exported, scheme, width):
    with viewer(browser, exported, color_scheme=scheme) as opened:
        assert opened.page.get_attribute(".dsbd", "data-theme") == scheme
        opened.page.set_viewport_size({"width": width, "height": 800})
        settle(opened.page)
        assert opened.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        opened.page.evaluate("() => document.body.classList.add('dark')")
        opened.page.wait_for_selector(".dsbd[data-theme=dark]")


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


def value(page) -> tuple[str, str]:
    strip = page.locator(".dsbd-strip")
    return strip.get_attribute("aria-valuenow"), strip.get_attribute("aria-valuetext")


def shown(page) -> int:
    return int(page.input_value("[aria-label=Pass]")) - 1


def test_a_band_a_key_and_a_mark_go_to_their_pass(page):
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
    assert value(page) == ("4", f"Pass 4: {band.last - band.first + 1} tokens")
    page.focus(".dsbd-strip")
    for key, place in (("ArrowRight", 4), ("End", len(WHOLE.bands) - 1), ("ArrowRight", len(WHOLE.bands) - 1),
                       ("Home", 0), ("ArrowUp", 1), ("ArrowLeft", 0)):  # fmt: skip
        page.keyboard.press(key)
        assert (shown(page), value(page)[0]) == (place, str(place + 1))
    chosen = next(node for node in WHOLE.nodes if node.row == WHOLE.last_row)
    place = page.evaluate("""([position, row, last]) => {
        const sheet = document.querySelector(".dsbd-strip-sheet").getBoundingClientRect();
        const line = document.querySelector(".dsbd-strip-line").getAttribute("d");
        const [from, top, to] = line.match(/[\\d.]+/g).map(Number);
        const tall = Math.min(8, (sheet.height - top - 8) / last);
        return [sheet.x + from + (to - from) * position / given_tokens, sheet.y + top + row * tall];
    }""".replace("given_tokens", str(WHOLE.tokens)), [chosen.position, chosen.row, WHOLE.last_row])  # fmt: skip
    page.mouse.click(*place)
    opened = next(at for at, band in enumerate(WHOLE.bands) if band.iteration == chosen.iteration)
    assert shown(page) == opened
    assert page.inner_text(".dsbd-card .dsbd-token").strip() == chosen.label


@pytest.mark.slow
@pytest.mark.parametrize("language", ["ar"])
def test_on_a_phone_the_strip_scrolls_to_the_pass_and_speaks_the_language(browser, tmp_path, language):
    """Catches a strip that runs backwards where text does, one that widens the page, and a pass left out of sight."""
    visualize.export_html(toy_trace("wider"), tmp_path / "page.html", language=language)
    with viewer(browser, tmp_path / "page.html", **PHONE) as seen:
        page = seen.page
        page.focus(".dsbd-strip")
        page.keyboard.press("End")
        inside = page.evaluate("""() => {
            const strip = document.querySelector(".dsbd-strip").getBoundingClientRect();
            const band = document.querySelector(".dsbd-strip-band.dsbd-current").getBoundingClientRect();
            return [band.left >= strip.left - 1, band.right <= strip.right + 1,
                    document.documentElement.scrollWidth <= innerWidth];
        }""")
        assert inside == [True, True, True]
        words = Words(language).table
        assert page.locator(".dsbd-strip").get_attribute("aria-label") == words["ui.strip"]
        seen.quiet()


def counts(page) -> list[str]:
    return page.locator(".dsbd-lane-count").all_text_contents()


def typed(page) -> str:
    """Both lanes' words, without the spaces that line ends take."""
    return "".join("".join(page.locator(ROWS).all_text_contents()).split())


def test_who_wants_no_movement_sees_the_end_until_the_first_input(browser, exported):
    """Catches lanes of two texts, a count that is not the recording's, words of the wrong writer, and a picture that
    stays in the way."""
    with viewer(browser, exported, reduced_motion="reduce") as seen:
        page, lanes = seen.page, seen.page.locator(".dsbd-lanes")
        expect(lanes).to_be_hidden()
        page.click(".dsbd-again")
        expect(lanes).to_be_visible()
        assert counts(page) == [f"{ALONE} passes", f"{PASSES} passes"]
        assert typed(page) == TEXT + TEXT
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


@pytest.mark.slow
def test_they_play_once_and_turn_into_the_strip(page):
    """Catches a clock that never ends, and one that shows the end first."""
    before = page.inner_text(".dsbd-count-step")
    start = "() => { document.querySelector('.dsbd-again').click(); return document.querySelector('.dsbd-lane-count') }"
    assert page.evaluate(f"({start})().textContent") == f"0 passes / {ALONE}"
    expect(page.locator(".dsbd-lane-count").last).to_have_text(f"{PASSES} passes")
    expect(page.locator(".dsbd-lanes")).to_be_hidden(timeout=30_000)
    assert page.inner_text(".dsbd-count-step") == before, "the forest stays where the reader was"


@pytest.mark.slow
def test_they_are_saved_as_a_film(page):
    unfold(page)
    with page.expect_download() as download:
        page.click(".dsbd-film")
    assert download.value.suggested_filename == "dsbd-two-lanes.webm"
    content = download.value.path().read_bytes()
    assert content.startswith(b"\x1aE\xdf\xa3")  # EBML
    assert len(content) > 50_000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "blocks", "joint"])
def test_nothing_is_offered_where_nothing_is_won_or_the_law_is_another(browser, tmp_path, name):
    """Catches a picture, a turn or an explanation for a method that does not keep the law, a view that can change
    nothing, and a decode without lanes that has no picture."""
    visualize.export_html(toy_trace(name), tmp_path / "page.html")
    with viewer(browser, tmp_path / "page.html") as seen:
        expect(seen.page.locator(".dsbd-again")).to_be_hidden()
        unfold(seen.page)
        expect(seen.page.locator(".dsbd-film")).to_be_hidden()
        assert "instead" not in seen.page.inner_text(".dsbd")
        for offer in (".dsbd-why", ".dsbd-turn"):
            expect(seen.page.locator(offer)).to_be_hidden()
        expect(seen.page.locator(".dsbd-view option[value=cut]")).to_be_disabled()
        with seen.page.expect_download() as waiting:
            seen.page.click(".dsbd-picture")
        assert len(Image.open(waiting.value.path()).convert("RGB").getcolors(1 << 24)) > 20


WATCH = """() => {
    const root = document.querySelector('.dsbd'), touched = [], built = [];
    const observer = new MutationObserver(() => {});
    const every = {subtree: true, attributes: true, childList: true, characterData: true};
    observer.observe(root.querySelector('.dsbd-forest'), every);
    for (let step = 0; step < 300; step++) {
        const before = root.querySelector('.dsbd-count-iteration').textContent;
        root.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true, cancelable: true}));
        const moved = root.querySelector('.dsbd-count-iteration').textContent !== before;
        const phase = root.querySelector('.dsbd-phase.dsbd-current').className;
        const nodes = new Set(observer.takeRecords().map(({target}) =>
            target.closest('[data-at], .dsbd-edge, .dsbd-layer, .dsbd-focus, .dsbd-forest')));
        if (moved || !phase.includes('dsbd-phase-verify')) continue;
        touched.push(nodes.size);
        built.push(root.querySelectorAll('.dsbd-node').length);
    }
    return {touched, built};
}"""


@pytest.mark.slow
def test_a_trial_touches_its_node_and_not_the_forest(browser, tmp_path):
    """Catches a step that draws the whole forest again, which takes a tenth of a second and more."""
    path = tmp_path / "long.html"
    path.write_text(html_page([trace_of("4-cover-nodes.json.gz")]), encoding="utf-8")
    with viewer(browser, path) as seen:
        counts = seen.page.evaluate(WATCH)
    assert len(counts["touched"]) > 60
    assert max(counts["built"]) > 30
    assert statistics.median(counts["touched"]) <= 4, "its mark, its edge and the ring"
    assert max(counts["touched"]) <= 20, "and, where its label grows, the edges to its children"
