"""The parsers of the command line: no abbreviated flags, ``--json`` everywhere, one line for bad input."""

import argparse
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from dsbd.commands.output import BAD_INPUT


class OneLineParser(argparse.ArgumentParser):
    """A parser that reports bad input in one line, with the help of the subcommand that it was given to."""

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return the flags; refuse unknown ones here: what calls a subcommand's parser names its own help instead."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def error(self, message: str) -> NoReturn:
        message = " ".join(message.split())  # what was typed may have several lines
        print(f"dsbd: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def new_command(commands: Any, name: str, summary: str, run: Any) -> argparse.ArgumentParser:
    """Add a subcommand, still without its flags; ``run`` takes the parsed flags and returns the exit code."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)
    return parser
