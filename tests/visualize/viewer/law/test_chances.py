"""The width that follows from the chances of a layer, in the browser, at the edges where one sign decides."""

import pytest

EITHER = {"min_width": 1, "max_width": 8}


@pytest.mark.parametrize(
    ("chances", "threshold", "count"),
    [([0.9, 0.5], 0.5, 2), ([0.9, 0.5], 0.5000001, 1), ([0.9, 0.5], 0.95, 0), ([1.0, 0.0], 0.0, 2), ([], 0.5, 0)],
)
def test_a_chance_that_equals_the_threshold_reaches_it(modules, chances, threshold, count):
    """Catches ``>`` in place of ``>=``; the audit allows for rounding and does not see it."""
    code = 'const {reached} = await load("law/chances.js"); return reached(given[0], given[1]);'
    assert modules.run(code, [chances, threshold]) == count


@pytest.mark.parametrize(
    ("count", "support", "settings", "width"),
    [
        (5, 3, {**EITHER, "replacement": False}, 3),
        (5, 3, {**EITHER, "replacement": True}, 5),
        (0, 3, {**EITHER, "replacement": False}, 1),
        (9, 30, {**EITHER, "replacement": False}, 8),
        (2, 3, {"min_width": 4, "max_width": 4, "replacement": False}, 3),
    ],
)
def test_without_replacement_no_layer_is_wider_than_its_pairs(modules, count, support, settings, width):
    """Catches a bound that is left out: no recorded layer of these pages has as few pairs."""
    code = 'const {bounded} = await load("law/chances.js"); return bounded(...given);'
    assert modules.run(code, [count, support, settings]) == width


@pytest.mark.parametrize(("width", "low", "high"), [(1, 0.0, 0.25), (2, 0.25, 0.25), (3, 0.25, 1.0), (0, 0.0, 0.0)])
def test_a_drawn_width_has_its_interval(modules, width, low, high):
    """Catches weights that are counted from another width than the least."""
    code = 'const {drawnWidth} = await load("law/chances.js"); return drawnWidth(...given);'
    assert modules.run(code, [width, {"min_width": 1, "width_weights": [1, 0, 3]}]) == [low, high]
