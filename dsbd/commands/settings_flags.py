"""A flag for each field of DecodingSettings, and the settings that the flags ask for."""

import argparse
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, get_args, get_type_hints

from dsbd.errors import SettingsError
from dsbd.settings import AUTO, AUTO_FIELDS, DecodingSettings, branching_of


def add_settings_flags(parser: argparse.ArgumentParser, skip: Sequence[str] = ()) -> None:
    """Add a flag for each field except those in ``skip``."""
    hints = get_type_hints(DecodingSettings)
    for field in fields(DecodingSettings):
        if field.name in skip:
            continue
        assert field.default is not MISSING
        flag, kind = "--" + field.name.replace("_", "-"), hints[field.name]
        options: dict[str, Any] = {"default": field.default, "dest": field.name, "help": f"({field.default})"}
        if kind is bool:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
        elif field.name in ("depth_costs", "width_weights"):
            parser.add_argument(flag, type=_numbers, metavar="N:N:...", **options)
        elif field.name == "branching":
            parser.add_argument(flag, type=_branching, metavar="N,N,...", **options)
        elif field.name in AUTO_FIELDS and kind is not str:
            parser.add_argument(flag, type=_integer_or_auto, metavar="N|auto", **options)
        elif type(None) in get_args(kind):
            parser.add_argument(flag, type=_integer_or_none, metavar="N|none", **options)
        else:
            parser.add_argument(flag, type=kind, metavar=kind.__name__.upper(), **options)


def settings_of_flags(parsed: argparse.Namespace) -> DecodingSettings:
    """Return the settings that the flags ask for. Raises: SettingsError."""
    names = {field.name for field in fields(DecodingSettings)}
    return DecodingSettings(**{name: value for name, value in vars(parsed).items() if name in names})


def _integer_or_none(text: str) -> int | None:
    return None if text.lower() == "none" else int(text)


def _integer_or_auto(text: str) -> int | str:
    return AUTO if text.lower() == AUTO else int(text)


def _numbers(text: str) -> tuple[float, ...] | None:
    return None if text.lower() == "none" else tuple(float(number) for number in text.replace(",", ":").split(":"))


def _branching(text: str) -> tuple[int, ...] | None:
    try:
        return None if text.lower() == "none" else branching_of(text)
    except SettingsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# argparse names the type in its message
_integer_or_none.__name__ = "whole number or none"
_integer_or_auto.__name__ = "whole number or auto"
_numbers.__name__ = "list of numbers"
