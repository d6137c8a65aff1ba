"""A flag for each field of DecodingSettings, and the settings that the flags ask for."""

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, fields
from functools import partial
from typing import Any

from dsbd.commands.setting_values import HELP, form_of, value_of_text
from dsbd.settings import DecodingSettings


def add_settings_flags(parser: argparse.ArgumentParser, skip: Sequence[str] = ()) -> None:
    """Add a flag for each field except those in ``skip``."""
    group = parser.add_argument_group("settings")
    for field in fields(DecodingSettings):
        if field.name in skip:
            continue
        assert field.default is not MISSING
        flag = "--" + field.name.replace("_", "-")
        options: dict[str, Any] = {
            "default": field.default,
            "dest": field.name,
            "help": f"{HELP[field.name]} ({field.default})",
        }
        if isinstance(field.default, bool):
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
        else:
            group.add_argument(flag, type=partial(value_of_text, field.name), metavar=form_of(field.name), **options)


def settings_of_flags(parsed: argparse.Namespace) -> DecodingSettings:
    """Return the settings that the flags ask for. Raises: SettingsError."""
    names = {field.name for field in fields(DecodingSettings)}
    return DecodingSettings(**{name: value for name, value in vars(parsed).items() if name in names})
