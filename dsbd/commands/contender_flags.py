"""The flags that say which methods, points and settings are measured. Needs no torch, so that help is quick."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from dsbd.commands.setting_values import value_of_text
from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import (
    CONTENDER_METHODS,
    DEFAULT_METHODS,
    POINTS,
    Contender,
    contenders,
    setting_names,
    value_text,
)
from dsbd.measure.bench.grids import GRIDS, grid_contenders
from dsbd.settings import DecodingSettings


def add_contender_flags(
    parser: argparse.ArgumentParser, points: Sequence[str], defaults: Mapping[str, str] | None = None
) -> None:
    """Add the flags.

    Args:
        parser: takes them.
        points: of ``dsbd`` where none is named.
        defaults: what the help says of a setting whose default is not that of DecodingSettings.
    """
    known, unnamed = ", ".join((*CONTENDER_METHODS, "dsbd:POINT")), ",".join(DEFAULT_METHODS)
    parser.add_argument("--methods", metavar="LIST", help=f"of {known} ({unnamed}; with a grid none beside it)")
    parser.add_argument("--grid", metavar="NAME", help=f"many points of several methods: {', '.join(GRIDS)}")
    parser.add_argument("--points", default=",".join(points), metavar="LIST", help=f"of dsbd: {', '.join(POINTS)}")
    for name in setting_names():
        default = (defaults or {}).get(name, getattr(DecodingSettings, name))
        parser.add_argument(
            "--" + name.replace("_", "-"),
            dest=name,
            metavar="V[,V]",
            help=f"one value, or several to sweep ({value_text(default)})",
        )


def contenders_of(parsed: argparse.Namespace) -> tuple[Contender, ...]:
    """Return the contenders of ``--grid`` and of ``--methods``, with the settings given. Raises: SettingsError."""
    values = _swept_values(parsed)
    grid = grid_contenders(parsed.grid, values) if parsed.grid is not None else ()
    if parsed.methods is None and grid:
        return grid
    methods = DEFAULT_METHODS if parsed.methods is None else names(parsed.methods)
    beside = contenders(methods, names(parsed.points), values)
    twice = {one.name for one in grid} & {one.name for one in beside}
    if twice:
        raise SettingsError(f"grid {parsed.grid!r} has {', '.join(sorted(twice))} already; leave it out of the methods")
    return grid + beside


def _swept_values(parsed: argparse.Namespace) -> dict[str, Sequence[Any]]:
    """Return the values that the flags ask for, by setting. Raises: SettingsError."""
    given = {name: getattr(parsed, name) for name in setting_names() if getattr(parsed, name) is not None}
    values: dict[str, Sequence[Any]] = {
        name: [value_of_text(name, part) for part in names(text)] for name, text in given.items()
    }
    for name, several in values.items():
        for value in several:
            DecodingSettings(**{name: value})  # refuses a bad one also where no method that was asked for reads it
    if len(values.get("seed", ())) > 1:
        raise SettingsError(f"seed is {given['seed']}; give one seed, and --seeds N for N runs of each prompt")
    return values


def names(text: str) -> list[str]:
    """Return the parts of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]
