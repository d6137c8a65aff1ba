"""``bench``: measure methods and settings over many prompts."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.assets import asset_path
from dsbd.commands.contender_flags import add_contest_flags, contenders_of, hold
from dsbd.commands.pair_flags import add_pair_flags
from dsbd.commands.parser import new_command
from dsbd.commands.paths import input_path
from dsbd.contest.tasks import Prompts
from dsbd.errors import SettingsError

DEFAULT_SEEDS = 2
MAX_PROMPTS_BYTES = 1_000_000
PROMPTS = "prompts.txt"


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "bench", "measure methods and settings over many prompts", run)
    add = parser.add_argument
    add("--prompts", type=input_path, metavar="FILE", help="one prompt per line (a small set comes with the package)")
    add("--seeds", type=int, default=DEFAULT_SEEDS, metavar="N", help=f"runs of each prompt ({DEFAULT_SEEDS})")
    add_contest_flags(parser)
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    racing = contenders_of(parsed)
    return hold(parsed, racing, [Prompts(prompts_of_file(parsed.prompts))])


def prompts_of_file(path: str | None) -> tuple[str, ...]:
    """Return the prompts of a text file, one per line, each once; None: the bundled set. Raises: SettingsError."""
    file = asset_path(PROMPTS) if path is None else Path(path)
    try:
        if file.stat().st_size > MAX_PROMPTS_BYTES:
            raise SettingsError(f"{str(path)!r} has more than {MAX_PROMPTS_BYTES:,} bytes; give fewer prompts")
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read prompts from {str(path)!r}: {error}; give a UTF-8 text file") from None
    found = tuple(dict.fromkeys(line for line in lines if line.strip()))
    if not found:
        raise SettingsError(f"{str(path)!r} has no prompt; give one per line")
    return found
