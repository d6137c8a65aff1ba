"""The flags of ``python -m dsbd bench``, and the contest they ask for. Needs no torch, so that help is quick."""

import argparse
from pathlib import Path

from dsbd.assets import asset_path
from dsbd.commands.contender_flags import add_contender_flags, contenders_of, names
from dsbd.commands.paths import input_path, output_file
from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import CONTENDER_METHODS, Contest
from dsbd.measure.bench.grids import GRID_BASELINE

DEFAULT_POINTS = ("defaults", "same-law")
DEFAULT_BASELINES = ("beam_sampling", "hf_beam_sampling")
DEFAULT_ROUNDS = 2
MAX_ROUNDS = 1000
MAX_PROMPTS_BYTES = 1_000_000
PROMPTS = "prompts.txt"


def add_bench_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags except those of the pair and ``--json``."""
    add = parser.add_argument
    add_contender_flags(parser, DEFAULT_POINTS)
    add("--baselines", metavar="LIST", help="to take ratios to; the first decides quality")
    add("--prompts", type=input_path, metavar="FILE", help="one prompt a line (a small set comes with the package)")
    add("--limit", type=int, metavar="N", help="only the first N prompts")
    add("--seeds", type=int, default=DEFAULT_ROUNDS, metavar="N", help=f"runs of each prompt ({DEFAULT_ROUNDS})")
    add("--output", type=output_file, metavar="FILE", help="JSON lines, one a run; an existing file is continued")
    add("--report", type=output_file, metavar="FILE", help="figures as one HTML page")


def contest_of(parsed: argparse.Namespace) -> Contest:
    """Return the contest that the flags ask for. Raises: SettingsError."""
    chosen = contenders_of(parsed)
    if not 1 <= parsed.seeds <= MAX_ROUNDS:
        raise SettingsError(f"seeds is {parsed.seeds}; allowed are whole numbers from 1 to {MAX_ROUNDS}")
    return Contest(chosen, prompts_of(parsed.prompts, parsed.limit), parsed.seeds)


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
