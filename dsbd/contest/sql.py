"""SQL: runs an untrusted query on a SQLite file that it can only read, within limits; and compares rows.

Every query runs in a separate process.

Two queries gave the same rows if their values are equal, or one is a float and they differ by at most 1e-6 (1e-9 of the
larger one); NULL is the same as NULL. Rows are a multiset, unless the order is asked for.
"""

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from dsbd.bounded import call_bounded
from dsbd.errors import QueryError

Value: TypeAlias = "int | float | str | bytes | None"
Row: TypeAlias = "tuple[Value, ...]"
_Same = Callable[[Sequence[Row], Sequence[Row]], bool]
_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|\w+(?:\.\d+)?|<=|>=|<>|!=|==|\|\||\S", re.ASCII
)

_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_FUNCTION}
_REFUSED_FUNCTIONS = {
    *("load_extension", "fts3_tokenizer"),
    *("zeroblob", "printf", "format"),
    *("random", "randomblob", "current_date", "current_time", "current_timestamp"),
}
"""They load code, make values of any length from a few characters, or answer differently each time."""
_DATE_FUNCTIONS = {"date": 1, "time": 1, "datetime": 1, "julianday": 1, "unixepoch": 1, "strftime": 2, "timediff": 2}
"""How many arguments each needs; with fewer it reads the clock."""
_CLOCK_WORDS = {"now", "subsec", "subsecond", "localtime", "utc"}
"""Arguments that ask for the clock or for the time zone of the machine."""
_STEPS_PER_CALL = 1_000
_SQLITE_BYTES = 256_000_000
_PROCESS_BYTES = 1_000_000_000


@dataclass(frozen=True)
class QueryLimits:
    """How much one query may use."""

    characters: int = 10_000
    """Of the query's text."""
    steps: int = 1_000_000
    """Instructions of SQLite's virtual machine, counted in thousands."""
    rows: int = 1_000
    bytes: int = 1_000_000
    """Of one value, and of all texts and blobs of the result. A value is bounded while it is made from Python 3.11 on;
    on 3.10 only by the memory of the process until it is read."""
    depth: int = 200
    """Of an expression (from Python 3.11 on; else 1,000)."""
    terms: int = 100
    """Of UNION and its like in one SELECT (from Python 3.11 on; else 500)."""
    seconds: float = 20.0
    """A last resort, far longer than the steps take, so that results do not depend on the machine."""


def run_query(database: Path, query: str, limits: QueryLimits = QueryLimits()) -> list[Row]:
    """Return the rows of a query, in the order in which SQLite gives them.

    The file is opened read-only, one statement is run, and an authorizer allows it to read and nothing else: no
    ``ATTACH``, no ``PRAGMA``, no extension, no write. Text that is not UTF-8 keeps its bytes as surrogates. The query
    is run by another process, which may take 1 GB of memory and is ended where it takes too long.

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
        rows: list[Row] = call_bounded(
            limits.seconds, _PROCESS_BYTES, run_query_here, database.resolve(), query, limits
        )
    except TimeoutError:
        raise QueryError(f"the query takes more than {limits.seconds:g} seconds") from None
    except MemoryError:
        raise QueryError(f"the query takes more than {_SQLITE_BYTES // 1_000_000} MB of memory") from None
    except ChildProcessError:
        raise QueryError("the query breaks SQLite") from None
    return rows


def run_query_here(database: Path, query: str, limits: QueryLimits) -> list[Row]:
    """Run a query in this process, which SQLite itself cannot always stop. Raises: QueryError, MemoryError."""
    try:
        query.encode()  # SQLite's own message differs between versions of Python
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, isolation_level=None)) as connection:
            return _rows(connection, query, limits)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        raise QueryError(" ".join(f"{error}".split()) or type(error).__name__) from error


def _rows(connection: sqlite3.Connection, query: str, limits: QueryLimits) -> list[Row]:
    """Run a query on an open connection, and read its rows."""
    calls, stopped = 0, ""

    def go_on() -> int:
        nonlocal calls, stopped
        calls += 1
        if calls * _STEPS_PER_CALL > limits.steps:
            stopped = f"the query takes more than {limits.steps} steps"
        return bool(stopped)

    def refuse(reason: str) -> None:
        nonlocal stopped
        stopped = reason

    _harden(connection, limits)
    for name in _DATE_FUNCTIONS:
        connection.create_function(name, -1, partial(_date, refuse, name), deterministic=True)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(go_on, _STEPS_PER_CALL)
    try:
        return _read(connection.execute(query), limits)
    except sqlite3.OperationalError as error:
        if stopped:
            raise QueryError(stopped) from error
        raise


def _harden(connection: sqlite3.Connection, limits: QueryLimits) -> None:
    """Bound what a connection takes, also while it prepares a query, where it calls no progress handler."""
    for pragma in ("query_only = ON", "temp_store = MEMORY", f"hard_heap_limit = {_SQLITE_BYTES}"):
        connection.execute(f"PRAGMA {pragma}")
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    if hasattr(connection, "setlimit"):  # from Python 3.11 on
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.bytes)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, limits.depth)
        connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, limits.terms)


def _read(cursor: sqlite3.Cursor, limits: QueryLimits) -> list[Row]:
    """Read the rows of a query that runs."""
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
    return rows


@lru_cache(maxsize=1)
def _dates() -> sqlite3.Connection:
    """Return a connection without data, whose date functions are SQLite's own."""
    return sqlite3.connect(":memory:")


def _date(refuse: Callable[[str], None], name: str, *values: Value) -> Value:
    """Return what SQLite's own function returns, unless it would ask for the time of the clock or of this place."""
    if len(values) < _DATE_FUNCTIONS[name] or not _CLOCK_WORDS.isdisjoint(map(_word, values)):
        refuse(f"the query asks {name} for the clock or the time zone, so its answer would change")
        raise ValueError
    found: Value = _dates().execute(f"SELECT {name}({', '.join('?' * len(values))})", values).fetchone()[0]
    return found


def _word(value: Value) -> str:
    """Return a value as SQLite's date functions read it: up to a NUL, in any case."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else f"{value}"
    return text.partition("\0")[0].lower()


def _authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Allow what reads; SQLite names the function in the second argument."""
    refused = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _REFUSED_FUNCTIONS
    return sqlite3.SQLITE_OK if action in _READING and not refused else sqlite3.SQLITE_DENY


def same_rows(gold: Sequence[Row], answer: Sequence[Row], *, ordered: bool, any_columns: bool = False) -> bool:
    """Tell whether an answer has the rows of the gold answer; each has rows of one length.

    Args:
        gold: the right rows.
        answer: the rows to check.
        ordered: the rows must come in the same order.
        any_columns: the answer's columns may be in another order, the same for all rows.

    Example:
        >>> same_rows([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], ordered=False)
        True
        >>> same_rows([(1, "a")], [("a", 1)], ordered=False)
        False
        >>> same_rows([(1, "a")], [("a", 1)], ordered=False, any_columns=True)
        True
    """
    if len(gold) != len(answer) or not gold:
        return len(gold) == len(answer)
    if len(gold[0]) != len(answer[0]):
        return False
    same = _same_lists if ordered else _same_multisets
    return _some_columns(gold, answer, same, ()) if any_columns else same(gold, answer)


def _same_lists(gold: Sequence[Row], answer: Sequence[Row]) -> bool:
    return all(map(_same_row, gold, answer))


def _some_columns(gold: Sequence[Row], answer: Sequence[Row], same: _Same, chosen: tuple[int, ...]) -> bool:
    """Tell whether the chosen columns of the answer, the gold's first ones, can be completed to all columns."""
    width = len(gold[0])
    if len(chosen) == width:
        return True
    for column in range(width):
        trial = (*chosen, column)
        if (
            column not in chosen
            and same([row[: len(trial)] for row in gold], [tuple(row[place] for place in trial) for row in answer])
            and _some_columns(gold, answer, same, trial)
        ):
            return True
    return False


def _same_multisets(gold: Sequence[Row], answer: Sequence[Row]) -> bool:
    """Pair equal rows first, then the rest within the tolerance."""
    left, found = Counter(gold), Counter(answer)
    missing, extra = list((left - found).elements()), list((found - left).elements())
    for row in missing:
        place = next((place for place, other in enumerate(extra) if _same_row(row, other)), None)
        if place is None:
            return False
        del extra[place]
    return True


def _same_row(gold: Row, answer: Row) -> bool:
    return all(map(_same_value, gold, answer))


def _same_value(gold: Value, answer: Value) -> bool:
    if isinstance(gold, (int, float)) and isinstance(answer, (int, float)) and float in (type(gold), type(answer)):
        return math.isclose(gold, answer, rel_tol=1e-9, abs_tol=1e-6)
    return gold == answer


def orders_rows(query: str) -> bool:
    """Tell whether a query fixes the order of its rows: an ORDER BY that is in no subquery.

    Example:
        >>> orders_rows("SELECT a FROM t ORDER BY a"), orders_rows("SELECT a FROM (SELECT a FROM t ORDER BY a)")
        (True, False)
    """
    depth, last = 0, ""
    for token in _TOKEN.findall(query.lower()):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and (last, token) == ("order", "by"):
            return True
        last = token
    return False
