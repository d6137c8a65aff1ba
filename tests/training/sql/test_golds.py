"""Right answers mean something: what is empty, tied, or shared with a neighbour is refused."""

import sqlite3
from dataclasses import replace

import pytest

from dsbd.tasks.sql.hardness import hardness
from dsbd.tasks.sql.library import Library
from tests.tasks.scoring import mean_score
from tests.training.sql.committed import FOLDER, questions
from training.sql import rows
from training.sql.golds import databases, means_something, result, same, tied
from training.sql.neighbours import neighbours
from training.sql.query import Column, Condition, Query, Term
from training.sql.render import sql


@pytest.fixture(scope="module")
def connections():
    return databases()


def column(table: str, name: str, aggregate: str = "") -> Term:
    return Term(Column(table, name), aggregate)


TITLES = Query((column("books", "title"),), ("books",), (Condition(column("books", "pages"), ">", 600),))
GREEK = Query((Term(None, "COUNT"),), ("books",), (Condition(column("books", "language"), "=", "Greek"),))


NOTHING = {
    "empty": replace(TITLES, where=(Condition(column("books", "pages"), ">", 5000),)),
    "zero": replace(GREEK, where=(Condition(column("books", "language"), "=", "Klingon"),)),
    "null": Query(
        (column("books", "pages", "MAX"),), ("books",), (Condition(column("books", "title"), "=", "No Such Book"),)
    ),
    "tie at the limit": Query((column("books", "title"),), ("books",), order=column("books", "genre"), limit=3),
    "tie in the order": Query((column("books", "title"),), ("books",), order=column("books", "genre")),
    "a filter that does nothing": replace(TITLES, where=(Condition(column("books", "pages"), ">", 0),)),
    "a value that makes no difference": Query(
        (Term(None, "COUNT"),), ("books",), (Condition(column("books", "year"), ">", 1000),)
    ),
}


def test_only_golds_that_mean_something_are_accepted(connections):
    assert means_something(TITLES, connections)
    assert means_something(GREEK, connections)
    for name, query in NOTHING.items():
        assert not means_something(query, connections), name


def test_rows_are_compared_as_multisets_and_ties_seen_where_order_matters(connections):
    one, other = [(1,), (2,), (2,)], [(2,), (1,), (2,)]
    assert same(one, other, ordered=False)
    assert not same(one, other, ordered=True)
    assert not same([(1,), (1,), (2,)], one, ordered=False)
    query = Query((column("books", "title"),), ("books",), order=column("books", "book_id"))
    assert not tied(connections[0], query)
    assert not tied(connections[0], replace(query, order=None))
    assert tied(connections[0], replace(query, order=column("books", "genre")))


def test_an_accepted_gold_differs_from_each_neighbour_on_a_sibling(connections):
    """The twin of the check: every neighbour's rows, sorted, against the gold's."""
    for query in (TITLES, GREEK):
        others = list(neighbours(query))
        assert len(others) >= 3
        for other in others:
            pairs = [(result(one, query), result(one, other)) for one in connections[1:]]
            assert any(sorted(map(repr, right)) != sorted(map(repr, wrong)) for right, wrong in pairs), sql(other)


def test_neighbours_are_one_edit_away():
    query = replace(TITLES, order=column("books", "year"), descending=True, limit=2)
    found = {sql(one) for one in neighbours(query)}
    base = "SELECT title FROM books WHERE pages > 600 ORDER BY year DESC LIMIT 2"
    assert sql(query) == base
    assert found >= {
        base.replace(">", ">="),
        base.replace(">", "<"),
        base.replace("pages", "year"),
        base.replace("WHERE pages > 600 ", ""),
        base.replace(" DESC", ""),
        base.replace("LIMIT 2", "LIMIT 3"),
        base.replace("ORDER BY year", "ORDER BY pages"),
        base.replace(" LIMIT 2", ""),
    }
    assert base not in found


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_committed_golds_have_a_determined_result(step):
    """Each gold runs on all six files, gives rows on the main one, and the same ones if SQLite reads backwards."""
    connections = {}
    for name in rows.SEEDS:
        path = FOLDER / "databases" / f"{name}.sqlite"
        connections[name] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    asked = questions()[::step]
    assert all(one["hardness"] == hardness(one["sql"]) for one in asked)
    for backwards in (0, 1):
        for connection in connections.values():
            connection.execute(f"PRAGMA reverse_unordered_selects = {backwards}")
        for one in asked:
            found = {name: connection.execute(one["sql"]).fetchall() for name, connection in connections.items()}
            assert found["library"], one["id"]
            assert {cell for row in found["library"] for cell in row} - {None, 0}, one["id"]
            if backwards:
                ordered = "ORDER BY" in one["sql"]
                assert all(same(one["results"][name], found[name], ordered) for name in rows.SEEDS), one["id"]
            one["results"] = found
    for connection in connections.values():
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["validation", "test"])
def test_committed_golds_score_all_and_others_little(part):
    task = Library(part)
    assert mean_score(task) == 1.0
    assert mean_score(task, shift=1) < 0.02
