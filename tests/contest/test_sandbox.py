"""Untrusted queries: they read one file, within limits, and can do nothing else."""

import hashlib
import sqlite3
from contextlib import closing

import pytest

from dsbd.contest.sandbox import QueryLimits, run_query
from dsbd.errors import QueryError
from tests.contest.made_up import write_database

ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
MORE = 1 if hasattr(sqlite3.Connection, "setlimit") else 2
"""Before Python 3.11 SQLite's own bounds hold."""
FEW = "WITH few AS (SELECT 1 AS x) "
WIDE = f"REPLACE('{'a' * 500}', 'a', '{'b' * 800}' || SUBSTR(x, 2))"
"""A text of 400,000 characters or more; one letter where x has one figure."""


def doubling(count, twice):
    """Return a query of so many tables, each of which reads the one before twice."""
    tables = [f"t{place + 1} AS ({twice.format(f't{place}')})" for place in range(count)]
    return f"WITH t0 AS (SELECT 1 AS x), {', '.join(tables)} SELECT COUNT(*) FROM t{count}"


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("sql") / "a #1 ?b%20.sqlite"
    write_database(path, [300, 200, None])
    return path


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT title, pages FROM books ORDER BY pages DESC", [("Book 0", 300), ("Book 1", 200), ("Book 2", None)]),
        ("WITH few AS (SELECT 1 AS x) SELECT x FROM few -- one", [(1,)]),
        (ENDLESS + "SELECT x FROM t LIMIT 3", [(1,), (2,), (3,)]),
        ("SELECT CAST(x'ff41' AS TEXT)", [("\udcffA",)]),
        ("SELECT title, ROW_NUMBER() OVER (ORDER BY title) FROM books LIMIT 1", [("Book 0", 1)]),
    ],
)
def test_a_query_that_reads_gives_its_rows(database, query, rows):
    """Catches an authorizer that refuses what a query may do, and a path that is taken for an address."""
    assert run_query(database, query) == rows


DENIED = "not authorized|authorization denied"
HOSTILE = {
    "attach": ("ATTACH DATABASE '{other}' AS other", DENIED),
    "pragma": ("PRAGMA writable_schema = ON", DENIED),
    "pragma as table": ("SELECT * FROM pragma_database_list", DENIED),
    "extension": ("SELECT load_extension('{other}')", DENIED),
    "write": ("INSERT INTO books (title) VALUES ('x')", DENIED),
    "drop": ("DROP TABLE books", DENIED),
    "temporary table": ("CREATE TEMP TABLE t AS SELECT 1", DENIED),
    "vacuum into": ("VACUUM INTO '{other}'", DENIED),
    "begin": ("BEGIN EXCLUSIVE", DENIED),
    "two statements, one writes": ("SELECT 1; DELETE FROM books", "one statement"),
    "NUL": ("SELECT 1\0; DROP TABLE books", "NUL"),
    "surrogate": ("SELECT '\ud800'", "surrogates not allowed"),
    "empty": ("", "no statement"),
    "not SQL": ("the number of books", "syntax error"),
    "endless": (ENDLESS + "SELECT COUNT(*) FROM t", "more than 1000000 steps"),
    "endless rows": (ENDLESS + "SELECT x FROM t", "more than 1000 rows"),
    "cross join": (
        "SELECT COUNT(*) FROM {many}".replace("{many}", ", ".join(f"books AS b{place}" for place in range(16))),
        "more than 1000000 steps",
    ),
    "huge blob": ("SELECT zeroblob(1000000000)", DENIED),
    "huge text": ("SELECT printf('%.1000000000c', 'x')", DENIED),
    "many texts": (ENDLESS + f"SELECT '{'x' * 9_000}' FROM t", "more than 1000000 bytes"),
    "long": ("SELECT " + " + ".join(["1"] * 9_000), "characters, and 10000 are allowed"),
    "deep": ("SELECT " + "NOT " * 2_000 + "1", "stack overflow|too large"),
    "deep OR": ("SELECT 1" + " OR 1" * 900 * MORE, "too large|too many"),
    "many terms": (" UNION ".join(["SELECT 1"] * 310 * MORE), "too many terms"),
    "doubling joins": (doubling(20, "SELECT l.x FROM {0} AS l, {0} AS r"), "memory|seconds|steps"),
    "wide rows": (ENDLESS + f"SELECT COUNT(DISTINCT {WIDE} || x) FROM t", "memory|seconds|steps"),
    "one wide row": (FEW + f"SELECT {', '.join(['y'] * 1_900)} FROM (SELECT {WIDE} AS y FROM few)", "bytes|memory"),
    "replace": (FEW + f"SELECT REPLACE(y, 'b', y) FROM (SELECT {WIDE} AS y FROM few)", "too big"),
    "overflow": ("SELECT SUM(x) FROM (SELECT 9223372036854775807 AS x UNION ALL SELECT 1)", "integer overflow"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_query_is_an_error_and_changes_nothing(name, database, tmp_path):
    """Catches a write, a second file, a second statement, and a query without end."""
    query, reason = HOSTILE[name]
    before = hashlib.sha256(database.read_bytes()).digest()
    with pytest.raises(QueryError, match=reason):
        run_query(database, query.replace("{other}", str(tmp_path / "other")))
    assert hashlib.sha256(database.read_bytes()).digest() == before
    assert sorted(database.parent.iterdir()) == [database]
    assert list(tmp_path.iterdir()) == []


SLOW = {
    "instr": "INSTR(y, SUBSTR(y, 1, 200000) || 'c')",
    "instr of blobs": "INSTR(CAST(y AS BLOB), CAST(SUBSTR(y, 1, 200000) || 'c' AS BLOB))",
    "replace": "REPLACE(y, SUBSTR(y, 1, 200000) || 'c', '')",
    "trim": "TRIM(y, REPLACE(SUBSTR(y, 1, 80000), 'b', 'c') || 'b')",
}
"""Their steps are few, and each takes long."""


@pytest.mark.parametrize("name", SLOW)
def test_the_time_is_bounded(database, name):
    """Catches a limit of time that only SQLite itself is asked to keep; the next query is answered as ever."""
    query = f"{FEW} SELECT COUNT({SLOW[name]}) FROM (SELECT {WIDE} AS y FROM few, books AS a, books AS b, books AS c)"
    with pytest.raises(QueryError, match="more than 1 seconds"):
        run_query(database, query, QueryLimits(seconds=1))
    assert run_query(database, "SELECT 1") == [(1,)]


DATES = ("date", "time", "datetime", "julianday", "unixepoch")
BY_CLOCK = [
    "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "random()", "randomblob(4)", "strftime('%Y')",
    *(f"{name}()" for name in DATES), "date('now')", "time('N'||'ow')", "datetime(x'6e6f77')",
    "julianday('now' || char(0) || 'x')", "strftime('%s', 'now')", "date('2020-01-01', 'utc')",
    "date('2020-01-01', 'LocalTime')", "datetime('subsec')",
]  # fmt: skip


@pytest.mark.parametrize("value", BY_CLOCK)
def test_what_changes_with_the_clock_or_by_chance_is_refused(database, value):
    """Catches an answer that would be right today and wrong tomorrow."""
    with pytest.raises(QueryError, match=f"{DENIED}|clock|no such function: unixepoch"):
        run_query(database, f"SELECT {value} FROM books")


def test_dates_are_computed_as_sqlite_does(database):
    query = (
        "SELECT date('2020-02-28', '+2 days'), time('12:30'), datetime(0, 'unixepoch'), julianday('2000-01-01'), "
        "strftime('%Y-%d', '2020-02-28'), date(NULL), date('not a date'), date(2451545)"
    )
    with closing(sqlite3.connect(":memory:")) as plain:
        assert run_query(database, query) == plain.execute(query).fetchall()


def test_a_file_that_is_no_database_is_an_error(tmp_path):
    """Catches a query that makes the file it is asked about."""
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"no database" * 100)
    with pytest.raises(QueryError, match="not a database"):
        run_query(damaged, "SELECT 1 FROM books")
    with pytest.raises(QueryError, match="unable to open"):
        run_query(tmp_path / "missing.sqlite", "SELECT 1")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.sqlite"]
