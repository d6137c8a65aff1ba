"""What ``bench`` and ``eval`` share: flags of contenders and of the file of answers, and printing what was found.

Needs no torch, so that help is quick.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbd.commands.pair_flags import sources_of_flags
from dsbd.commands.parser import names, print_json
from dsbd.commands.paths import output_file
from dsbd.commands.settings_flags import value_of_text
from dsbd.errors import SettingsError
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import (
    CONTENDER_METHODS,
    DEFAULT_METHODS,
    POINTS,
    Contender,
    contenders,
    swept_settings,
    value_text,
)
from dsbd.measure.bench.grids import GRIDS, grid_contenders
from dsbd.settings import FIELDS, DecodingSettings

if TYPE_CHECKING:
    from dsbd.evaluation.report import Report


def add_contender_flags(parser: argparse.ArgumentParser, defaults: Mapping[str, str] | None = None) -> None:
    """Add the flags; ``defaults`` is what the help says of some settings."""
    points, unnamed = "|".join(POINTS), ",".join(DEFAULT_METHODS)
    known = f"{', '.join(CONTENDER_METHODS)}, dsbd:POINT with POINT one of {points}"
    add = parser.add_argument
    add("--methods", metavar="LIST", help=f"comma-separated, from {known} ({unnamed}; none with --grid)")
    add("--grid", metavar="NAME", help=f"many points of several methods: {', '.join(GRIDS)}")
    group = parser.add_argument_group("settings", "for every method that reads them; several values are a sweep")
    for name in swept_settings():
        default = (defaults or {}).get(name, value_text(getattr(DecodingSettings, name)))
        group.add_argument(
            "--" + name.replace("_", "-"), dest=name, metavar="V[,V]", help=f"{FIELDS[name].help} ({default})"
        )


def contenders_of(parsed: argparse.Namespace) -> tuple[Contender, ...]:
    """Return the contenders of ``--grid`` and of ``--methods``, with the settings given. Raises: SettingsError."""
    values = _swept_values(parsed)
    grid = grid_contenders(parsed.grid, values) if parsed.grid is not None else ()
    if parsed.methods is None and grid:
        return grid
    methods = DEFAULT_METHODS if parsed.methods is None else names(parsed.methods)
    beside = contenders(methods, values)
    twice = {one.name for one in grid} & {one.name for one in beside}
    if twice:
        raise SettingsError(f"grid {parsed.grid!r} has {', '.join(sorted(twice))} already; leave it out of the methods")
    return grid + beside


def _swept_values(parsed: argparse.Namespace) -> dict[str, Sequence[Any]]:
    """Return the values that the flags ask for, by setting. Raises: SettingsError."""
    given = {name: getattr(parsed, name) for name in swept_settings() if getattr(parsed, name) is not None}
    values: dict[str, Sequence[Any]] = {
        name: [value_of_text(name, part) for part in names(text)] for name, text in given.items()
    }
    for name, several in values.items():
        for value in several:
            FIELDS[name].check(value)  # refuses a bad one also where no method that was asked for reads it
    if len(values.get("seed", ())) > 1:
        raise SettingsError(f"seed is {given['seed']}; give one seed, and --seeds N for N runs of each prompt")
    return values


def add_output_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the file of answers."""
    parser.add_argument(
        "--output", type=output_file, metavar="FILE", help="write one line of JSON per decode, as soon as it is made"
    )
    parser.add_argument("--resume", action="store_true", help="continue the file that --output names")


def require_output(parsed: argparse.Namespace, asked: Mapping[str, Any]) -> AnswersFile | None:
    """Return the answers of an earlier call; refuse those to something else before models are loaded, where possible.

    Raises:
        SettingsError: the file exists and --resume is missing, or the other way round; or it has other answers.
    """
    exists = parsed.output is not None and Path(parsed.output).is_file() and Path(parsed.output).stat().st_size > 0
    if exists and not parsed.resume:
        raise SettingsError(f"{parsed.output!r} exists; add --resume to continue it, or name another --output")
    if parsed.resume and not exists:
        raise SettingsError(f"there is nothing to resume in {parsed.output!r}; name the --output of an earlier call")
    if not exists:
        return None
    from dsbd.machine import versions
    from dsbd.models.loading import display_name, sources_of

    answers = AnswersFile(parsed.output)
    before = answers.head["conditions"]
    models = dict(before.get("models", {}))
    for role, source in zip(("target", "draft"), sources_of(*sources_of_flags(parsed)), strict=True):
        models[role] = None if source is None else {**(models.get(role) or {}), "id": display_name(source)}
    answers.require_same(asked=asked, conditions={**before, "versions": versions(), "models": models})
    return answers


def print_report(parsed: argparse.Namespace, report: "Report") -> None:
    """Print what a contest found: one JSON object, or tables."""
    from dsbd.evaluation.markdown import report_tables

    if parsed.json:
        print_json(report.to_dict())
    else:
        print(report_tables(report))
