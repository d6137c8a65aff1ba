"""``lesson``: make a page of a lesson."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.commands.parser import OK, new_command, print_json
from dsbd.commands.paths import input_path, output_file


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "lesson", "make a page of a lesson", run)
    parser.add_argument("file", type=input_path, metavar="FILE", help="the lesson, in Markdown")
    parser.add_argument("--output", type=output_file, required=True, metavar="OUT")


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    import visualize

    visualize.export_lesson(parsed.file, parsed.output)
    if parsed.json:
        print_json({"output": parsed.output, "bytes": Path(parsed.output).stat().st_size})
    return OK
