"""The linked views, what the badge says of a tampered trace, and the files the viewer saves."""

import csv
import io
import itertools
import re
import xml.etree.ElementTree as ElementTree

import pytest

import visualize
from tests.tracing.alterations import alter
from tests.visualize.homes import show_view, unfold, viewer
from tests.visualize.toy import toy_trace
from tests.visualize.traces import TRACES, scene_of

pytestmark = pytest.mark.slow

TRACE = toy_trace()
SCENE = scene_of("toy")


def test_the_mask_shows_whom_a_node_sees_and_the_table_its_row(page):
    scene = SCENE.iterations[1]
    place = next(at for at, node in enumerate(scene.nodes) if node.column == 3 and node.kind == "drafted")
    show_view(page, "mask")
    page.hover(f".dsbd-node[data-at='{place}'] path", force=True)
    row = page.locator(".dsbd-mask-row.dsbd-current")
    assert row.get_attribute("data-at") == str(place)
    assert (row.locator(".dsbd-cell-seen").count(), row.locator(".dsbd-cell-self").count()) == (3, 1)
    assert page.inner_text(".dsbd-panel-mask .dsbd-hint").startswith(f"“{scene.nodes[place].label}” sees the prompt")
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
    assert page.locator(".dsbd-slot.dsbd-stays").count() == 0
    for at in (1, 0):
        iteration, kept = TRACE.iterations[at], TRACE.iterations[at].kept
        forest = [node for node in iteration.nodes if node.kind != "drawn"]
        page.focus(".dsbd")
        page.keyboard.press("End")
        told = page.inner_text(".dsbd-panel-slots p >> nth=0")
        assert str(kept.slots_scored) in told
        assert str(kept.slots_kept) in told
        stays = len({node.id for node in forest} & set(kept.nodes))
        marked = [page.locator(f".dsbd-slot{kind}").count() for kind in ("", ".dsbd-stays", ".dsbd-dropped")]
        assert marked == [len(forest), stays, len(forest) - stays]
        counts = [int(text) for text in page.locator(".dsbd-block b").all_inner_texts()]
        assert counts[0] == kept.prompt_slots + (at == 0)  # the last token of the prompt is read in the first pass
        if at:
            assert counts[1] == TRACE.iterations[0].kept.slots_kept - kept.prompt_slots + len(iteration.input_beams)
        assert sum(counts) + len(forest) == kept.slots_scored
        page.keyboard.press("PageUp")


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
    assert f"ends with token {iteration.nodes[iteration.trials[place].node - iteration.nodes[0].id].layer}" in said
    page.get_by_role("button", name="As recorded").click()
    assert page.locator(".dsbd-differs").count() == 0


def test_a_tampered_trace_is_called_out(browser, tmp_path):
    path = tmp_path / "tampered.html"
    visualize.export_html(alter(TRACE, "uniform beyond the acceptance"), path)
    with viewer(browser, path) as seen:
        page = seen.page
        page.wait_for_selector(".dsbd-badge.dsbd-failed")
        told = page.inner_text(".dsbd-badge")
        found = re.fullmatch(r"iteration (\d+), layer \d+: the verdict on “(.+)” does not follow", told)
        page.click(".dsbd-badge")
        page.wait_for_url(f"**#iteration={found[1]}&*")
        assert found[2] in page.inner_text(".dsbd-sentence")


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


def test_hashes_of_several_viewers_do_not_fight(browser, exported):
    """Catches two viewers that both write their place without a prefix: they would drag each other about."""
    with viewer(browser, exported) as seen:
        page = seen.page
        page.evaluate(MOUNT, {"a": [9, {"hash": "a"}], "b": [9, {"hash": "b"}], "c": [9, {}]})
        page.evaluate("() => { a.goto({it: 2, step: 3}); b.goto({it: 1, layer: 2}); c.goto({it: 4}); }")
        page.wait_for_url("**#*a.iteration=3*b.iteration=2*")
        assert "iteration=5" not in page.url
        page.evaluate("() => { location.hash = '#a.iteration=1&a.step=6'; }")
        page.wait_for_function("() => a.where().it === 0 && a.where().step === 5")
        assert page.evaluate("() => b.where().it") == 1


def test_news_of_a_running_decode_leave_the_reader_alone(browser, exported):
    """Catches a new scene, of which several come in a second, that undoes what the reader has set."""
    with viewer(browser, exported) as seen:
        page, run = seen.page, seen.page.evaluate
        run(MOUNT, {"a": [2, {}]})
        run("() => { a.goto({it: 1, step: 8}); a.show('whatif'); }")
        slider = page.locator("[aria-label='width threshold']")
        slider.evaluate("input => { input.value = 0.2; input.dispatchEvent(new Event('input')); input.focus(); }")
        said = page.inner_text(".dsbd-whatif-said")
        run("() => a.setScene(grown(4))")
        assert (slider.input_value(), page.inner_text(".dsbd-whatif-said")) == ("0.2", said)
        assert run("() => document.activeElement.getAttribute('aria-label')") == "width threshold"
        assert page.inner_text(".dsbd-count-iteration") == "2 of 4"
        run("() => { a.show('charts'); a.setScene(grown(5)); }")
        assert run("() => document.querySelector('.dsbd-chart').data[0].x.length") == 5


def test_views_offer_nothing_that_does_nothing(browser, tmp_path):
    """Catches sliders that can change no verdict, and a legend for marks that are not drawn."""
    path = tmp_path / "plain.html"
    visualize.export_html(TRACES["plain"], path)
    with viewer(browser, path, "#iteration=1&step=1000") as seen:
        unfold(seen.page)
        assert seen.page.locator(".dsbd-view option:disabled").all_inner_texts() == ["What if"]
        show_view(seen.page, "slots")
        assert not seen.page.is_visible(".dsbd-panel-slots .dsbd-key")


STORY = {"a": [9, {"story": True}]}
MOOD = "() => document.querySelector('.dsbd').dataset.story"


def test_the_opening_story_is_told_once_and_ends_with_any_input(browser, exported):
    """Catches a story that talks on while the reader acts, starts again, writes into the address, or cannot pause."""
    with viewer(browser, exported) as seen:
        page, address = seen.page, seen.page.url
        page.evaluate(MOUNT, STORY)
        assert seen.sentence == "The prompt. How might it go on?"
        assert page.get_attribute(".dsbd-play", "aria-label") == "Pause"
        assert page.locator(".dsbd-node:not([hidden]) >> nth=1").evaluate("one => getComputedStyle(one).opacity") == "0"
        page.wait_for_function("() => document.querySelector('.dsbd-sentence').textContent.startsWith('A small model')")
        assert page.url == address
        page.mouse.move(5, 5)
        page.mouse.down()
        page.mouse.up()
        assert seen.sentence in [step.sentence for step in SCENE.iterations[0].steps]
        assert (page.evaluate("() => a.story()"), page.evaluate(MOOD)) == (False, None)
        assert page.get_attribute(".dsbd-sentence", "aria-live") == "polite"
        page.reload()
        page.wait_for_selector(".dsbd-play")
        page.evaluate(MOUNT, STORY)
        page.click(".dsbd-play")
        assert (page.get_attribute(".dsbd-play", "aria-label"), page.evaluate(MOOD)) == ("Play", None)
        seen.quiet()


def test_the_story_told_to_its_end_waits_where_its_pass_is_over(browser, exported):
    """Catches an end in the middle of things, and a play button that goes nowhere from there."""
    with viewer(browser, exported) as seen:
        page = seen.page
        page.clock.install()
        page.evaluate(MOUNT, STORY)
        page.clock.run_for(8700)
        steps, where = SCENE.iterations[0].steps, "() => [a.where().it, a.where().step]"
        assert page.evaluate(where) == [0, len(steps) - 1]
        assert seen.sentence == steps[-1].sentence
        assert page.locator(".dsbd-ghost").count() == 0
        page.click(".dsbd-play")
        page.clock.run_for(1200)
        assert page.evaluate(where) == [1, 0]
        seen.quiet()


def test_the_formula_stays_as_the_reader_left_it_and_only_marks_that_occur_are_explained(page):
    """Catches a legend of eleven marks below a forest with four."""
    states = {change.state for step in SCENE.iterations[1].steps for change in step.changes}
    shown = page.locator(".dsbd-legend li").all_inner_texts()
    assert len(shown) <= 7
    assert {"abc\nin the final text", "picked by the large model"} <= set(shown)
    several = any(change.slots > 1 for step in SCENE.iterations[1].steps for change in step.changes)
    assert ("×2\n2 versions of the text" in shown) == several
    page.click(".dsbd-exact")
    exact = page.locator(".dsbd-legend li[data-mark]").evaluate_all("found => found.map((one) => one.dataset.mark)")
    assert set(exact) - {"landed"} == states
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
