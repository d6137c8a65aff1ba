"""From the form to settings: hidden fields decide nothing, bad values are named, prompts have a limit."""

from dataclasses import fields

import pytest

from dsbd.errors import PromptError, SettingsError
from dsbd.settings import AUTO_FIELDS, METHODS, DecodingSettings
from ui.asked.form import (
    FIELDS,
    WITHOUT_FIELD,
    check_prompt,
    settings_of,
    shown_value,
)
from ui.host.limits import Limits

START = {field.name: shown_value(field) for field in FIELDS}


def form(**changed):
    return list((START | changed).values())


def test_every_setting_has_its_field():
    """A setting that the page forgets could never be chosen."""
    assert {field.name for field in FIELDS} == {field.name for field in fields(DecodingSettings)} - {
        "method",
        *WITHOUT_FIELD,
    }


def test_auto_leaves_nothing_to_choose():
    """Catches a forest of auto whose depth and widths stay what their sliders show."""
    chosen = settings_of("dsbd", form(forest="auto"))
    assert all(getattr(chosen, name) == "auto" for name in AUTO_FIELDS)
    assert not settings_of("dsbd", form(forest="likely")).is_auto


@pytest.mark.parametrize("method", METHODS)
def test_the_form_starts_with_the_defaults(method):
    assert settings_of(method, form()) == DecodingSettings(method=method)


def test_hidden_fields_decide_nothing():
    """A value left behind in a field of another method must not reach, or break, this one."""
    left_behind = form(draft_width=3, max_width=1, min_width=7)
    assert settings_of("beam_sampling", left_behind) == DecodingSettings(method="beam_sampling")


def test_zero_stands_for_none():
    assert settings_of("dsbd", form(max_width=0, input_beams=0)).max_width is None
    assert settings_of("dsbd", form(max_width=4, input_beams=2)).input_beams == 2


def test_whole_numbers_may_arrive_as_fractions():
    """Browsers know one kind of number."""
    settings = settings_of("dsbd", form(draft_width=5.0, temperature=1))
    assert settings.draft_width == 5
    assert isinstance(settings.draft_width, int)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"seed": -4}, "seed"),
        ({"seed": None}, "seed"),
        ({"draft_width": 2.5}, "draft_width"),
        ({"draft_depth": "4"}, "draft_depth"),
        ({"temperature": float("nan")}, "temperature"),
        ({"min_width": 5, "max_width": 2}, "max_width"),
        ({"branching": "4,,2"}, "branching"),
        ({"branching": "9,9,9"}, "branching"),
        ({"branching": 4}, "branching"),
    ],
)
def test_bad_values_are_named(changed, named):
    with pytest.raises(SettingsError, match=named):
        settings_of("specinfer" if named == "branching" else "dsbd", form(**changed))


@pytest.mark.parametrize("prompt", ["", "  \n", None, 7, "x" * (Limits().max_prompt_characters + 1)])
def test_prompts_that_are_refused(prompt):
    with pytest.raises(PromptError, match="prompt"):
        check_prompt(prompt, Limits())
