"""What the grids hold: counted by hand, and free of points that measure nothing new."""

from itertools import product

import pytest

from dsbd.errors import SettingsError
from dsbd.measure.bench.grids import GRID_BASELINE, GRIDS, grid_contenders


def dsbd_points(grid):
    return [one.settings for one in grid if one.method == "dsbd"]


def test_the_papers_grid_by_hand():
    """Catches a value that the grid forgets, and a point that it leaves out without a reason."""
    found = {
        (one.draft_depth, one.draft_width, one.min_width, one.width_threshold, one.input_beams)
        for one in dsbd_points(grid_contenders("paper", {}))
    }
    whole = set(product((2, 3, 4), (2, 3, 4, 5, 6), (1, 2, 3), (0.7, 0.9), (None, 1)))
    missing = whole - found
    assert found <= whole
    assert {(width, least) for _, width, least, _, _ in missing} == {(2, 2), (2, 3), (3, 3)}
    assert [key for key in missing if key[1] == key[2] and key[3] == 0.7] == []  # a fixed width stands there once
    assert len(found) == 156
    methods = [one.method for one in grid_contenders("paper", {})]
    counts = {"dsbd": 156, "beam_sampling": 5, "speculative": 3, "specinfer": 1, "sampling": 1}
    assert {name: methods.count(name) for name in methods} == counts


@pytest.mark.parametrize("name", GRIDS)
def test_every_grid_has_the_baseline_and_each_name_once(name):
    """Catches two points with one name, whose runs would be one, and a grid without a point to compare with."""
    names = [one.name for one in grid_contenders(name, {})]
    assert len(set(names)) == len(names)
    assert GRID_BASELINE in names


def test_other_settings_reach_every_point():
    """Catches a grid that decodes at the defaults whatever the flags say."""
    plain, other = grid_contenders("paper", {}), grid_contenders("paper", {"max_new_tokens": [9], "landing": [False]})
    assert [one.settings.max_new_tokens for one in other] == [9] * len(plain)
    assert {one.landing for one in dsbd_points(other)} == {False}


@pytest.mark.parametrize(
    ("name", "values", "named"),
    [("papers", {}, "'papers'"), ("paper", {"num_beams": [4]}, "'paper' sweeps num_beams")],
)
def test_bad_grids_are_named(name, values, named):
    with pytest.raises(SettingsError, match=named):
        grid_contenders(name, values)
