"""A long decode: 512 tokens and thousands of nodes stay small, and a step touches what it changes."""

import json

import pytest

from dsbd.assets import asset_path
from dsbd.tracing.records import ROOT
from dsbd.tracing.trace import Trace
from tests.visualize.homes import viewer
from visualize import build_scene, scene_json
from visualize.pages.trace_page import html_page

NAMES_OF_NODES = {"id", "parent", "node", "alive", "finished", "nodes"}


def renamed(data, place, name=""):
    """Plain data of an iteration with ``place`` in the stead of each id of a node."""
    if isinstance(data, dict):
        return {key: renamed(value, place, key) for key, value in data.items()}
    if isinstance(data, list):
        return [renamed(value, place, name) for value in data]
    return place(data) if name in NAMES_OF_NODES and type(data) is int else data


def lengthened(trace: Trace, times: int) -> Trace:
    """The iterations of a trace several times; each round goes on from the best beam of the round before."""
    data, iterations, start = trace.to_dict(), [], ROOT
    for again in range(times):
        shift = again * (1 + max(trace.node_index()))
        places = {ROOT: start}
        for iteration in data["iterations"]:
            moved = renamed(iteration, lambda node: places.get(node, node + shift))  # noqa: B023 - used at once
            iterations.append({**moved, "index": len(iterations)})
        start = max(iterations[-1]["output_beams"], key=lambda beam: beam["log_weight"])["node"]
    return Trace.from_dict({**data, "iterations": iterations, "result": None})


TRACE = lengthened(Trace.load(asset_path("traces") / "4-cover-nodes.json.gz"), 8)
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


def test_a_long_trace_is_small():
    nodes = sum(len(iteration.nodes) for iteration in TRACE.iterations)
    assert nodes >= 5000
    assert sum(len(iteration.layers) for iteration in TRACE.iterations) == 512
    scene = build_scene(TRACE)
    packed = json.dumps(scene_json(scene), ensure_ascii=False, separators=(",", ":")).encode()
    assert len(packed) / nodes < 320
    assert len(packed) < 2_000_000


@pytest.mark.slow
def test_a_trial_touches_its_node_and_not_the_forest(browser, tmp_path):
    """Catches a step that draws the whole forest again, which takes a tenth of a second and more."""
    path = tmp_path / "long.html"
    path.write_text(html_page(build_scene(TRACE)), encoding="utf-8")
    with viewer(browser, path) as seen:
        counts = seen.page.evaluate(WATCH)
    assert len(counts["touched"]) > 60
    assert max(counts["built"]) > 30
    assert max(counts["touched"]) <= 8  # its mark, its edge, those of its children where its label grew, and the ring


@pytest.mark.slow
def test_the_titles_of_the_layers_stay_in_sight(browser, tmp_path):
    """In a tall forest the reader lost which column was which."""
    path = tmp_path / "tall.html"
    path.write_text(html_page(build_scene(TRACE)), encoding="utf-8")
    with viewer(browser, path, "#iteration=4&step=10", viewport={"width": 1280, "height": 600}) as seen:
        scroller = seen.page.locator(".dsbd-scroller")
        scroller.evaluate("element => element.scrollTo({top: element.scrollHeight, behavior: 'instant'})")
        assert scroller.evaluate("element => element.scrollTop") > 50
        top = "document.querySelector('{}').getBoundingClientRect().top"
        head, holder = top.format(".dsbd-head-bands"), top.format(".dsbd-scroller")
        seen.page.wait_for_function(f"Math.abs({head} - {holder}) <= 1")  # both may still move: a page lays itself out
