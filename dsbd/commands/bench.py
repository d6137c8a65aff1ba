"""``bench``: measure methods and settings over many prompts."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.commands.contender_flags import add_contest_flags, contenders_of, hold
from dsbd.commands.flags import add_pair_flags, input_path
from dsbd.commands.parser import new_command
from dsbd.contest.files import read_text
from dsbd.contest.tasks import Prompts
from dsbd.util import asset_path

DEFAULT_SEEDS = 2


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
    lines = read_text(asset_path("prompts.txt") if parsed.prompts is None else Path(parsed.prompts)).splitlines()
    return hold(parsed, racing, [Prompts(list(dict.fromkeys(line for line in lines if line.strip())))])
