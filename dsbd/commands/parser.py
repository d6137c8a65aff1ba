"""How a subcommand is parsed: flags spelled out, ``--json`` everywhere, bad input told in one line."""

import argparse
import sys
from typing import Any, NoReturn

from dsbd.commands.output import BAD_INPUT


class OneLineParser(argparse.ArgumentParser):
    """Reports bad input in one line."""

    def error(self, message: str) -> NoReturn:
        print(f"dsbd: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def new_command(commands: Any, name: str, summary: str, run: Any) -> argparse.ArgumentParser:
    """A subcommand without flags of its own yet; ``run`` takes what was parsed and returns the exit code."""
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)
    return parser
