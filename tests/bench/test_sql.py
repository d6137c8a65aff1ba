"""SQL: untrusted queries read one file, within limits, and can do nothing else; answers are scored by their rows."""

import hashlib
import json
import os
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from threading import Timer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dsbd.bench import sql
from dsbd.bench.sql import QueryLimits, run_query, same_rows
from dsbd.bench.tasks import DATABASES, Library, Spider
from dsbd.errors import QueryError, TaskError
from tests.bench.made_up import chance, mean_score, write_database

UNORDERED = "SELECT title FROM books WHERE title <> ' order by ' AND pages IN (SELECT pages FROM books ORDER BY 1)"
BOOKS = [
    {"id": "q1", "question": "How many books?", "sql": "SELECT COUNT(*) FROM books", "skeleton": "count"},
    {"id": "q2", "question": "How many titles?", "sql": "SELECT COUNT(title) FROM books", "skeleton": "count"},
    {"id": "q3", "question": "Titles by length?", "sql": "SELECT title FROM books ORDER BY pages", "skeleton": "order"},
    {"id": "q4", "question": "The titles?", "sql": UNORDERED, "skeleton": "projection"},
    {"id": "q5", "question": "Mean length?", "sql": "SELECT AVG(pages) FROM books", "skeleton": "average"},
]
"""q1 and q2 have the same answer everywhere; the rows of q3 answer q4 too, but not the other way round."""
SCHEMA = {
    "db_id": "shop",
    "table_names_original": ["books", "shelves"],
    "column_names_original": [[-1, "*"], [0, "book_id"], [0, "title"], [0, "pages"], [1, "book_id"], [1, "place"]],
    "column_types": ["text", "number", "text", "number", "number", "text"],
    "primary_keys": [1, [4, 5]],
    "foreign_keys": [[4, 1]],
}
SHOP = [
    {"db_id": "shop", "question": "How many books?", "query": "SELECT count(*) FROM books"},
    {"db_id": "shop", "question": "How many  titles?", "query": "SELECT count(title) FROM books ;"},
    {"db_id": "shop", "question": "Titles and pages?", "query": "SELECT title, pages FROM books"},
    {"db_id": "shop", "question": "In order?", "query": "SELECT title, pages FROM books ORDER BY pages"},
    {"db_id": "attic", "question": "Pages?", "query": "SELECT pages FROM books WHERE pages > 150"},
]


def write_library(folder):
    (folder / "databases").mkdir()
    for index, name in enumerate(DATABASES):
        write_database(folder / "databases" / f"{name}.sqlite", [300 + index, 200, 100 + index, 400])
    lines = [json.dumps({**one, "prompt": f"Q: {one['question']}"}) for one in BOOKS]
    (folder / "test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def write_spider(folder):
    for name, pages in (("shop", [200, 100, 300]), ("attic", [100, 200, 200])):
        (folder / "database" / name).mkdir(parents=True)
        write_database(folder / "database" / name / f"{name}.sqlite", pages)
    for name, content in (("dev.json", SHOP), ("tables.json", [SCHEMA, {**SCHEMA, "db_id": "attic"}])):
        (folder / name).write_text(json.dumps(content))
    return folder


@pytest.fixture(scope="module")
def tasks(tmp_path_factory):
    library = Library(write_library(tmp_path_factory.mktemp("library")))
    return {"library": library, "spider": Spider(write_spider(tmp_path_factory.mktemp("spider")))}


@pytest.mark.parametrize("name", ["library", "spider"])
def test_right_answers_score_all_and_shuffled_ones_what_chance_gives(tasks, name):
    """By chance: each of 5 gets its own answer 1 time in 5; the two counts swap; rows in order answer any order."""
    assert mean_score(tasks[name]) == 1.0
    assert chance(tasks[name]) == pytest.approx((5 + 2 + 1) / 25)


@pytest.mark.parametrize(
    ("task", "id", "answer", "reason"),
    [
        ("library", "q1", "SELECT 4", ""),
        ("library", "q4", "SELECT title FROM books ORDER BY title DESC", ""),
        ("library", "q3", "SELECT title FROM books", "other rows on library"),
        ("library", "q5", "SELECT 250.0", "other rows on sibling-1"),
        ("library", "q5", "SELECT AVG(pages), 1 FROM books", "other rows on library"),
        ("library", "q5", "SELECT AVG(page) FROM books", "error: no such column: page"),
        ("spider", "spider-2", "SELECT pages, title FROM books", ""),
        ("spider", "spider-3", "SELECT pages, title FROM books ORDER BY pages", ""),
        ("spider", "spider-3", "SELECT title, pages FROM books ORDER BY pages DESC", "other rows"),
        ("spider", "spider-4", "SELECT pages FROM books WHERE pages > = 200", ""),
        ("spider", "spider-4", "SELECT DISTINCT pages FROM books WHERE pages > 150", "other rows"),
        ("spider", "spider-4", "SELECT page FROM books", "error: no such column: page"),
    ],
)
def test_answers_are_scored_by_their_rows(tasks, task, id, answer, reason):
    """Catches luck on one database, a comparison of sets or of columns in order, an order asked for where only a part
    of the right query has one, and a reason that is lost."""
    question = next(one for one in tasks[task].questions() if one.id == id)
    assert tasks[task].score(question, answer) == (float(not reason), reason)


def test_a_prompt_shows_the_schema_and_its_database_is_the_cluster(tasks):
    question = {one.id: one for one in tasks["spider"].questions()}["spider-1"]
    books = "books (book_id number, title text, pages number; key book_id)\n"
    shelves = "shelves (book_id number, place text; key book_id, place; book_id refers to books.book_id)\n"
    assert question.prompt.startswith(
        "Write one SQLite query that answers each question about its database.\n\nDatabase:\n"
    )
    assert question.prompt.endswith(f"\n\nDatabase:\n{books}{shelves}Question: How many titles?\nSQL:")
    assert (question.references, question.cluster) == (("SELECT count(title) FROM books",), "shop")
    assert {one.id: one for one in tasks["library"].questions()}["q3"].cluster == "order"


def test_a_right_query_that_fails_is_named(tmp_path):
    """Of the bundled task it is an error; in Spider the question counts as wrong, and the reason says why."""
    write_library(tmp_path)
    broken = json.dumps(BOOKS[0] | {"sql": "SELECT x FROM y", "prompt": ""})
    (tmp_path / "test.jsonl").write_text(broken, encoding="utf-8")
    task = Library(tmp_path)
    with pytest.raises(TaskError, match=r"the right query 'SELECT x FROM y' fails on .*: no such table: y"):
        task.score(task.questions()[0], "SELECT 1")
    write_spider(tmp_path)
    (tmp_path / "dev.json").write_text(json.dumps([{**SHOP[0], "query": "SELECT cover FROM books"}]))
    spider = Spider(tmp_path)
    scored = spider.score(spider.questions()[0], "SELECT 1")
    assert scored == (0.0, "the right query fails: no such column: cover")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("dev.json", None, r"no file .*dev\.json"),
        ("tables.json", [], "db_id is 'shop', which is no name in tables.json"),
        ("tables.json", [{}], "not in the format of the task"),
        ("tables.json", [{**SCHEMA, "primary_keys": [99]}], "not in the format of the task"),
        ("dev.json", [{}], r"dev\.json, question 0: db_id is None; write a text"),
        ("dev.json", [SHOP[0], {**SHOP[0], "question": " "}], r"dev\.json, question 1: question is ' '; write a text"),
        ("dev.json", [{**SHOP[0], "query": 3}], r"dev\.json, question 0: query is 3; write a text"),
        ("dev.json", [], "no questions"),
        ("dev.json", [{**SHOP[0], "db_id": "../shop"}], r"db_id is '\.\./shop', which is no name"),
        ("dev.json", [{**SHOP[0], "db_id": "cellar"}], "db_id is 'cellar', which is no name in tables.json"),
        ("database/attic/attic.sqlite", None, r"has no attic/attic\.sqlite"),
    ],
)
def test_damaged_data_of_spider_is_an_error(file, content, message, tmp_path):
    path = write_spider(tmp_path) / file
    path.unlink() if content is None else path.write_text(json.dumps(content))
    with pytest.raises(TaskError, match=message):
        Spider(tmp_path)


def slowly(gold, answer, ordered, any_columns):
    """The reference implementation: some order of the columns and of the rows makes every value the same."""

    def close(left, right):
        is_near = float in {type(left), type(right)} <= {int, float} and abs(left - right) <= 1e-6
        return left == right or is_near

    if len(gold) != len(answer):
        return False
    order = range(len(answer[0]) if answer else 0)
    for columns in permutations(order) if any_columns else [order]:
        turned = [tuple(row[column] for column in columns) for row in answer]
        for rows in [turned] if ordered else permutations(turned):
            if all(len(a) == len(b) and all(map(close, a, b)) for a, b in zip(gold, rows, strict=True)):
                return True
    return False


@st.composite
def tables(draw):
    """A table of few different rows, and one like it: shuffled, turned, with a row changed."""
    width = draw(st.integers(1, 3))
    rows = st.tuples(*[st.sampled_from([None, 0, 1, 1.0, 1.0 + 5e-7, 1.0 + 5e-6, "1", "a", -2.5])] * width)
    few = st.sampled_from(draw(st.lists(rows, min_size=2, max_size=3)))
    gold, columns = draw(st.lists(few, max_size=4)), draw(st.just(range(width)) | st.permutations(range(width)))
    answer = [tuple(row[column] for column in columns) for row in draw(st.just(gold) | st.permutations(gold))]
    changed = draw(st.integers(0, 4))
    return gold, [draw(few | rows) if at == changed else row for at, row in enumerate(answer)]


@pytest.mark.parametrize("ordered", [False, True], ids=["any order", "ordered"])
@pytest.mark.parametrize("any_columns", [False, True], ids=["columns in order", "any columns"])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(both=tables())
def test_the_comparison_is_its_slow_reference(both, ordered, any_columns):
    """Catches a comparison of sets, a row paired twice, and columns turned in each row by itself."""
    assert same_rows(*both, ordered=ordered, any_columns=any_columns) == slowly(*both, ordered, any_columns)


WIDE_ROWS = [tuple(f"{row * column % 7}" for column in range(10)) for row in range(50)]


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        ([(b"a",)], [("a",)], False),
        ([(10**12,)], [(10**12 + 1,)], False),
        ([(1e12,)], [(1e12 + 1,)], True),
        ([(float("inf"),)], [(float("inf"),)], True),
        ([], [(1,)], False),
        (WIDE_ROWS, [row[::-1] for row in WIDE_ROWS], True),
        (WIDE_ROWS, [(*row[1:], "x") for row in WIDE_ROWS], False),
    ],
)
def test_values_that_the_reference_does_not_meet(gold, answer, same):
    """Catches a search over all orders of ten columns, too: it would not end."""
    assert same_rows(gold, answer, ordered=False, any_columns=True) is same


ENDLESS = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
MORE = 1 if hasattr(sqlite3.Connection, "setlimit") else 2
"""Before Python 3.11 SQLite's own bounds hold."""
FEW = "WITH few AS (SELECT 1 AS x) "
WIDE = f"REPLACE('{'a' * 500}', 'a', '{'b' * 800}' || SUBSTR(x, 2))"
"""A text of 400,000 characters or more; one letter where x has one figure."""


def doubling(count, twice):
    """Return a query of so many tables, each of which reads the one before twice."""
    tables = [f"t{index + 1} AS ({twice.format(f't{index}')})" for index in range(count)]
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
        "SELECT COUNT(*) FROM {many}".replace("{many}", ", ".join(f"books AS b{index}" for index in range(16))),
        "more than 1000000 steps",
    ),
    "huge blob": ("SELECT zeroblob(1000000000)", DENIED),
    "many texts": (ENDLESS + f"SELECT '{'x' * 9_000}' FROM t", "more than 1000000 bytes"),
    "long": ("SELECT " + " + ".join(["1"] * 9_000), "characters, and 10000 are allowed"),
    "deep": ("SELECT " + "NOT " * 2_000 + "1", "stack overflow|too large"),
    "deep OR": ("SELECT 1" + " OR 1" * 900 * MORE, "too large|too many"),
    "many terms": (" UNION ".join(["SELECT 1"] * 310 * MORE), "too many terms"),
    "doubling joins": (doubling(20, "SELECT l.x FROM {0} AS l, {0} AS r"), "memory|seconds|steps"),
    "wide rows": (ENDLESS + f"SELECT COUNT(DISTINCT {WIDE} || x) FROM t", "too big|memory|seconds|steps"),
    "one wide row": (
        FEW + f"SELECT {', '.join(['y'] * 1_900)} FROM (SELECT {WIDE} AS y FROM few)",
        "too big|bytes|memory",
    ),
    "replace": (FEW + f"SELECT REPLACE(y, 'b', y) FROM (SELECT {WIDE} AS y FROM few)", "too big"),
    **{
        f"changes: {value}": (f"SELECT {value} FROM books", DENIED)
        for value in ("CURRENT_DATE", "random()", "randomblob(4)", "date('now')", "strftime('%Y')", "time()")
    },
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


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="runs wherever a process can be halted")
def test_a_query_that_takes_long_or_breaks_its_process_leaves_the_next_one_alone(database):
    """Catches a limit of time that SQLite keeps, which looks at it between steps alone, and one that has died."""
    slow = "REPLACE(y, SUBSTR(y, 1, 200000) || 'c', '')"  # few steps, and each takes long
    query = f"{FEW} SELECT COUNT({slow}) FROM (SELECT {WIDE} AS y FROM few, books AS a, books AS b, books AS c)"
    with pytest.raises(QueryError, match="more than 1 seconds"):
        run_query(database, query, QueryLimits(seconds=1, value=1_000_000))
    assert run_query(database, "SELECT 1") == [(1,)]
    (process,) = sql._process(os.getpid())._process
    process.send_signal(signal.SIGSTOP)
    Timer(0.3, process.send_signal, [signal.SIGTERM]).start()
    Timer(0.4, process.send_signal, [signal.SIGCONT]).start()
    with pytest.raises(QueryError, match="breaks SQLite"):
        run_query(database, "SELECT 1")
    with ThreadPoolExecutor(4) as threads:
        queries = [f"SELECT {number}" for number in range(20)]
        assert [*threads.map(lambda query: run_query(database, query), queries)] == [
            [(number,)] for number in range(20)
        ]


def test_a_file_that_is_no_database_is_an_error(tmp_path):
    """Catches a query that makes the file it is to read."""
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"no database" * 100)
    with pytest.raises(QueryError, match="not a database"):
        run_query(damaged, "SELECT 1 FROM books")
    with pytest.raises(QueryError, match="unable to open"):
        run_query(tmp_path / "missing.sqlite", "SELECT 1")
    assert [path.name for path in tmp_path.iterdir()] == ["damaged.sqlite"]
