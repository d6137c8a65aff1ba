"""Untrusted queries: they read one file, within limits, and can do nothing else."""

import hashlib
import sqlite3

import pytest

from dsbd.errors import QueryError
from dsbd.tasks.sql.execution import Limits, run_query
from tests.tasks.sql.sample import write_database

ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("sql") / "a #1 ?b%20.sqlite"
    write_database(path, [300, 200, None])
    return path


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT title, pages FROM books ORDER BY pages DESC", [("Book 0", 300), ("Book 1", 200), ("Book 2", None)]),
        ("SELECT AVG(pages) FROM books;", [(250.0,)]),
        ("WITH few AS (SELECT 1 AS x) SELECT x FROM few -- one", [(1,)]),
        (ENDLESS + "SELECT x FROM t LIMIT 3", [(1,), (2,), (3,)]),
        ("SELECT CAST(x'ff41' AS TEXT)", [("\udcffA",)]),
        ("SELECT title FROM books WHERE pages > 1000", []),
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
    "delete": ("DELETE FROM books", DENIED),
    "drop": ("DROP TABLE books", DENIED),
    "temporary table": ("CREATE TEMP TABLE t AS SELECT 1", DENIED),
    "vacuum into": ("VACUUM INTO '{other}'", DENIED),
    "begin": ("BEGIN EXCLUSIVE", DENIED),
    "two statements": ("SELECT 1; SELECT 2", "one statement"),
    "two statements, one writes": ("SELECT 1; DELETE FROM books", "one statement"),
    "NUL": ("SELECT 1\0; DROP TABLE books", "NUL"),
    "surrogate": ("SELECT '\ud800'", "surrogates not allowed"),
    "empty": ("", "no statement"),
    "comment": ("-- nothing", "no statement"),
    "not SQL": ("the number of books", "syntax error"),
    "no such column": ("SELECT cover FROM books", "no such column: cover"),
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


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="bounded from Python 3.11 on")
def test_a_value_is_bounded_while_it_is_made(database):
    """Catches a text that doubles until the memory is full."""
    doubling = "WITH RECURSIVE t(x) AS (SELECT 'a' UNION ALL SELECT x || x FROM t) SELECT LENGTH(x) FROM t"
    with pytest.raises(QueryError, match="too big"):
        run_query(database, doubling)


def test_the_time_is_bounded(database):
    with pytest.raises(QueryError, match="more than 0 seconds"):
        run_query(database, ENDLESS + "SELECT COUNT(*) FROM t", Limits(seconds=0))


def test_a_file_that_is_no_database_is_an_error(tmp_path):
    """Catches a query that makes the file it is asked about."""
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"no database" * 100)
    with pytest.raises(QueryError, match="not a database"):
        run_query(damaged, "SELECT 1 FROM books")
    with pytest.raises(QueryError, match="unable to open"):
        run_query(tmp_path / "missing.sqlite", "SELECT 1")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.sqlite"]
