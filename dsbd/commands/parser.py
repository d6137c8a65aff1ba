"""What the subcommands share: their parsers, exit codes, JSON, and a flag for each setting.

A setting is typed like ``4``, ``auto``, ``none``, ``true``, ``1:2:5`` or ``4,2,2``.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn

from dsbd.commands.flags import LONGEST_SHOWN
from dsbd.other_names import OTHER_NAMES
from dsbd.settings import FIELDS, DecodingSettings, branching_of

OK, CHECK_FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130


class OneLineParser(argparse.ArgumentParser):
    """A parser that reports bad input in one line, which names the help of the subcommand."""

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return the flags; refuse unknown ones here: the parser above would name its own help, not the subcommand's.

        A flag that is misspelt is named before one that is missing: it may be the same one.
        """
        known, typed_args = self._option_string_actions, None if args is None else list(args)
        if typed_args is not None and self._subparsers is None:
            for flag in (one.split("=")[0] for one in typed_args if one.startswith("--") and one != "--"):
                if flag not in known:
                    close = get_close_matches(flag, known, 1)
                    hint = f"; did you mean {close[0]}?" if close else ""
                    other = OTHER_NAMES.get(flag[2:].replace("-", "_")) if "--method" in known else None
                    self.error(f"unrecognized arguments: {flag}{f'; take {other}' if other else hint}")
        parsed, unknown = super().parse_known_args(typed_args, namespace)
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
    """Print one line of strict JSON in ASCII, which every console can write."""
    print(json.dumps(value, allow_nan=False))


_KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "choice": ("STR", str),
    "whole": ("INT", int),
    "number": ("FLOAT", float),
    "switch": ("true|false", lambda text: {"true": True, "false": False}[text.lower()]),
    "wholes": ("N,N,...", branching_of),
    "numbers": ("N:N:...|none", lambda text: tuple(map(float, text.replace(",", ":").split(":")))),
}
"""By the kind of a setting: how a value looks, and what reads it."""


def add_settings_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for each field."""
    group = parser.add_argument_group("settings")
    for name, about in FIELDS.items():
        readers = "" if len(about.methods) > 1 else f"{about.methods[0]}: "
        choices = f": {about.allowed}" if about.kind == "choice" else ""
        summary = f"{readers}{about.help}{choices} ({typed(about.default)})"
        options: dict[str, Any] = {"default": about.default, "dest": name, "help": summary}
        flag = "--" + name.replace("_", "-")
        if about.kind == "switch" and not about.also:
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
        else:
            form = "|".join([_KINDS[about.kind][0], *map(typed, about.also)])
            group.add_argument(flag, type=partial(value_of_text, name), metavar=form, **options)


def settings_of_flags(parsed: argparse.Namespace) -> DecodingSettings:
    """Return the settings that the flags ask for. Raises: SettingsError."""
    return DecodingSettings(**{name: value for name, value in vars(parsed).items() if name in FIELDS})


def value_of_text(name: str, text: str) -> Any:
    """Return the value of a setting. A text that is no value comes back, shortened, for the settings to refuse."""
    about = FIELDS[name]
    words = {typed(value): value for value in (about.also if about.kind != "numbers" else (None,))}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return _KINDS[about.kind][1](text)
    except (ValueError, KeyError):
        return text[:LONGEST_SHOWN]


def typed(value: Any) -> str:
    """Return a value as it is typed: what :func:`value_of_text` reads."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
