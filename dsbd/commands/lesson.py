"""``lesson``: make a page of a lesson."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.commands.drawing_flags import add_plotly_flag
from dsbd.commands.output import OK, print_json, require_folder_of
from dsbd.commands.parser import new_command


def add(commands: Any) -> None:
    """Its flags."""
    parser = new_command(commands, "lesson", "make a page of a lesson", run)
    parser.add_argument("file", metavar="FILE", help="the lesson, in Markdown")
    parser.add_argument("--output", required=True, metavar="OUT")
    add_plotly_flag(parser)


def run(parsed: argparse.Namespace) -> int:
    """Returns the exit code."""
    import visualize

    require_folder_of(parsed.output)
    visualize.export_lesson(parsed.file, parsed.output, plotly=parsed.plotly)
    if parsed.json:
        print_json({"output": parsed.output, "bytes": Path(parsed.output).stat().st_size})
    return OK
