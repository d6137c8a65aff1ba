"""What ``bench`` and ``eval`` share: flags of contenders and output, and showing what was found. Needs no torch."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbd.commands.pair_flags import pair_of, say_read
from dsbd.commands.parser import OK, STOPPED, names, print_json, value_of_text
from dsbd.commands.paths import output_file
from dsbd.contest.contenders import (
    BASELINE,
    CONTENDER_METHODS,
    DEFAULT_METHODS,
    POINTS,
    Contender,
    contenders,
    require_count,
    swept_settings,
    value_text,
)
from dsbd.errors import SettingsError
from dsbd.settings import FIELDS, DecodingSettings

if TYPE_CHECKING:
    from dsbd.contest.task import Task

MAX_SEEDS = 1000


def add_contest_flags(parser: argparse.ArgumentParser, defaults: Mapping[str, str] | None = None) -> None:
    """Add the flags; ``defaults`` is what the help says of some settings."""
    known = f"{', '.join(CONTENDER_METHODS)}, dsbd:POINT with POINT one of {'|'.join(POINTS)}"
    add = parser.add_argument
    add("--methods", metavar="LIST", help=f"comma-separated, from {known} ({','.join(DEFAULT_METHODS)})")
    add("--baseline", default=BASELINE, metavar="NAME", help=f"what the others are compared with ({BASELINE})")
    add("--limit", type=int, metavar="N", help="only the first N prompts or questions")
    add("--output", type=output_file, metavar="FILE", help="write one line of JSON per decode, as soon as it is made")
    group = parser.add_argument_group("settings", "for every method that reads them; several values are a sweep")
    for name in swept_settings():
        default = (defaults or {}).get(name, value_text(getattr(DecodingSettings, name)))
        group.add_argument(
            "--" + name.replace("_", "-"), dest=name, metavar="V[,V]", help=f"{FIELDS[name].help} ({default})"
        )


def contenders_of(parsed: argparse.Namespace) -> tuple[Contender, ...]:
    """Return the contenders of ``--methods``, with the settings given. Raises: SettingsError."""
    require_count("seeds", parsed.seeds, MAX_SEEDS)
    if parsed.limit is not None:
        require_count("limit", parsed.limit)
    if parsed.output is not None and Path(parsed.output).exists():
        raise SettingsError(f"{parsed.output!r} exists; name another --output")
    given = {name: getattr(parsed, name) for name in swept_settings() if getattr(parsed, name) is not None}
    values: dict[str, Sequence[Any]] = {
        name: [value_of_text(name, part) for part in names(text)] for name, text in given.items()
    }
    for name, several in values.items():
        for value in several:
            FIELDS[name].check(value)  # refuses a bad one also where no method that was asked for reads it
    if len(values.get("seed", ())) > 1:
        raise SettingsError(f"seed is {given['seed']}; give one seed, and --seeds N for N runs of each prompt")
    found = contenders(DEFAULT_METHODS if parsed.methods is None else names(parsed.methods), values)
    if parsed.baseline not in (BASELINE, *(one.name for one in found), *(one.method for one in found)):
        raise SettingsError(
            f"baseline is {parsed.baseline!r}; choose from {', '.join(one.name for one in found)}, or a method of them"
        )
    return found


def hold(parsed: argparse.Namespace, racing: Sequence[Contender], tasks: "Sequence[Task]", **options: Any) -> int:
    """Run the contest, print one JSON object or a table, and return the exit code."""
    from dsbd.contest.contest import hold_contest, make_contest
    from dsbd.contest.table import markdown_of

    pair = pair_of(parsed)
    contest = make_contest(pair, racing, tasks, limit=parsed.limit, rounds=parsed.seeds, **options)
    say_read(contest.count_read(pair))
    if shortened := sum(asked.prompt != asked.question.prompt for asked in contest.asked):
        print(f"dsbd: {shortened} prompts are shortened to fit the models' context", file=sys.stderr)
    report = hold_contest(pair, contest, parsed.output, parsed.baseline)
    if parsed.json:
        print_json(report.to_dict())
    else:
        print(markdown_of(list(report.tables.values())))
    return OK if report.complete else STOPPED
