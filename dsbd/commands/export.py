"""``export``: draw a trace."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.commands.parser import OK, add_language_flag, new_command, print_json
from dsbd.commands.paths import input_path, output_file
from dsbd.errors import TraceError

FORMATS = ("html", "svg", "text")
"""``html`` shows every iteration, the others one."""


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "export", "draw a trace", run)
    parser.add_argument("file", type=input_path, metavar="FILE")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--output", type=output_file, required=True, metavar="OUT")
    which = "which iteration, counted from 1 as in the viewer; html opens there (1)"
    parser.add_argument("--iteration", type=int, default=1, metavar="N", help=which)
    add_language_flag(parser, of="html: ")


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    import visualize
    from dsbd.tracing.trace import Trace
    from visualize.files import write

    trace = Trace.load(parsed.file)
    most = max(len(trace.iterations), 1)
    if not 1 <= parsed.iteration <= most:
        raise TraceError(f"iteration is {parsed.iteration}; this trace has the iterations 1 to {most}")
    if parsed.format == "html":
        place = f"iteration={parsed.iteration}"
        visualize.export_html(trace, parsed.output, language=parsed.language, place=place)
    else:
        draw = {"svg": visualize.forest_svg, "text": visualize.forest_text}[parsed.format]
        write(parsed.output, draw(trace, parsed.iteration - 1))
    if parsed.json:
        print_json({"output": parsed.output, "format": parsed.format, "bytes": Path(parsed.output).stat().st_size})
    return OK
