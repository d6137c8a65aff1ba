"""``bench``: measure methods and settings over many prompts."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.assets import asset_path
from dsbd.commands.contender_flags import (
    add_contender_flags,
    add_output_flags,
    contenders_of,
    print_report,
    require_output,
)
from dsbd.commands.pair_flags import add_pair_flags, pair_of, say_read
from dsbd.commands.parser import OK, STOPPED, new_command
from dsbd.commands.paths import input_path, output_file
from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import require_count
from dsbd.measure.bench.contest import Contest, plain_prompts

DEFAULT_ROUNDS = 2
MAX_ROUNDS = 1000
MAX_PROMPTS_BYTES = 1_000_000
PROMPTS = "prompts.txt"


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "bench", "measure methods and settings over many prompts", run)
    add = parser.add_argument
    add_contender_flags(parser)
    add("--prompts", type=input_path, metavar="FILE", help="one prompt per line (a small set comes with the package)")
    add("--limit", type=int, metavar="N", help="only the first N prompts")
    add("--seeds", type=int, default=DEFAULT_ROUNDS, metavar="N", help=f"runs of each prompt ({DEFAULT_ROUNDS})")
    add("--report", type=output_file, metavar="FILE", help="write figures as one HTML page")
    add_output_flags(parser)
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    contest = contest_of(parsed)
    require_output(parsed, contest.asked())
    from dsbd.evaluation.bench import Bench

    bench = Bench(pair_of(parsed), contest, parsed.output)
    say_read(bench.read)
    finished = bench.run()
    report = bench.report()
    print_report(parsed, report)
    if parsed.report:
        import visualize

        visualize.export_contest(report.tables, parsed.report)
    return OK if finished else STOPPED


def contest_of(parsed: argparse.Namespace) -> Contest:
    """Return the contest that the flags ask for. Raises: SettingsError."""
    chosen = contenders_of(parsed)
    require_count("seeds", parsed.seeds, MAX_ROUNDS)
    return Contest(chosen, plain_prompts(prompts_of_file(parsed.prompts, parsed.limit)), parsed.seeds)


def prompts_of_file(path: str | None, limit: int | None = None) -> tuple[str, ...]:
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
    if limit is not None:
        require_count("limit", limit)
    return found[:limit]
