"""A long decode: 512 tokens and thousands of nodes stay small, and a step touches what it changes."""

import json

import pytest

from tests.visualize.homes import viewer
from tests.visualize.toy import toy_trace
from visualize import build_scene, scene_json
from visualize.pages.trace_page import html_page

TRACE = toy_trace(max_new_tokens=512, draft_width=6, cover_width=8, min_width=3, seed=2)
WATCH = """() => {
    const root = document.querySelector('.dsbd'), touched = [], built = [];
    const observer = new MutationObserver(() => {});
    const every = {subtree: true, attributes: true, childList: true, characterData: true};
    observer.observe(root.querySelector('.dsbd-forest'), every);
    for (let step = 0; step < 300; step++) {
        const before = root.querySelectorAll('.dsbd-count')[1].textContent;
        root.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true, cancelable: true}));
        const moved = root.querySelectorAll('.dsbd-count')[1].textContent !== before;
        const chip = root.querySelector('.dsbd-chip').textContent;
        const nodes = new Set(observer.takeRecords().map(({target}) =>
            target.closest('[data-at], .dsbd-edge, .dsbd-layer, .dsbd-focus, .dsbd-forest')));
        if (!moved && (chip === 'Verify' || chip === 'Draw')) touched.push(nodes.size);
        if (!moved && chip === 'Verify') built.push(root.querySelectorAll('.dsbd-node').length);
    }
    return {touched, built};
}"""


def test_a_long_trace_is_small():
    nodes = sum(len(iteration.nodes) for iteration in TRACE.iterations)
    assert nodes >= 5000
    assert sum(len(iteration.layers) for iteration in TRACE.iterations) == 512
    scene = build_scene(TRACE)
    packed = json.dumps(scene_json(scene), ensure_ascii=False, separators=(",", ":")).encode()
    assert len(packed) / nodes < 320
    assert len(packed) < 2_000_000


def test_a_trial_touches_its_node_and_not_the_forest(browser, tmp_path):
    """Drawing the whole forest anew at every step made it take a tenth of a second and more."""
    path = tmp_path / "long.html"
    path.write_text(html_page(build_scene(TRACE)), encoding="utf-8")
    with viewer(browser, path) as seen:
        counts = seen.page.evaluate(WATCH)
    assert len(counts["touched"]) > 60
    assert max(counts["built"]) > 30
    assert max(counts["touched"]) <= 8  # its mark, its edge, those of its children where its label grew, and the ring


def test_the_titles_of_the_layers_stay_in_sight(browser, tmp_path):
    """In a tall forest the reader lost which column was which."""
    path = tmp_path / "tall.html"
    path.write_text(html_page(build_scene(TRACE)), encoding="utf-8")
    with viewer(browser, path, "#it=3&step=9", viewport={"width": 1280, "height": 600}) as seen:
        scroller = seen.page.locator(".dsbd-scroller")
        scroller.evaluate("element => element.scrollTo({top: element.scrollHeight, behavior: 'instant'})")
        assert scroller.evaluate("element => element.scrollTop") > 50
        head, holder = seen.page.locator(".dsbd-head-bands").bounding_box(), scroller.bounding_box()
        assert head["y"] == pytest.approx(holder["y"], abs=1)
