"""What the subcommands share: their parsers, flags of drawings, exit codes, JSON."""

import argparse
import json
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, NoReturn

OK, CHECK_FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130


class OneLineParser(argparse.ArgumentParser):
    """A parser that reports bad input in one line, with the help of the subcommand that it was given to."""

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return the flags; refuse unknown ones here: what calls a subcommand's parser names its own help instead.

        A flag that is misspelt is named before one that is missing: it may be the same one.
        """
        known, given = self._option_string_actions, None if args is None else list(args)
        if given is not None and self._subparsers is None:
            for flag in (one.split("=")[0] for one in given if one.startswith("--") and one != "--"):
                if flag not in known:
                    close = get_close_matches(flag, known, 1)
                    self.error(f"unrecognized arguments: {flag}{f'; did you mean {close[0]}?' if close else ''}")
        parsed, unknown = super().parse_known_args(given, namespace)
        if unknown:
            is_switched = unknown[0].lower() in ("true", "false")
            hint = "; a switch takes no value here: --no-NAME turns it off" if is_switched else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
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


def add_language_flag(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add the flag of the language; ``of`` names the format it belongs to."""
    parser.add_argument("--language", type=_language, default="en", help=f"{of}of sentences and controls (en)")


def _language(text: str) -> str:
    from visualize.words import Words

    try:
        return Words(text).language
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def names(text: str) -> list[str]:
    """Return the parts of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def print_json(value: Any) -> None:
    """Print one line of strict JSON."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))
