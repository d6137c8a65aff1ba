"""Python's drawings and the viewer draw one forest: the same marks and dashes. `test_javascript.py` compares edges."""

import re

import pytest

import visualize
from tests.visualize.homes import viewer
from tests.visualize.traces import scene_of
from visualize.look.sizes import SIZES
from visualize.look.states import MARKS, mark_style

EDGE = re.compile(r'<path d="M([\d.]+),([\d.]+)H([\d.]+)C[^"]* ([\d.]+),([\d.]+)" fill="none"([^>]*)/>')
MARK = re.compile(r'<path d="[^"]*" transform="translate\([^)]*\) scale\(([\d.]+)\)"')


@pytest.mark.slow
def test_both_draw_the_same_marks_and_dashes(browser, exported):
    """Catches a mark of another size and an edge of another dash."""
    scene = scene_of("toy")
    for at, iteration in enumerate(scene.iterations[:3]):
        svg = visualize.forest_svg(scene, at)
        marks = [float(size) for size in MARK.findall(svg)][: len(iteration.nodes)]
        dashes = [re.findall(r'stroke-dasharray="([^"]*)"', found[6]) for found in EDGE.finditer(svg)]
        with viewer(browser, exported, f"#iteration={at + 1}&step={len(iteration.steps)}") as seen:
            sizes, lines = seen.page.evaluate("""() => [
                [...document.querySelectorAll('.dsbd-node > path')].map((one) => one.getAttribute('transform')),
                [...document.querySelectorAll('.dsbd-edge')].map((one) => one.style.strokeDasharray)]""")
        assert [float(text.removeprefix("scale(").rstrip(")")) for text in sizes] == pytest.approx(marks, abs=0.011)
        plain = [[] if line == "none" else [line.replace(",", "")] for line in lines]
        assert plain == dashes
        assert len({str(one) for one in plain}) > 1


def test_every_dash_of_the_marks_has_a_pattern_for_both_kinds_of_drawing():
    """Catches a mark with a dash that one drawing does not know."""
    used = {mark_style(mark).dash for mark in MARKS}
    assert used <= set(SIZES.dashes)
