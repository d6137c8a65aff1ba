"""Which contenders a bench makes of methods, points and swept settings."""

import pytest

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import POINTS, contenders


def names(found):
    return [contender.name for contender in found]


def test_a_sweep_multiplies_only_the_methods_that_read_the_setting():
    """Catches beam sampling run once per draft depth: it wastes time and splits its runs."""
    found = contenders(["dsbd", "beam_sampling", "hf_assisted"], ["defaults"], {"draft_depth": [2, 4]})
    assert names(found) == ["dsbd defaults draft_depth=2", "dsbd defaults draft_depth=4", "beam_sampling",
                            "hf_assisted"]  # fmt: skip
    assert [contender.settings.draft_depth for contender in found] == [2, 4, 4, 4]


def test_same_law_follows_num_beams():
    """Catches a point with a fixed width of 4: it does not follow beam sampling with another number of beams."""
    found = contenders(["dsbd", "beam_sampling"], ["same-law"], {"num_beams": [2, 8]})
    widths = [(one.settings.min_width, one.settings.max_width, one.settings.num_beams) for one in found[:2]]
    assert widths == [(2, 2, 2), (8, 8, 8)]
    assert [one.settings.num_beams for one in found[2:]] == [2, 8]


@pytest.mark.parametrize(
    ("methods", "points", "values", "named"),
    [
        ([], ["defaults"], {}, "methods is empty"),
        (["magic"], ["defaults"], {}, "'magic'"),
        (["dsbd", "dsbd"], ["defaults"], {}, "each once"),
        (["dsbd"], [], {}, "points is empty"),
        (["dsbd"], ["best"], {}, "'best'"),
        (["dsbd"], ["same-law"], {"min_width": [2]}, "'same-law' fixes min_width"),
        (["dsbd"], ["defaults"], {"draft_depth": [2, 2]}, "each value once"),
        (["dsbd"], ["defaults"], {"draft_depth": [99]}, "draft_depth is 99"),
    ],
)
def test_bad_plans_are_named(methods, points, values, named):
    with pytest.raises(SettingsError, match=named):
        contenders(methods, points, values)


def test_every_point_is_a_valid_setting():
    found = contenders(["dsbd"], list(POINTS), {})
    assert [contender.settings.is_auto for contender in found] == [name.startswith("auto") for name in POINTS]


def test_a_method_can_name_its_own_point():
    """Catches a named point that is joined with the points of all other methods."""
    found = contenders(["dsbd:same-law", "greedy"], ["defaults"], {"num_beams": [3]})
    assert names(found) == ["dsbd same-law", "greedy"]
    assert (found[0].settings.min_width, found[0].settings.max_width) == (3, 3)
    for entries, named in ((["greedy:same-law"], "'greedy:same-law'"), (["dsbd:best"], "'dsbd:best'")):
        with pytest.raises(SettingsError, match=named):
            contenders(entries, ["defaults"], {})
    with pytest.raises(SettingsError, match="asked for twice"):
        contenders(["dsbd:same-law", "dsbd"], ["same-law"], {})
