"""Files of questions: JSON and JSON lines, and fields of their entries. Every error names the file."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dsbd.errors import TaskError
from dsbd.util import object_of, read_file

MAX_BYTES = 200_000_000
"""The most bytes of a file."""
_HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair."""


def read_text(path: Path) -> str:
    """Return the text of a file. Raises: TaskError."""
    try:
        return read_file(path, MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise TaskError(f"there is no file {path}; check the path") from None
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror or error}; give a smaller file, or another") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error


def read_json(path: Path) -> Any:
    """Return what a JSON file holds. Raises: TaskError."""
    try:
        return json.loads(read_text(path), object_pairs_hook=object_of)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{path} is not JSON: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty; the first line is 1. Raises: TaskError."""
    for number, line in enumerate(io.StringIO(read_text(path)), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line, object_pairs_hook=object_of)
        except (ValueError, RecursionError) as error:
            raise TaskError(f"{path}, line {number}: no JSON ({error}); each line holds one object") from error
        if not isinstance(entry, dict):
            raise TaskError(f"{path}, line {number}: a {type(entry).__name__}; each line holds one object")
        yield number, entry


def text_in(where: str, entry: dict[str, Any], name: str, *, id: Any = None) -> str:
    """Return a field of an entry: a text that is not blank. With an ``id``, its default, it may be a whole number too.

    Raises: TaskError: it is no such text; the message begins with ``where`` the entry stands.
    """
    value, also = entry.get(name, id), "" if id is None else ", or a whole number"
    if also and isinstance(value, int) and not isinstance(value, bool):
        return f"{value}"
    if not isinstance(value, str) or not value.strip():
        raise TaskError(f"{where}: {name} is {value!r:.100}; write a text that is not blank{also}")
    if _HALF.search(value):
        raise TaskError(f"{where}: {name} is {value!a:.100}, with half of a surrogate pair; write whole characters")
    return value


@contextmanager
def in_format_of(where: str, remedy: str) -> Iterator[None]:
    """Turn what goes wrong with a published file into an error with its remedy. Raises: TaskError."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise TaskError(f"{where} is not in the format of the task ({error!r}); give {remedy}") from error


def path_of(task: str, data: str | Path | None, remedy: str) -> Path:
    """Return a path that exists; ``remedy`` says what to give. Raises: TaskError."""
    if data is None:
        raise TaskError(f"task {task} has no bundled data; give {remedy}")
    if not Path(data).exists():
        raise TaskError(f"there is nothing at {str(data)[:200]!r}, the data of task {task}; give {remedy}")
    return Path(data)
