"""A flag for each setting, and how its value is typed: ``4``, ``auto``, ``none``, ``true``, ``1:2:5``, ``4,2,2``."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dsbd.commands.flags import LONGEST_SHOWN
from dsbd.settings import FIELDS, DecodingSettings, branching_of

_KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "choice": ("STR", str),
    "whole": ("INT", int),
    "number": ("FLOAT", float),
    "switch": ("true|false", lambda text: {"true": True, "false": False}[text.lower()]),
    "wholes": ("N,N,...", branching_of),
    "numbers": ("N:N:...|none", lambda text: tuple(map(float, text.replace(",", ":").split(":")))),
}
"""By the kind of a setting: how a value looks, and what reads it."""


def add_settings_flags(parser: argparse.ArgumentParser, skip: Sequence[str] = ()) -> None:
    """Add a flag for each field except those in ``skip``."""
    group = parser.add_argument_group("settings")
    for name, about in FIELDS.items():
        if name in skip:
            continue
        readers = "" if len(about.methods) > 1 else f"{about.methods[0]}: "
        choices = f": {about.allowed}" if about.kind == "choice" else ""
        told = f"{readers}{about.help}{choices} ({typed(about.default)})"
        options: dict[str, Any] = {"default": about.default, "dest": name, "help": told}
        flag = "--" + name.replace("_", "-")
        if about.kind == "switch":
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
        else:
            form = "|".join([_KINDS[about.kind][0], *map(typed, about.also)])
            group.add_argument(flag, type=partial(value_of_text, name), metavar=form, **options)


def settings_of_flags(parsed: argparse.Namespace) -> DecodingSettings:
    """Return the settings that the flags ask for. Raises: SettingsError."""
    return DecodingSettings(**{name: value for name, value in vars(parsed).items() if name in FIELDS})


def value_of_text(name: str, text: str) -> Any:
    """Return the value of a setting. A text that is none comes back, cut where it is long: the settings refuse it."""
    about = FIELDS[name]
    words = {typed(value): value for value in (about.also if about.kind != "numbers" else (None,))}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return _KINDS[about.kind][1](text)
    except (ValueError, KeyError):
        return text[:LONGEST_SHOWN]


def typed(value: Any) -> str:
    """Return a value as it is typed: what :func:`value_of_text` reads."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
