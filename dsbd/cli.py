"""Command line: ``python -m dsbd COMMAND``. Drawing stands here, the rest in ``dsbd.commands``.

Results go to stdout, everything else to stderr. Exit codes: 0, 1 (a check failed), 2 (bad input), 130 (Ctrl-C
stopped it; what a bench or an evaluation has done is kept and printed). Needs no torch, so that help is quick.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsbd.commands import benchmarks, custom_generate, decode, fetch, page, verify_trace
from dsbd.commands.flags import input_path, output_file, output_folder
from dsbd.commands.parser import (
    BAD_INPUT,
    OK,
    STOPPED,
    OneLineParser,
    add_language_flag,
    new_command,
    print_json,
)
from dsbd.errors import DsbdError, TraceError
from dsbd.util import asset_path, check_output
from dsbd.version import __version__

FORMATS = ("html", "svg", "text")
"""Of ``export``: ``html`` shows every iteration, the others one."""
ARTICLE = asset_path("article/article.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where it was closed before
            stream.reconfigure(errors="backslashreplace")
    parsed = parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
        if sys.stdout is not None:  # it was closed before we began: nobody reads
            sys.stdout.flush()
    except DsbdError as error:
        print(f"dsbd: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        _close_output()
        return OK
    except OSError as error:  # files are checked where they are used: what is left is stdout, on a full disk
        _close_output()
        print(f"dsbd: cannot write the output: {error.strerror or error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("dsbd: stopped", file=sys.stderr)
        return STOPPED
    return code


def _close_output() -> None:
    """Send what is still in the buffer of stdout nowhere: Python would try to write it again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    whole = OneLineParser(
        prog="python -m dsbd", description="Dynamic-width speculative beam decoding.", allow_abbrev=False
    )
    whole.add_argument("--version", action="version", version=__version__)
    commands = whole.add_subparsers(required=True, metavar="COMMAND")
    for one in (decode, benchmarks, verify_trace, fetch):
        one.add(commands)
    _add_export(commands)
    _add_lesson(commands)
    _add_site(commands)
    custom_generate.add(commands)
    page.add(commands)
    return whole


def _add_export(commands: Any) -> None:
    parser = new_command(commands, "export", "draw a trace", _export)
    parser.add_argument("file", type=input_path, metavar="FILE")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--output", type=output_file, required=True, metavar="OUT")
    which = "which iteration, counted from 1 as in the viewer; html opens there (1)"
    parser.add_argument("--iteration", type=int, default=1, metavar="N", help=which)
    add_language_flag(parser, of="html: ")


def _export(parsed: argparse.Namespace) -> int:
    import visualize
    from dsbd.tracing.trace import Trace
    from visualize.files import write

    check_output(parsed.output, "text" if parsed.format == "text" else parsed.format.upper(), parsed.file)
    trace = Trace.load(parsed.file)
    most = max(len(trace.iterations), 1)
    if not 1 <= parsed.iteration <= most:
        raise TraceError(f"iteration is {parsed.iteration}; this trace has the iterations 1 to {most}")
    if parsed.format == "html":
        place = f"iteration={parsed.iteration}"
        visualize.export_html(trace, parsed.output, language=parsed.language, place=place)
    else:
        draw = visualize.forest_svg if parsed.format == "svg" else visualize.forest_text
        write(parsed.output, draw(trace, parsed.iteration - 1))
    if parsed.json:
        print_json({"output": parsed.output, "format": parsed.format, "bytes": Path(parsed.output).stat().st_size})
    return OK


def _add_lesson(commands: Any) -> None:
    parser = new_command(commands, "lesson", "make a page of a lesson", _lesson)
    parser.add_argument("file", type=input_path, metavar="FILE", help="the lesson, in Markdown")
    parser.add_argument("--output", type=output_file, required=True, metavar="OUT")


def _lesson(parsed: argparse.Namespace) -> int:
    import visualize

    visualize.export_lesson(parsed.file, parsed.output)
    if parsed.json:
        print_json({"output": parsed.output, "bytes": Path(parsed.output).stat().st_size})
    return OK


def _add_site(commands: Any) -> None:
    parser = new_command(commands, "site", "write a static site with a viewer page for every trace of a folder", _site)
    add = parser.add_argument
    add("--traces", type=input_path, required=True, metavar="DIR", help="folder of trace files")
    add("--output", type=output_folder, required=True, metavar="DIR", help="folder to write")
    add("--lessons", type=input_path, metavar="DIR", help="folder of lessons, which become pages too")
    article = "a lesson without questions, as a page to scroll (the bundled one)"
    add("--article", type=input_path, metavar="FILE", help=article)
    add("--title", default="DSBD", help="title of the site (DSBD)")
    add("--live", action="store_true", help="add a page that decodes in the reader's browser")
    add_language_flag(parser)


def _site(parsed: argparse.Namespace) -> int:
    import visualize

    names = ("lessons", "title", "language", "live")
    options = {name: getattr(parsed, name) for name in names}
    options["article"] = parsed.article or (ARTICLE if ARTICLE.is_file() else None)
    pages = visualize.export_site(parsed.traces, parsed.output, **options)
    if parsed.json:
        print_json({"output": parsed.output, "pages": pages})
    else:
        print("\n".join(pages))
    return OK
