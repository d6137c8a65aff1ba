"""Which contenders a contest makes of methods, points and swept settings."""

import pytest

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import POINTS, contenders


def names(found):
    return [contender.name for contender in found]


def test_a_sweep_multiplies_only_the_methods_that_read_the_setting():
    """Catches beam sampling run once per draft depth: it wastes time and splits its runs."""
    found = contenders(["dsbd", "beam_sampling", "hf_assisted"], {"draft_depth": [2, 4]})
    assert names(found) == ["dsbd defaults draft_depth=2", "dsbd defaults draft_depth=4", "beam_sampling",
                            "hf_assisted"]  # fmt: skip
    assert [contender.settings.draft_depth for contender in found] == [2, 4, 4, 4]


def test_same_law_follows_num_beams():
    """Catches a point with a fixed width of 4: it does not follow beam sampling with another number of beams."""
    found = contenders(["dsbd:same-law", "beam_sampling"], {"num_beams": [2, 8]})
    assert [(one.settings.min_width, one.settings.max_width) for one in found[:2]] == [(2, 2), (8, 8)]
    assert [one.settings.num_beams for one in found[2:]] == [2, 8]


@pytest.mark.parametrize(
    ("methods", "values", "named"),
    [
        ([], {}, "methods is empty"),
        (["magic"], {}, "'magic'"),
        (["dsbd:best"], {}, "'dsbd:best'"),
        (["greedy:same-law"], {}, "'greedy:same-law'"),
        (["greedy", "greedy"], {}, "each once"),
        (["dsbd", "dsbd:defaults"], {}, "dsbd is dsbd:defaults"),
        (["dsbd:same-law"], {"min_width": [2]}, "'same-law' fixes min_width"),
        (["dsbd"], {"draft_depth": [2, 2]}, "each value once"),
    ],
)
def test_bad_methods_are_named(methods, values, named):
    with pytest.raises(SettingsError, match=named):
        contenders(methods, values)


def test_every_point_is_a_valid_setting():
    found = contenders([f"dsbd:{point}" for point in POINTS], {})
    assert [contender.settings.is_auto for contender in found] == [name.startswith("auto") for name in POINTS]
