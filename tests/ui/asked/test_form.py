"""From the form to settings: hidden fields decide nothing, bad values are named, prompts have a limit."""

from dataclasses import fields

import pytest
from ui.asked.form import FIELDS, WITHOUT_FIELD, check_prompt, settings_of
from ui.host.limits import Limits

from dsbd.errors import PromptError, SettingsError
from dsbd.settings import AUTO_FIELDS, METHODS, DecodingSettings
from tests.ui.served import form_values


def test_every_setting_has_its_field():
    """A setting that the page forgets could never be chosen."""
    known = {field.name for field in fields(DecodingSettings)}
    assert {field.name for field in FIELDS} == known - {"method", *WITHOUT_FIELD}


def test_auto_leaves_nothing_to_choose():
    """Catches a forest of auto whose depth and widths stay what their sliders show."""
    chosen = settings_of("dsbd", form_values(forest="auto"))
    assert all(getattr(chosen, name) == "auto" for name in AUTO_FIELDS)
    assert not settings_of("dsbd", form_values(forest="likely")).is_auto


def test_the_form_starts_with_the_defaults_and_hidden_fields_decide_nothing():
    """Catches a value, left behind in a field of another method, that reaches or breaks this one."""
    for method in METHODS:
        assert settings_of(method, form_values()) == DecodingSettings(method=method)
    left_behind = form_values(draft_width=3, max_width=1, min_width=7)
    assert settings_of("beam_sampling", left_behind) == DecodingSettings(method="beam_sampling")


def test_zero_stands_for_none_and_whole_numbers_may_arrive_as_fractions():
    """Browsers know one kind of number."""
    settings = settings_of("dsbd", form_values(max_width=0, input_beams=2, draft_width=5.0))
    assert (settings.max_width, settings.input_beams, settings.draft_width) == (None, 2, 5)
    assert isinstance(settings.draft_width, int)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"seed": -4}, "seed"),
        ({"seed": None}, "seed"),
        ({"draft_width": 2.5}, "draft_width"),
        ({"branching": 4}, "branching"),
    ],
)
def test_bad_values_are_named(changed, named):
    with pytest.raises(SettingsError, match=named):
        settings_of("specinfer" if named == "branching" else "dsbd", form_values(**changed))


@pytest.mark.parametrize("prompt", ["", "  \n", None, 7, "x" * (Limits().max_prompt_characters + 1)])
def test_prompts_that_are_refused(prompt):
    with pytest.raises(PromptError, match="prompt"):
        check_prompt(prompt, Limits())
