"""Reads files of questions within limits, and says what is wrong."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dsbd.errors import TaskError

MAX_BYTES = 200_000_000
"""The most bytes of a file, unpacked."""
MAX_LINE = 1_000_000
"""The most characters of a line of JSON lines; the csv module has its own bound."""
MAX_LINES = 1_000_000
Numbered = Iterator[tuple[int, dict[str, Any]]]


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked if its name ends in .gz. Raises: TaskError."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise TaskError(f"there is no file {path}; check the path") from None
    except (OSError, EOFError, zlib.error) as error:
        raise TaskError(f"{path} cannot be read: {error}") from error
    if len(raw) > MAX_BYTES:
        raise TaskError(f"{path} has more than {MAX_BYTES} bytes; split it")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error


def read_json(path: Path) -> Any:
    """Return what a JSON file holds. Raises: TaskError."""
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{path} is not JSON: {error}") from error


def json_lines(path: Path) -> Numbered:
    """Yield the number and the object of each line that is not empty; the first line is 1. Raises: TaskError."""
    for number, line in enumerate(io.StringIO(read_text(path)), start=1):
        if len(line) > MAX_LINE or number > MAX_LINES:
            raise TaskError(f"{path}, line {number}: at most {MAX_LINES} lines of {MAX_LINE} characters are allowed")
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TaskError(f"{path}, line {number}: no JSON ({error}); each line holds one object") from error
        if not isinstance(entry, dict):
            raise TaskError(f"{path}, line {number}: a {type(entry).__name__}; each line holds one object")
        yield number, entry


def csv_rows(path: Path) -> Numbered:
    """Yield line number and {column: text} of each row below the heading, without empty fields. Raises: TaskError."""
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        for row in reader:
            if reader.line_num > MAX_LINES:
                raise TaskError(f"{path}, line {reader.line_num}: at most {MAX_LINES} lines are allowed")
            if None in row:
                raise TaskError(f"{path}, line {reader.line_num}: more fields than the heading has; quote commas")
            yield reader.line_num, {name: text for name, text in row.items() if text}
    except csv.Error as error:
        raise TaskError(f"{path}, line {reader.reader.line_num}: {error}") from error


def text_of(entry: dict[str, Any], name: str, source: Path | str, line: int) -> str:
    """Return a field that must be a text. Raises: TaskError."""
    if not isinstance(entry.get(name), str):
        found = f"{name!r} is a {type(entry[name]).__name__}" if name in entry else f"there is no {name!r}"
        raise TaskError(f"{source}, line {line}: {found}; it must be a text")
    return entry[name]


def path_of(task: str, data: str | Path | None, remedy: str) -> Path:
    """Return a path that exists; ``remedy`` says what to give. Raises: TaskError."""
    if data is None:
        raise TaskError(f"task {task} has no bundled data; give {remedy}")
    if not Path(data).exists():
        raise TaskError(f"there is nothing at {str(data)[:200]!r}, the data of task {task}; give {remedy}")
    return Path(data)
