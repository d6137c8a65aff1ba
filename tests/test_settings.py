"""Settings are checked once, at construction, and say what is allowed."""

import math
from dataclasses import fields

import pytest

from dsbd.errors import SettingsError
from dsbd.methods import DRAFTING_METHODS, READS, resolve
from dsbd.settings import METHODS, DecodingSettings, branching_of

BAD = {
    "method": ["magic"],
    "max_new_tokens": [0, 1.5, True],
    "draft_depth": [-1, 33],
    "draft_width": [0],
    "min_width": [65],
    "max_width": [0],
    "width_threshold": [1.01, math.nan],
    "replacement": [1],
    "input_beams": [0],
    "landing": ["yes"],
    "cover_width": [-1],
    "num_beams": [0],
    "branching": [(), 4, (0, 2), (17,), (2.0,), (True,), (1,) * 9, (16, 16)],
    "temperature": [-0.1, math.inf, "hot", 10**400],
    "top_k": [-1],
    "top_p": [0, 1.1],
    "length_penalty": [11, 10**400],
    "continuation": [10**400],
    "joint_threshold": [-0.1, math.inf],
    "block": [0, 4],
    "seed": [-1, 2**63],
    "depth_costs": [(1.0,), (1, 1, 1, 1, 0), "12345", (1, 1, 1, 1, math.nan), 5, (1, 1, 1, 1, True), (10**400,) * 5],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in BAD for value in BAD[name]], ids=lambda value: str(value)[:20]
)
def test_bad_values_are_named(name, value):
    """Catches a bad value that is accepted, or refused without naming the setting and the value in one line."""
    with pytest.raises(SettingsError) as error:
        DecodingSettings(**{name: value})
    message = str(error.value)
    assert name in message
    assert repr(value) in message
    assert "\n" not in message


def test_what_contradicts_itself_or_is_unknown_is_refused():
    with pytest.raises(SettingsError, match="max_width is 2, below min_width 3"):
        DecodingSettings(min_width=3, max_width=2)
    with pytest.raises(SettingsError, match="unknown setting 'colour'"):
        DecodingSettings.from_dict({"colour": 1})
    with pytest.raises(SettingsError, match="depth_costs"):
        DecodingSettings(draft_depth="auto", depth_costs=(1, 1, 1, 1, 1))


def test_every_method_resolves_to_itself_again():
    """Catches resolved settings that change when they are resolved again: a replay would differ."""
    for method in METHODS:
        plan = resolve(DecodingSettings(method=method, num_beams=3, draft_width=5, min_width=2))
        assert resolve(plan) == plan
        assert (plan.draft_depth > 0) == (method in DRAFTING_METHODS or method == "mjgd")
        assert plan.lossless == (method not in ("mjsd", "mjgd"))


@pytest.mark.parametrize("method", METHODS)
def test_fields_outside_the_table_do_not_change_the_plan(method):
    """Catches a field that changes a method although the table says that it does not read it."""
    assert set(READS[method]) <= {field.name for field in fields(DecodingSettings)}
    other = {
        "draft_depth": 2, "draft_width": 3, "min_width": 2, "max_width": 3, "width_threshold": 0.5,
        "replacement": False, "input_beams": 2, "landing": False, "cover_width": 4, "num_beams": 3,
        "temperature": 0.5, "top_k": 7, "top_p": 0.5, "joint_threshold": 0.9, "block": 3,
    }  # fmt: skip
    ignored = {name: value for name, value in other.items() if name not in READS[method]}
    plain, changed = resolve(DecodingSettings(method=method)), resolve(DecodingSettings(method=method, **ignored))
    differing = {field.name for field in fields(plain) if getattr(plain, field.name) != getattr(changed, field.name)}
    assert differing <= {"num_beams"}


def test_what_is_resolved_has_a_width():
    """Catches resolved settings without a largest width."""
    assert resolve(DecodingSettings(draft_width=5, min_width=2)).max_width == 5
    assert resolve(DecodingSettings(draft_width=5, min_width=7)).max_width == 7
    assert resolve(DecodingSettings(draft_width=9, forest="likely", num_beams=3)).max_width == 3
    assert resolve(DecodingSettings(max_width=2)).max_width == 2
    for width in (1, 64, 65, 256):  # no refusal speaks of a max_width that nobody set
        assert resolve(DecodingSettings(draft_width=width)).max_width == min(width, 64)


def test_branching_is_read_as_it_is_typed():
    """Catches a text that is read as another tree, and a tree that its list and its tuple make two of."""
    assert branching_of("4,2,2") == branching_of("4x2x2") == (4, 2, 2)
    assert DecodingSettings(branching=[3, 1]) == DecodingSettings(branching=(3, 1))
    assert DecodingSettings(branching=(16, 15)).branching == (16, 15)  # 256 nodes
    for text in ("", "4,", "four", "4 2"):
        with pytest.raises(SettingsError, match="branching"):
            branching_of(text)


def test_a_tree_needs_a_branching_and_fixes_depth_and_replacement():
    """Catches a greedy tree of equal children, slots that are not the tree's, and a tree in another method."""
    with pytest.raises(SettingsError, match="specinfer needs it"):
        DecodingSettings(method="specinfer", branching=None)
    tree = resolve(DecodingSettings(method="specinfer", branching=(4, 2, 2)))
    assert (tree.draft_depth, tree.max_width, tree.replacement, tree.layer_slots) == (3, 1, True, (4, 8, 16))
    assert not resolve(DecodingSettings(method="specinfer", temperature=0.0)).replacement
    others = [method for method in METHODS if method != "specinfer"]
    assert all(resolve(DecodingSettings(method=method)).branching is None for method in others)
    assert resolve(DecodingSettings(draft_depth=2, draft_width=5)).layer_slots == (5, 5)
