"""``export``: draw a trace."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.commands.drawing_flags import add_language_flag, add_plotly_flag
from dsbd.commands.output import OK, print_json, require_folder_of
from dsbd.commands.parser import new_command

FORMATS = ("html", "svg", "tikz", "mermaid", "text")


def add(commands: Any) -> None:
    """Its flags."""
    parser = new_command(commands, "export", "draw a trace", run)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--output", required=True, metavar="OUT")
    parser.add_argument("--iteration", type=int, default=0, help="which iteration, for all but html (0)")
    add_plotly_flag(parser, of="html: ")
    add_language_flag(parser, of="html: ")


def run(parsed: argparse.Namespace) -> int:
    """Returns the exit code."""
    import visualize
    from dsbd.tracing.trace import Trace

    require_folder_of(parsed.output)
    trace = Trace.load(parsed.file)
    if parsed.format == "html":
        visualize.export_html(trace, parsed.output, plotly=parsed.plotly, language=parsed.language)
    else:
        export = getattr(visualize, f"export_{parsed.format}")
        export(trace, parsed.output, iteration=parsed.iteration)
    if parsed.json:
        print_json({"output": parsed.output, "format": parsed.format, "bytes": Path(parsed.output).stat().st_size})
    return OK
