"""SQL: runs an untrusted query on a SQLite file that it can only read, within limits; and compares rows.

All queries of this process run in one other process, which can be ended at any moment and ends with this one. A
query is limited by its own work, so that no load of the machine changes a score: steps, bytes, memory. The clock ends
what takes far longer than so many steps ever do.

Two queries gave the same rows if their values are equal, or one is a float and they differ by at most 1e-6 (1e-9 of the
larger one); NULL is the same as NULL. Rows are a multiset, unless their order counts.
"""

import math
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock, Timer
from typing import TypeAlias

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
    *("date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"),
}
"""They load code, make values of any length from a few characters, or may answer differently each time."""
_STEPS_PER_CALL, _STEPS = 1_000, 1_000_000
"""Instructions of SQLite's virtual machine: how often they are counted, and how many a query may take."""
_CHARACTERS, _RESULT_BYTES = 10_000, 1_000_000
"""Of a query, and of all texts and blobs of its result."""
_DEPTH, _TERMS = 200, 100
"""Of an expression, and of UNION and its like in one SELECT (before Python 3.11 SQLite's own: 1,000 and 500)."""
_SQLITE_BYTES = 256_000_000
_PROCESS_BYTES = 1_000_000_000


@dataclass(frozen=True)
class QueryLimits:
    """How much one query may use."""

    rows: int = 1_000
    names: bool = False
    """True: the names of the columns come first, as one more row."""
    value: int = 100_000
    """Bytes of one text or blob while the query runs (from Python 3.11 on; else only the memory bounds it)."""
    seconds: float = 120.0
    """By the clock: a million steps take one or two."""


def run_query(database: Path, query: str, limits: QueryLimits = QueryLimits()) -> list[Row]:
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
    if len(query) > _CHARACTERS:
        raise QueryError(f"the query has {len(query)} characters, and {_CHARACTERS} are allowed")
    if "\0" in query:
        raise QueryError("the query has a NUL character")
    return _process(os.getpid()).ask(database.resolve(), query, limits)


class _QueryProcess:
    """A process that runs queries; threads take turns."""

    def __init__(self) -> None:
        self._lock, self._process = Lock(), list[subprocess.Popen[bytes]]()

    def ask(self, database: Path, query: str, limits: QueryLimits) -> list[Row]:
        """Return the rows of a query. Raises: QueryError."""
        with self._lock:
            process = self._running()
            end = time.monotonic() + limits.seconds
            timer = Timer(limits.seconds, process.kill)
            timer.start()
            try:
                assert process.stdin is not None, "it is a pipe"
                assert process.stdout is not None, "it is a pipe"
                pickle.dump((database, query, limits), process.stdin)
                process.stdin.flush()
                rows, error = pickle.load(process.stdout)  # written by answer_queries
            except BaseException as problem:  # the process has ended, or the caller was interrupted
                process.kill()
                with suppress(OSError):  # what is left in the pipe
                    process.communicate()
                if not isinstance(problem, (EOFError, OSError, pickle.UnpicklingError)):
                    raise
                reason = f"takes more than {limits.seconds:g} seconds" if time.monotonic() >= end else "breaks SQLite"
                raise QueryError(f"the query {reason}") from None
            finally:
                timer.cancel()
        if isinstance(error, MemoryError):
            raise QueryError(f"the query takes more than {_SQLITE_BYTES // 1_000_000} MB of memory")
        if error is not None:
            raise error
        return list(rows)

    def _running(self) -> "subprocess.Popen[bytes]":
        if not self._process or self._process[0].poll() is not None:
            paths = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).resolve().parents[2])])
            code = f"import sys; sys.path.pop(0); from {__name__} import answer_queries; answer_queries()"
            self._process[:] = [
                subprocess.Popen(
                    [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": paths},
                )
            ]  # fmt: skip
        return self._process[0]


@lru_cache(maxsize=1)
def _process(asking: int) -> _QueryProcess:
    """Return the process that runs the queries of a process; a fork gets another one."""
    return _QueryProcess()


def answer_queries() -> None:
    """Answer queries until there are no more: with the rows, and what went wrong or None."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    with suppress(ImportError):  # Windows
        import resource

        for kind, most in ((resource.RLIMIT_AS, _PROCESS_BYTES), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
            with suppress(ValueError, OSError):  # macOS does not bound the memory
                resource.setrlimit(kind, (most, most))
    with suppress(EOFError):
        while True:
            database, query, limits = pickle.load(sys.stdin.buffer)
            rows, wrong = list[Row](), None
            try:
                rows = run_query_here(database, query, limits)
            except Exception as error:
                wrong = error
            pickle.dump((rows, wrong), answers)
            answers.flush()


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
    calls = 0

    def is_over() -> bool:
        nonlocal calls
        calls += 1
        return calls * _STEPS_PER_CALL > _STEPS

    _harden(connection, limits)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(is_over, _STEPS_PER_CALL)
    try:
        return _read(connection.execute(query), limits)
    except sqlite3.OperationalError as error:
        if calls * _STEPS_PER_CALL > _STEPS:
            raise QueryError(f"the query takes more than {_STEPS} steps") from error
        raise


def _harden(connection: sqlite3.Connection, limits: QueryLimits) -> None:
    """Bound what a connection takes, also while it prepares a query, where it calls no progress handler."""
    for pragma in ("query_only = ON", "temp_store = MEMORY", f"hard_heap_limit = {_SQLITE_BYTES}"):
        connection.execute(f"PRAGMA {pragma}")
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    if hasattr(connection, "setlimit"):  # from Python 3.11 on
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limits.value)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000)
        connection.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, _DEPTH)
        connection.setlimit(sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, _TERMS)


def _read(cursor: sqlite3.Cursor, limits: QueryLimits) -> list[Row]:
    """Read the rows of a query that runs."""
    if cursor.description is None:
        raise QueryError("the query is no statement that reads")
    rows: list[Row] = [tuple(name for name, *_ in cursor.description)] if limits.names else []
    read = 0
    for row in cursor:
        if len(rows) == limits.rows + limits.names:
            raise QueryError(f"the query gives more than {limits.rows} rows")
        read += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if read > _RESULT_BYTES:
            raise QueryError(f"the query gives more than {_RESULT_BYTES} bytes")
        rows.append(row)
    return rows


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
            and same([row[: len(trial)] for row in gold], [tuple(row[index] for index in trial) for row in answer])
            and _some_columns(gold, answer, same, trial)
        ):
            return True
    return False


def _same_multisets(gold: Sequence[Row], answer: Sequence[Row]) -> bool:
    """Pair equal rows first, then the rest within the tolerance."""
    right, own = Counter(gold), Counter(answer)
    missing, extra = (right - own).elements(), list((own - right).elements())
    for row in missing:
        near = next((other for other in extra if _same_row(row, other)), None)
        if near is None:
            return False
        extra.remove(near)
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
