"""The linked views, what the badge says of a tampered trace, and the files the viewer saves."""

import csv
import io
import itertools
import re
import xml.etree.ElementTree as ElementTree

import pytest

import visualize
from tests.visualize.homes import show_view, unfold, viewer
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from tests.visualize.traces import RECORDED, TRACES, scene_of
from tests.visualize.viewer.test_audit import tampered

pytestmark = pytest.mark.slow

TRACE = toy_trace()
SCENE = scene_of("toy")


def test_a_node_pointed_at_shows_whom_it_sees(page):
    scene = SCENE.iterations[1]
    place = next(at for at, node in enumerate(scene.nodes) if node.column == 3 and node.kind == "drafted")
    show_view(page, "mask")
    page.hover(f".dsbd-node[data-at='{place}'] path", force=True)
    row = page.locator(".dsbd-mask-row.dsbd-current")
    assert row.get_attribute("data-at") == str(place)
    assert row.locator(".dsbd-cell-seen").count() == 3
    assert row.locator(".dsbd-cell-self").count() == 1
    said = page.inner_text(".dsbd-panel-mask .dsbd-hint")
    assert (
        said.startswith(f"“{scene.nodes[place].label}” sees the prompt and “{scene.nodes[0].label[:3]}") or "→" in said
    )
    page.hover(".dsbd-mask-row >> nth=2 >> .dsbd-cell-self")
    assert page.locator(".dsbd-mask-row.dsbd-current").get_attribute("data-at") == "2"


def test_slots_are_marked_at_the_commit(page):
    show_view(page, "slots")
    assert page.locator(".dsbd-slot.dsbd-stays").count() == 0
    page.focus(".dsbd")
    page.keyboard.press("End")
    slots = TRACE.iterations[1].kept
    told = page.inner_text(".dsbd-panel-slots p >> nth=0")
    assert str(slots.slots_scored) in told
    assert str(slots.slots_kept) in told
    forest = [node for node in TRACE.iterations[1].nodes if node.kind != "drawn"]
    stays = {node.id for node in forest} & set(slots.nodes)
    assert page.locator(".dsbd-slot").count() == len(forest)
    assert page.locator(".dsbd-slot.dsbd-stays").count() == len(stays)
    assert page.locator(".dsbd-slot.dsbd-dropped").count() == len(forest) - len(stays)


def test_the_slots_of_prompt_versions_and_guesses_add_up(page):
    """Catches slots of repeated guesses that are counted as text."""
    show_view(page, "slots")
    for at, prompt, read in ((1, 0, len(TRACE.iterations[1].input_beams)), (0, 1, 0)):
        if at == 0:
            page.focus(".dsbd")
            page.keyboard.press("PageUp")
        kept, forest = TRACE.iterations[at].kept, [one for one in TRACE.iterations[at].nodes if one.kind != "drawn"]
        before = TRACE.iterations[at - 1].kept.slots_kept if at else kept.prompt_slots
        counts = [int(text) for text in page.locator(".dsbd-block b").all_inner_texts()]
        assert counts[0] == kept.prompt_slots + prompt
        if at:
            assert counts[1] == before - kept.prompt_slots + read
        assert sum(counts) + len(forest) == kept.slots_scored


def test_the_charts_follow_the_iteration_and_lead_to_it(page):
    show_view(page, "charts")
    page.wait_for_selector(".dsbd-chart .main-svg")
    lines = "() => [...document.querySelectorAll('.dsbd-chart')].map((chart) => chart.layout.shapes[0].x0)"
    assert page.evaluate(lines) == [2, 2]  # readers count from 1
    widths = page.evaluate("() => document.querySelector('.dsbd-chart').data[0].y")
    assert widths == [len(iteration.layers) for iteration in TRACE.iterations]
    page.focus(".dsbd")
    page.keyboard.press("PageDown")
    assert page.evaluate(lines) == [3, 3]


def test_what_became_the_final_text_is_underlined(page):
    """Catches the path of another beam than the best, a guess underlined before it is chosen, a silent underline."""
    parents, final = {token.id: token.parent for token in SCENE.tokens}, set()
    node = SCENE.result[0].node
    while node in parents:
        final.add(node)
        node = parents[node]
    show_view(page, "tree")
    page.focus(".dsbd")
    page.keyboard.press("PageUp")
    page.keyboard.press("Home")
    assert page.locator(".dsbd-forest .dsbd-final").count() == 0
    seen = set()
    for iteration in SCENE.iterations:
        page.keyboard.press("End")
        places = page.locator(".dsbd-node:not([hidden])").evaluate_all(
            "found => found.filter((one) => one.querySelector('.dsbd-final')).map((one) => Number(one.dataset.at))"
        )
        underlined = {iteration.nodes[place].id for place in places}
        assert underlined == {one.id for one in iteration.nodes} & final
        assert page.locator(".dsbd-legend .dsbd-final").count() == bool(places)
        said = page.locator(".dsbd-tree li:not([hidden]) > span").filter(has_text="in the final text")
        assert said.count() == len(places)
        seen |= underlined
        page.keyboard.press("PageDown")
    assert seen == final


def test_the_table_has_a_row_for_every_node_that_is_there(page):
    show_view(page, "table")
    shown = page.locator(".dsbd-panel-table tbody tr:not([hidden])").count()
    assert shown == page.locator(".dsbd-node:not([hidden])").count()
    page.locator(".dsbd-panel-table tbody tr:not([hidden]) >> nth=3").click()
    page.wait_for_url("**&node=*")


def test_what_if_marks_what_would_differ(page):
    iteration = TRACE.iterations[1]
    show_view(page, "whatif")
    assert "This did not happen" in page.inner_text(".dsbd-counterfactual")
    assert page.locator(".dsbd-differs").count() == 0
    place = next(at for at, one in enumerate(iteration.trials) if one.verdict == "rejected" and one.acceptance > 0)
    row = page.locator(".dsbd-panel-whatif tbody tr").nth(place)
    row.locator("input").evaluate("input => { input.value = 0; input.dispatchEvent(new Event('input')); }")
    assert page.locator(".dsbd-differs").count() > 0
    said = page.inner_text(".dsbd-whatif-said")
    assert f"would differ: {page.locator('.dsbd-differs').count()}." in said
    assert f"ends with layer {iteration.nodes[iteration.trials[place].node - iteration.nodes[0].id].layer}" in said
    page.get_by_role("button", name="As recorded").click()
    assert page.locator(".dsbd-differs").count() == 0


def test_a_tampered_trace_is_called_out(browser, tmp_path):
    trace, at = tampered(RECORDED["1-dynamic-width.json.gz"], "uniform", 1)
    path = tmp_path / "tampered.html"
    visualize.export_html(trace, path)
    with viewer(browser, path) as seen:
        page = seen.page
        page.wait_for_selector(".dsbd-badge.dsbd-failed")
        told = page.inner_text(".dsbd-badge")
        assert re.fullmatch(rf"iteration {at + 1}, layer \d+: the verdict on “.+” does not follow", told)
        page.click(".dsbd-badge")
        page.wait_for_url(f"**#iteration={at + 1}&*")
        token = re.search("“(.+)”", told).group(1)
        assert token in page.inner_text(".dsbd-sentence")


def test_the_drawing_is_saved_as_svg_and_png_and_the_nodes_as_csv(page):
    page.focus(".dsbd")
    page.keyboard.press("End")
    files = {}
    unfold(page)
    for kind in ("SVG", "PNG", "CSV"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=kind, exact=True).click()
        assert waiting.value.suggested_filename == f"dsbd-iteration-1.{kind.lower()}"
        files[kind] = waiting.value.path().read_bytes()
    root = ElementTree.fromstring(files["SVG"])
    texts = "".join(root.itertext())
    assert all(node.label in texts for node in SCENE.iterations[1].nodes)
    assert "Token 1" in texts
    assert not re.search(r"var\(--", files["SVG"].decode())
    assert files["PNG"].startswith(b"\x89PNG")
    assert files["CSV"].decode("utf-8-sig") == visualize.nodes_csv(SCENE, 1)
    rows = list(csv.DictReader(io.StringIO(files["CSV"].decode("utf-8-sig"))))
    assert [row["state"] for row in rows] == [node.state for node in SCENE.iterations[1].nodes]


def test_every_node_has_a_row_on_a_narrow_page(browser, exported):
    """Catches labels that cross each other, a child above its parent, and a root that is scrolled out of sight."""
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with viewer(browser, exported, "#iteration=1&step=9", **phone) as seen:
        page = seen.page
        nodes = SCENE.iterations[0].nodes
        places = page.evaluate(
            """() => [...document.querySelectorAll('.dsbd-node')].map(
                (node) => node.getAttribute('transform').match(/[-\\d.]+/g).map(Number))"""
        )
        heights = sorted(y for _, y in places)
        assert min(high - low for low, high in itertools.pairwise(heights)) > 20
        for node, (x, y) in zip(nodes, places, strict=True):
            if node.parent >= 0:
                left, top = places[node.parent]
                assert (x > left, y > top) == (True, True)
        assert not page.is_visible(".dsbd-head-bands")
        assert page.evaluate("() => document.querySelector('.dsbd-scroller').scrollTop") == 0
        assert page.locator(".dsbd-node >> nth=0").bounding_box()["y"] < 844
        bar = page.locator(".dsbd-controls").bounding_box()
        assert bar["y"] + bar["height"] <= 844  # the controls stay at the bottom of the screen
        assert not page.is_visible(".dsbd-card")
        page.locator(".dsbd-node:not([hidden]) >> nth=2").locator(".dsbd-hit").tap(force=True)
        assert page.is_visible(".dsbd-card")
        page.click(".dsbd-close")
        assert not page.is_visible(".dsbd-card")


def test_hashes_of_several_viewers_do_not_fight(browser, exported):
    """Two viewers that both wrote #it would drag each other about."""
    with viewer(browser, exported) as seen:
        page = seen.page
        page.evaluate(
            """async () => {
            const scene = JSON.parse(await dsbdUnpack(document.getElementById('dsbd-scene-0').textContent));
            for (const name of ['a', 'b', 'c']) {
                const holder = document.body.appendChild(document.createElement('div'));
                window[name] = DsbdViewer.mount(holder, scene, {hash: name === 'c' ? false : name});
            }
            a.goto({it: 2, step: 3}); b.goto({it: 1, layer: 2}); c.goto({it: 4}); }"""
        )
        page.wait_for_url("**#*a.iteration=3*b.iteration=2*")
        assert "iteration=5" not in page.url
        page.evaluate("() => { location.hash = '#a.iteration=1&a.step=6'; }")
        page.wait_for_function("() => a.where().it === 0 && a.where().step === 5")
        assert page.evaluate("() => b.where().it") == 1


def test_news_of_a_running_decode_leave_the_reader_alone(browser, exported):
    """While a decode runs, scenes arrive several times a second: what a reader has set must survive them."""
    with viewer(browser, exported) as seen:
        page = seen.page
        page.evaluate(
            """async () => {
            window.scene = JSON.parse(await dsbdUnpack(document.getElementById('dsbd-scene-0').textContent));
            document.getElementById('viewer').remove();
            const holder = document.body.appendChild(document.createElement('div'));
            window.grown = (count) => ({...scene, iterations: scene.iterations.slice(0, count)});
            window.viewer = DsbdViewer.mount(holder, grown(2));
            viewer.goto({it: 1, step: 8}); viewer.show('whatif'); }"""
        )
        slider = page.locator("[aria-label='width threshold']")
        slider.evaluate("input => { input.value = 0.2; input.dispatchEvent(new Event('input')); input.focus(); }")
        said = page.inner_text(".dsbd-whatif-said")
        page.evaluate("() => viewer.setScene(grown(4))")
        assert slider.input_value() == "0.2"
        assert page.inner_text(".dsbd-whatif-said") == said
        assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "width threshold"
        assert page.inner_text(".dsbd-count-iteration") == "2 of 4"
        page.evaluate("() => { viewer.show('charts'); viewer.setScene(grown(5)); }")
        assert page.evaluate("() => document.querySelector('.dsbd-chart').data[0].x.length") == 5


def test_a_link_to_a_layer_leads_to_its_width(browser, exported):
    node = next(node for node in SCENE.iterations[2].nodes if node.column == 2)
    with viewer(browser, exported, f"#iteration=3&layer=2&node={node.id}") as seen:
        page = seen.page
        layer = next(layer for layer in SCENE.iterations[2].layers if layer.layer == 2)
        assert page.inner_text(".dsbd-sentence") == SCENE.iterations[2].steps[layer.step].sentence
        assert page.inner_text(".dsbd-card .dsbd-token") == node.token


def test_hostile_tokens_stay_text_in_every_view(browser, tmp_path):
    path = tmp_path / "nasty.html"
    visualize.export_html(nasty_trace(), path)
    markup = "() => document.querySelectorAll('.dsbd img, .dsbd script, .dsbd a[href]').length"
    with viewer(browser, path, "#iteration=2") as seen:
        page = seen.page
        page.focus(".dsbd")
        page.keyboard.press("End")
        for view in ("text", "whatif", "mask", "slots", "charts", "layers", "tree", "table", "result"):
            show_view(page, view)
            assert page.evaluate(markup) == 0
        with page.expect_download() as waiting:
            page.get_by_role("button", name="SVG", exact=True).click()
        ElementTree.fromstring(waiting.value.path().read_bytes())
        assert seen.errors == []


def test_a_key_held_down_leaves_its_last_place_in_the_address(page):
    """Browsers drop addresses written faster than they like, and with them the place where the key was let go."""
    writes = page.evaluate(
        """async () => { const put = history.replaceState.bind(history); let count = 0;
        history.replaceState = (...given) => { count++; put(...given); };
        const root = document.querySelector('.dsbd');
        root.dispatchEvent(new KeyboardEvent('keydown', {key: 'Home', bubbles: true, cancelable: true}));
        for (let press = 0; press < 20; press++) {
            root.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true, cancelable: true}));
            await new Promise((done) => setTimeout(done, 5));
        }
        await new Promise((done) => setTimeout(done, 300));
        return count; }"""
    )
    assert "step=21" in page.url
    assert writes < 15


def test_views_offer_nothing_that_does_nothing(browser, tmp_path):
    """Catches sliders that can change no verdict, and a legend for marks that are not drawn."""
    path = tmp_path / "plain.html"
    visualize.export_html(TRACES["plain"], path)
    with viewer(browser, path, "#iteration=1&step=1000") as seen:
        unfold(seen.page)
        assert seen.page.locator(".dsbd-view option:disabled").all_inner_texts() == ["What if"]
        show_view(seen.page, "slots")
        assert not seen.page.is_visible(".dsbd-panel-slots .dsbd-key")


OPEN = """async (options) => {
    window.scene = JSON.parse(await dsbdUnpack(document.getElementById('dsbd-scene-0').textContent));
    const holder = document.getElementById('viewer');
    holder.replaceChildren();
    window.handle = DsbdViewer.mount(holder, scene, options);
}"""
"""Mount the page's scene again with other options."""


def test_the_opening_story_is_told_once_and_ends_with_any_input(browser, exported):
    """Catches a story that talks on while the reader acts, starts again, or writes its places into the address."""
    with viewer(browser, exported) as seen:
        page, address = seen.page, seen.page.url
        page.evaluate(OPEN, {"story": True})
        assert seen.sentence == "The prompt. How might it go on?"
        assert page.locator(".dsbd-node:not([hidden]) >> nth=1").evaluate("one => getComputedStyle(one).opacity") == "0"
        page.wait_for_function("() => document.querySelector('.dsbd-sentence').textContent.startsWith('A small model')")
        assert page.url == address
        page.mouse.move(5, 5)
        page.mouse.down()
        page.mouse.up()
        assert seen.sentence in [step.sentence for step in SCENE.iterations[0].steps]
        assert page.evaluate("() => [handle.story(), document.querySelector('.dsbd').dataset.story]") == [False, None]
        assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"
        seen.quiet()


def test_the_play_button_is_the_pause_of_the_story(browser, exported):
    """Catches a button that says "play" while the picture moves, and one that plays on when it is pressed to pause."""
    with viewer(browser, exported) as seen:
        page = seen.page
        page.evaluate(OPEN, {"story": True})
        assert page.get_attribute(".dsbd-play", "aria-label") == "Pause"
        page.click(".dsbd-play")
        assert page.get_attribute(".dsbd-play", "aria-label") == "Play"
        assert page.evaluate("() => document.querySelector('.dsbd').dataset.story") is None
        seen.quiet()


def test_the_story_told_to_its_end_waits_where_its_pass_is_over(browser, exported):
    """Catches an end in the middle of things, and a play button that goes nowhere from there."""
    with viewer(browser, exported) as seen:
        page = seen.page
        page.clock.install()
        page.evaluate(OPEN, {"story": True})
        page.clock.run_for(8700)
        steps = SCENE.iterations[0].steps
        assert page.evaluate("() => [handle.where().it, handle.where().step]") == [0, len(steps) - 1]
        assert seen.sentence == steps[-1].sentence
        assert page.locator(".dsbd-ghost").count() == 0
        page.click(".dsbd-play")
        page.clock.run_for(1200)
        assert page.evaluate("() => [handle.where().it, handle.where().step]") == [1, 0]
        seen.quiet()


def test_calm_readers_are_told_no_story(browser, exported):
    with viewer(browser, exported, reduced_motion="reduce") as seen:
        seen.page.evaluate(OPEN, {"story": True})
        assert seen.sentence == SCENE.iterations[0].steps[0].sentence
        assert seen.page.evaluate("() => handle.story()") is False


def test_a_bare_viewer_fits_on_a_slide(browser, exported):
    """Catches tools on a slide, and a card that is off it."""
    with viewer(browser, exported, "?bare#iteration=2&step=9", viewport={"width": 700, "height": 620}) as seen:
        page = seen.page
        assert page.is_visible(".dsbd-sentence")
        for tool in (".dsbd-controls", ".dsbd-phases", ".dsbd-more", ".dsbd-whole", ".dsbd-exact"):
            assert not page.is_visible(tool), tool
        card = page.locator(".dsbd-card").bounding_box()
        assert card["y"] + 60 < 620
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_formula_is_folded_and_stays_as_the_reader_left_it(page):
    assert page.locator(".dsbd-formula-place details[open]").count() == 0
    page.focus(".dsbd")
    for _ in range(60):
        if page.locator(".dsbd-formula-place summary").count():
            break
        page.keyboard.press("ArrowRight")
    page.click(".dsbd-formula-place summary")
    assert re.search(r"[uP]", page.inner_text(".dsbd-formula-place p"))
    page.wait_for_timeout(50)
    page.focus(".dsbd")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert page.locator(".dsbd-formula-place details[open]").count() == 1
    assert page.locator(".dsbd-card details[open]").count() == 1


def test_only_the_marks_that_occur_are_explained(page):
    """Catches a legend of eleven marks below a forest with four."""
    iteration = SCENE.iterations[1]
    states = {change.state for step in iteration.steps for change in step.changes}
    shown = page.locator(".dsbd-legend li").all_inner_texts()
    assert len(shown) <= 7
    assert "abc\nin the final text" in shown
    assert "picked by the large model" in shown
    several = any(change.slots > 1 for step in iteration.steps for change in step.changes)
    assert ("×2\n2 versions of the text" in shown) == several
    page.click(".dsbd-exact")
    exact = page.locator(".dsbd-legend li[data-mark]").evaluate_all("found => found.map((one) => one.dataset.mark)")
    assert set(exact) - {"landed"} == states
