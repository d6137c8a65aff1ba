"""Command line: ``python -m dsbd decode|compare|bench|verify-trace|export|lesson|site|page|doctor``.

Results go to stdout, everything else to stderr. Exit codes: 0, 1 (a check failed), 2 (bad input), 130 (a bench was
stopped; what it had measured is kept and printed).
"""

import argparse
import sys
from collections.abc import Sequence

from dsbd.commands import bench, compare, decode, doctor, export, lesson, page, site, verify_trace
from dsbd.commands.output import BAD_INPUT, CHECK_FAILED, OK
from dsbd.commands.parser import OneLineParser
from dsbd.errors import DsbdError
from dsbd.version import __version__

COMMANDS = (decode, compare, bench, verify_trace, export, lesson, site, page, doctor)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code."""
    parsed = parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
    except DsbdError as error:
        print(f"dsbd: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        return OK
    except KeyboardInterrupt:
        print("dsbd: stopped", file=sys.stderr)
        return CHECK_FAILED
    return code


def parser() -> argparse.ArgumentParser:
    """The command line, all subcommands included."""
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
