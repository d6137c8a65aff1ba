"""Reads files of questions within limits, and says what is wrong; and where data is: a path, or a data set on a hub."""

import csv
import gzip
import io
import json
import re
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
FILE_ENDS = (".json", ".jsonl", ".csv", ".gz")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")
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


def place_of(task: str, data: str | Path | None, remedy: str) -> Path | str:
    """Return a path that exists, or a hub id; ``remedy`` says what to give.

    Raises:
        TaskError: nothing was given, or neither a path that exists nor a possible hub id.
    """
    if data is None:
        raise TaskError(f"task {task} has no bundled data; give {remedy}")
    if Path(data).exists():
        return Path(data)
    if _HUB_ID.fullmatch(str(data)) and Path(data).suffix not in FILE_ENDS:
        return str(data)
    raise TaskError(
        f"data {str(data)[:200]!r} of task {task} is neither a path that exists nor a hub id; give {remedy}"
    )


def hub_rows(hub_id: str, split: str) -> list[dict[str, Any]]:
    """Return the rows of a split of a data set on a hub, by the optional library ``datasets``. Raises: TaskError."""
    try:
        import datasets
    except ImportError:
        raise TaskError(
            f"loading {hub_id} needs the library datasets; pip install 'dsbd[eval]', or give a local path"
        ) from None
    try:
        return [dict(row) for row in datasets.load_dataset(hub_id, split=split)]
    except Exception as error:  # a library of many file formats and a network: it has no common error
        raise TaskError(f"data set {hub_id} cannot be loaded: {error}; give a local path instead") from error


def hub_folder(hub_id: str, patterns: list[str]) -> Path:
    """Return a folder with the files of a data set's repository that match a pattern. Raises: TaskError."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(hub_id, repo_type="dataset", allow_patterns=patterns))
    except Exception as error:  # errors of the network, of the hub, of the disk
        raise TaskError(f"data set {hub_id} cannot be fetched: {error}; give a local path instead") from error
