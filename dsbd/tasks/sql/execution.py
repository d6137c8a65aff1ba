"""Runs one untrusted query on one SQLite file, which it can only read, within limits."""

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dsbd.errors import QueryError

Value: TypeAlias = "int | float | str | bytes | None"
Row: TypeAlias = "tuple[Value, ...]"

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_FUNCTION}
_REFUSED_FUNCTIONS = {"load_extension", "zeroblob", "randomblob", "random", "printf", "format", "fts3_tokenizer"}
"""They load code, make values of any length from a few characters, or answer differently each time."""
_STEPS_PER_CALL = 1_000


@dataclass(frozen=True)
class Limits:
    """How much one query may use."""

    characters: int = 10_000
    """Of the query's text."""
    steps: int = 1_000_000
    """Instructions of SQLite's virtual machine, counted in thousands."""
    rows: int = 1_000
    bytes: int = 1_000_000
    """Of one value, and of all texts and blobs of the result. A value is bounded while it is made from Python 3.11 on;
    on 3.10 SQLite's own bound, 1 GB, holds until the value is read."""
    seconds: float = 20.0
    """A last resort: far beyond what the steps take, so that results do not depend on the machine."""


def run_query(database: Path, query: str, limits: Limits = Limits()) -> list[Row]:
    """Return the rows of a query, in the order in which SQLite gives them.

    The file is opened read-only, one statement is run, and an authorizer allows it to read and nothing else: no
    ``ATTACH``, no ``PRAGMA``, no extension, no write. Text that is not UTF-8 keeps its bytes as surrogates.

    Args:
        database: path of a SQLite file.
        query: untrusted text.
        limits: what the query may use.

    Raises:
        QueryError: the query is empty, refused, fails, or goes past a limit; or the file cannot be read.
    """
    if len(query) > limits.characters:
        raise QueryError(f"the query has {len(query)} characters, and {limits.characters} are allowed")
    if "\0" in query:
        raise QueryError("the query has a NUL character")
    try:
        query.encode()  # SQLite's own message differs between versions of Python
        address = f"{database.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            return _rows(connection, query, limits)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        raise QueryError(" ".join(f"{error}".split()) or type(error).__name__) from error


def _rows(connection: sqlite3.Connection, query: str, limits: Limits) -> list[Row]:
    """Run a query on an open connection, and read its rows."""
    connection.execute("PRAGMA query_only = ON")
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    if hasattr(connection, "setlimit"):  # from Python 3.11 on
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000)
    connection.set_authorizer(_authorize)
    ends, calls, stopped = time.monotonic() + limits.seconds, 0, ""

    def go_on() -> int:
        nonlocal calls, stopped
        calls += 1
        if calls * _STEPS_PER_CALL > limits.steps:
            stopped = f"the query takes more than {limits.steps} steps"
        elif time.monotonic() > ends:
            stopped = f"the query takes more than {limits.seconds:g} seconds"
        return bool(stopped)

    connection.set_progress_handler(go_on, _STEPS_PER_CALL)
    try:
        cursor = connection.execute(query)
        if cursor.description is None:
            raise QueryError("the query is no statement that reads")
        rows: list[Row] = []
        read = 0
        for row in cursor:
            if len(rows) == limits.rows:
                raise QueryError(f"the query gives more than {limits.rows} rows")
            read += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if read > limits.bytes:
                raise QueryError(f"the query gives more than {limits.bytes} bytes")
            rows.append(row)
    except sqlite3.OperationalError as error:
        if stopped:
            raise QueryError(stopped) from error
        raise
    return rows


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Allow what reads; SQLite names the function in the second argument."""
    refused = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _REFUSED_FUNCTIONS
    return sqlite3.SQLITE_OK if action in _READING and not refused else sqlite3.SQLITE_DENY
