"""Command line: ``python -m dsbd COMMAND``; ``COMMANDS`` has them all.

Results go to stdout, everything else to stderr. Exit codes: 0, 1 (a check failed), 2 (bad input), 130 (Ctrl-C
stopped it; what a bench or an evaluation has done is kept and printed).
"""

import argparse
import os
import sys
from collections.abc import Sequence

from dsbd.commands import (
    bench,
    decode,
    doctor,
    eval,
    export,
    lesson,
    page,
    site,
    verify_trace,
)
from dsbd.commands.parser import BAD_INPUT, OK, STOPPED, OneLineParser
from dsbd.errors import DsbdError
from dsbd.version import __version__

COMMANDS = (decode, bench, eval, verify_trace, export, lesson, site, page, doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit code."""
    parsed = parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
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
    for command in COMMANDS:
        command.add(commands)
    return whole


if __name__ == "__main__":
    sys.exit(main())
