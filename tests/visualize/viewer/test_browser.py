"""The viewer in a browser: steps, keys, themes, hostile tokens, and silence towards the network."""

import xml.etree.ElementTree as ElementTree

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import hostile_marks, show_view, unfold, viewer
from tests.visualize.nasty import nasty_trace
from tests.visualize.traces import scene_of
from tests.visualize.viewer.test_accessible import VIEWS
from tests.watched import settle
from visualize.words.words import number

SCENE = scene_of("toy")
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
