"""The flags of ``python -m dsbd bench``, and the contest they ask for. Needs no torch, so that help is quick."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from dsbd.assets import asset_path
from dsbd.commands.paths import input_path, output_file, shortened
from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import (
    CONTENDER_METHODS,
    DEFAULT_METHODS,
    POINTS,
    Contender,
    Contest,
    contenders,
    setting_names,
)
from dsbd.measure.bench.grids import GRID_BASELINE, GRIDS, grid_contenders
from dsbd.settings import DecodingSettings

DEFAULT_POINTS = ("defaults", "same-law")
DEFAULT_BASELINES = ("beam_sampling", "hf_beam_sampling")
DEFAULT_ROUNDS = 2
MAX_ROUNDS = 1000
MAX_PROMPTS_BYTES = 1_000_000
PROMPTS = "prompts.txt"


def add_bench_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags except those of the pair and ``--json``."""
    add = parser.add_argument
    add(
        "--methods",
        metavar="LIST",
        help=f"of {', '.join(CONTENDER_METHODS)} ({','.join(DEFAULT_METHODS)}; with a grid none beside it)",
    )
    add("--grid", metavar="NAME", help=f"many points of several methods: {', '.join(GRIDS)}")
    add("--points", default=",".join(DEFAULT_POINTS), metavar="LIST", help=f"of dsbd: {', '.join(POINTS)}")
    add("--baselines", metavar="LIST", help="to take ratios to; the first decides quality")
    add("--prompts", type=input_path, metavar="FILE", help="one prompt a line (a small set comes with the package)")
    add("--limit", type=int, metavar="N", help="only the first N prompts")
    add("--seeds", type=int, default=DEFAULT_ROUNDS, metavar="N", help=f"runs of each prompt ({DEFAULT_ROUNDS})")
    add("--output", type=output_file, metavar="FILE", help="JSON lines, one a run; an existing file is continued")
    add("--report", type=output_file, metavar="FILE", help="figures as one HTML page")
    for name in setting_names():
        default = getattr(DecodingSettings, name)
        add(
            "--" + name.replace("_", "-"),
            dest=name,
            metavar="V[,V]",
            help=f"one value, or several to sweep ({default})",
        )


def contest_of(parsed: argparse.Namespace) -> Contest:
    """Return the contest that the flags ask for. Raises: SettingsError."""
    hints = get_type_hints(DecodingSettings)
    given = {name: getattr(parsed, name) for name in setting_names() if getattr(parsed, name) is not None}
    values = {name: [_value(name, part, hints[name]) for part in names(text)] for name, text in given.items()}
    if len(values.get("seed", ())) > 1:
        raise SettingsError(f"seed is {given['seed']}; give one seed, and --seeds N for N runs of each prompt")
    if not 1 <= parsed.seeds <= MAX_ROUNDS:
        raise SettingsError(f"seeds is {parsed.seeds}; allowed are whole numbers from 1 to {MAX_ROUNDS}")
    return Contest(contenders_of(parsed, values), prompts_of(parsed.prompts, parsed.limit), parsed.seeds)


def contenders_of(parsed: argparse.Namespace, values: Mapping[str, Sequence[Any]]) -> tuple[Contender, ...]:
    """Return the contenders of ``--grid`` and of ``--methods``, with the settings given. Raises: SettingsError."""
    grid = grid_contenders(parsed.grid, values) if parsed.grid is not None else ()
    if parsed.methods is None and grid:
        return grid
    methods = DEFAULT_METHODS if parsed.methods is None else names(parsed.methods)
    beside = contenders(methods, names(parsed.points), values)
    twice = {one.name for one in grid} & {one.name for one in beside}
    if twice:
        raise SettingsError(f"grid {parsed.grid!r} has {', '.join(sorted(twice))} already; leave it out of the methods")
    return grid + beside


def baselines_of(parsed: argparse.Namespace, contest: Contest) -> list[str]:
    """Return the baselines that the flags ask for; one that is not measured gives no ratio. Raises: SettingsError."""
    known = [*CONTENDER_METHODS, *(contender.name for contender in contest.contenders)]
    chosen = names(parsed.baselines) if parsed.baselines is not None else _default_baselines(parsed)
    for name in chosen:
        if name not in known:
            raise SettingsError(f"baselines names {name!r}; choose from {', '.join(dict.fromkeys(known))}")
    return chosen


def _default_baselines(parsed: argparse.Namespace) -> list[str]:
    return [*([GRID_BASELINE] if parsed.grid else []), *DEFAULT_BASELINES]


def names(text: str) -> list[str]:
    """Return the parts of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def prompts_of(path: str | None, limit: int | None = None) -> tuple[str, ...]:
    """Return the prompts of a text file, one a line, each once; None: the bundled set. Raises: SettingsError."""
    file = asset_path(PROMPTS) if path is None else Path(path)
    try:
        if file.stat().st_size > MAX_PROMPTS_BYTES:
            raise SettingsError(f"{str(path)!r} has more than {MAX_PROMPTS_BYTES:,} bytes; give fewer prompts")
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read prompts from {str(path)!r}: {error}; give a UTF-8 text file") from None
    found = tuple(dict.fromkeys(line for line in lines if line.strip()))
    if not found:
        raise SettingsError(f"{str(path)!r} has no prompt; give one a line")
    if limit is not None and limit < 1:
        raise SettingsError(f"limit is {limit}; allowed are whole numbers from 1")
    return found[:limit]


def _value(name: str, text: str, hint: Any) -> Any:
    """Return a setting as the first of its types that can read the text; the settings check its range."""
    kinds = get_args(hint) if NoneType in get_args(hint) or get_origin(hint) is not None else (hint,)
    readers: Mapping[Any, Any] = {NoneType: _none, bool: _boolean, int: int, float: float, str: str}
    for kind in sorted(kinds, key=lambda one: one is str):
        if get_origin(kind) is Literal and text in get_args(kind):
            return text
        try:
            return readers[kind](text)
        except (ValueError, KeyError):
            continue
    if (isinstance(hint, type) and hint is not bool) or text == "auto":
        return text  # the settings refuse it with their own message
    raise SettingsError(f"{name} cannot be {shortened(text)}; see python -m dsbd bench --help")


def _none(text: str) -> None:
    if text.lower() != "none":
        raise ValueError(text)


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"
