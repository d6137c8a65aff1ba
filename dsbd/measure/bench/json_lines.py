"""Files of JSON lines that grow while something is measured; a line that a crash cut off does not count."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.files import write_file


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Write one line and hand it to the system. Raises: SettingsError: the file cannot be written."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n")
    except OSError as error:
        raise cannot_write(path, error) from None


def read_lines(path: Path, take: Callable[[dict[str, Any]], None], kind: str, remedy: str) -> None:
    """Hand every whole line to ``take``, then drop what a crash left of another one.

    Args:
        path: a file.
        take: reads one record; a ValueError, KeyError or TypeError in it means that the file is of another kind.
        kind: what the file is, for the message.
        remedy: what to do where it cannot be used.

    Raises:
        SettingsError: the file cannot be read, or is of another kind.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {str(path)!r}: {error}; {remedy}") from None
    whole = text[: text.rfind("\n") + 1]
    try:
        for line in whole.splitlines():
            take(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"{str(path)!r} is not {kind} ({error}); {remedy}") from None
    if len(whole) < len(text):
        write_text(path, whole)


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises: SettingsError: it cannot be written."""
    try:
        write_file(path, text)
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> SettingsError:
    """Return the error that says why."""
    return SettingsError(f"cannot write {str(path)!r}: {error.strerror or error}")
