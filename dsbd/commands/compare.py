"""``compare``: measure methods side by side on a prompt."""

import argparse
from typing import Any

from dsbd.commands.output import OK, print_json
from dsbd.commands.pair_flags import add_pair_flags, pair_of
from dsbd.commands.parser import new_command
from dsbd.commands.settings_flags import add_settings_flags, settings_of_flags
from dsbd.progress import Progress
from dsbd.settings import METHODS


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "compare", "measure methods side by side on a prompt", run)
    parser.add_argument("--prompt", required=True, help="text to continue")
    parser.add_argument("--methods", default="dsbd,beam_sampling", help=f"comma-separated, of {', '.join(METHODS)}")
    parser.add_argument("--runs", type=int, default=3, help="runs per method, with seed, seed + 1, ... (3)")
    add_pair_flags(parser)
    add_settings_flags(parser, skip=("method",))


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    settings = settings_of_flags(parsed)
    methods = [name.strip() for name in parsed.methods.split(",") if name.strip()]
    from dsbd.measure.comparison import compare, require_comparable

    require_comparable(methods, parsed.runs)
    pair, progress = pair_of(parsed), None
    with Progress("warm-up", "run") as bar:
        for progress in compare(pair, parsed.prompt, settings, methods, parsed.runs):
            bar.show(progress.method, progress.done, progress.total)
    assert progress is not None
    assert progress.result is not None
    if parsed.json:
        print_json(progress.result)
        return OK
    print(f"{'method':<16}{'tokens/s':>10}{'ratio':>8}{'perplexity':>12}{'layers/it':>11}{'target calls':>14}")
    for row in progress.result["methods"]:
        ratio = progress.result["ratios"][row["method"]]
        shown = f"{ratio:.2f}" if ratio is not None else "-"
        print(
            f"{row['method']:<16}{row['tokens_per_second']:>10.1f}{shown:>8}{row['perplexity']:>12.2f}"
            f"{row['layers_per_iteration']:>11.2f}{row['target_calls']:>14.1f}"
        )
    return OK
