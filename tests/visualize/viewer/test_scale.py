"""A decode with hundreds of nodes: it stays small, and a step touches what it changes."""

import statistics

import pytest

from tests.visualize.homes import viewer
from tests.visualize.traces import trace_of
from visualize.pages.trace_page import html_page

TRACE = trace_of("4-cover-nodes.json.gz")
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
    path.write_text(html_page([TRACE]), encoding="utf-8")
    with viewer(browser, path) as seen:
        counts = seen.page.evaluate(WATCH)
    assert len(counts["touched"]) > 60
    assert max(counts["built"]) > 30
    assert statistics.median(counts["touched"]) <= 4, "its mark, its edge and the ring"
    assert max(counts["touched"]) <= 20, "and, where its label grows, the edges to its children"


@pytest.mark.slow
def test_the_titles_of_the_layers_stay_in_sight(browser, tmp_path):
    """In a tall forest the reader lost which column was which."""
    path = tmp_path / "tall.html"
    path.write_text(html_page([TRACE]), encoding="utf-8")
    with viewer(browser, path, "#iteration=4&step=10", viewport={"width": 1280, "height": 600}) as seen:
        scroller = seen.page.locator(".dsbd-scroller")
        scroller.evaluate("element => element.scrollTo({top: element.scrollHeight, behavior: 'instant'})")
        assert scroller.evaluate("element => element.scrollTop") > 50
        top = "document.querySelector('{}').getBoundingClientRect().top"
        head, holder = top.format(".dsbd-head-bands"), top.format(".dsbd-scroller")
        seen.page.wait_for_function(f"Math.abs({head} - {holder}) <= 1")  # both may still move: a page lays itself out
