"""Python's drawings and the viewer draw one forest: the same edges, marks and dashes."""

import re

import pytest

import visualize
from tests.visualize.homes import viewer
from tests.visualize.traces import OPEN, scene_of
from visualize.drawings import geometry, tikz
from visualize.look.sizes import SIZES
from visualize.look.states import styles

EDGE = re.compile(r'<path d="M([\d.]+),([\d.]+)H([\d.]+)C[^"]* ([\d.]+),([\d.]+)" fill="none"([^>]*)/>')
MARK = re.compile(r'<path d="[^"]*" transform="translate\([^)]*\) scale\(([\d.]+)\)"')
NAMES = ["toy", "nasty", "1-dynamic-width.json.gz", "4-cover-nodes.json.gz"]


@pytest.mark.parametrize("name", NAMES)
def test_both_draw_the_same_edges(modules, name):
    """Catches an edge that starts, bends or ends elsewhere in one of the two. Columns are made equally wide."""
    scene = scene_of(name)
    for at, packed in enumerate(visualize.scene_json(scene)["iterations"][:4]):
        iteration = scene.iterations[at]
        columns = max(iteration.last_column, 1)
        room = geometry.PITCH * (columns + 0.92) + 26
        drawn = modules.run(
            OPEN + """
            const {measure} = await load("forest/geometry.js");
            const iteration = new Iteration(given.packed), {pitch, upright, edge, at} = measure(iteration, given.room);
            const looks = iteration.looksAt(iteration.steps.length - 1), {nodes} = iteration;
            const row = (at({column: 0, row: 1}).y - at({column: 0, row: 0}).y), x = at({column: 0, row: 0}).x;
            return {pitch, upright, row, x, edges: nodes.filter((node) => node.parent >= 0).map(
                (node) => edge(nodes[node.parent], node, looks[node.parent].slots))};""",
            {"packed": packed, "room": room},
        )  # fmt: skip
        assert (drawn["upright"], drawn["pitch"]) == (False, pytest.approx(geometry.PITCH))
        ours = [edge_numbers(found) for found in EDGE.finditer(visualize.forest_svg(scene, at))]
        assert len(ours) == len(drawn["edges"]) > 0
        for (start, above, bend, end, below), path in zip(ours, drawn["edges"], strict=True):
            numbers = [float(text) for text in re.findall(r"-?[\d.]+", path)]
            shift, up = geometry.LEFT - drawn["x"], geometry.BAND
            for one, other in ((start, numbers[0]), (bend, numbers[2]), (end, numbers[-2])):
                assert one == pytest.approx(other + shift, abs=0.2)
            for one, other in ((above, numbers[1]), (below, numbers[-1])):
                assert (one - up) / geometry.ROW == pytest.approx(other / drawn["row"], abs=0.02)


def edge_numbers(found: re.Match[str]) -> list[float]:
    return [float(found[place]) for place in range(1, 6)]


@pytest.mark.slow
def test_both_draw_the_same_marks_and_dashes(browser, exported):
    """Catches a mark of another size and an edge of another dash."""
    scene = scene_of("toy")
    for at, iteration in enumerate(scene.iterations[:3]):
        svg = visualize.forest_svg(scene, at)
        marks = [float(size) for size in MARK.findall(svg)][: len(iteration.nodes)]
        dashes = [re.findall(r'stroke-dasharray="([^"]*)"', found[6]) for found in EDGE.finditer(svg)]
        with viewer(browser, exported, f"#iteration={at + 1}&step={len(iteration.steps)}") as seen:
            seen.page.click(".dsbd-exact")
            sizes, lines = seen.page.evaluate("""() => [
                [...document.querySelectorAll('.dsbd-node > path')].map((one) => one.getAttribute('transform')),
                [...document.querySelectorAll('.dsbd-edge')].map((one) => one.style.strokeDasharray)]""")
        assert [float(text.removeprefix("scale(").rstrip(")")) for text in sizes] == pytest.approx(marks, abs=0.011)
        plain = [[] if line == "none" else [line.replace(",", "")] for line in lines]
        assert plain == dashes
        assert len({str(one) for one in plain}) > 1


def test_every_dash_of_the_states_has_a_pattern_for_both_kinds_of_drawing():
    """Catches a state with a dash that one drawing does not know."""
    used = {style.dash for style in styles().values()}
    assert used <= set(SIZES.dashes)
    assert set(SIZES.dashes) == set(tikz.DASHES)
