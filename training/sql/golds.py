"""Which queries are fit to be right answers: they have a result, it is determined, and no neighbour has it too."""

import sqlite3
from collections import Counter
from dataclasses import replace

from training.sql import rows
from training.sql.neighbours import neighbours
from training.sql.query import Query
from training.sql.render import sql

Rows = list[tuple[object, ...]]
MOST_ROWS = 150
"""A gold gives no more rows than this on the main database."""


def databases() -> list[sqlite3.Connection]:
    """Return the main database and its five siblings, held in memory."""
    return [rows.in_memory(seed) for seed in rows.SEEDS.values()]


def result(connection: sqlite3.Connection, query: Query) -> Rows:
    """Return the rows of a query."""
    return connection.execute(sql(query)).fetchall()


def same(one: Rows, other: Rows, ordered: bool) -> bool:
    """Say whether two results are equal: as lists, or as multisets where the order does not matter."""
    return one == other if ordered else len(one) == len(other) and Counter(one) == Counter(other)


def tied(connection: sqlite3.Connection, query: Query) -> bool:
    """Say whether equal keys leave open which rows come first."""
    if not query.order:
        return False
    keys = [row[-1] for row in result(connection, replace(query, select=(*query.select, query.order), limit=None))]
    if query.limit:
        keys = keys[: query.limit + 1]
    return len(set(keys)) < len(keys)


def means_something(query: Query, connections: list[sqlite3.Connection]) -> bool:
    """Say whether a query is fit as a right answer; the first database is the main one."""
    results = [result(connections[0], query)]
    cells = {cell for row in results[0] for cell in row}
    if not results[0] or len(results[0]) > MOST_ROWS or cells <= {None, 0}:
        return False
    if any(tied(connection, query) for connection in connections):
        return False
    results += [result(connection, query) for connection in connections[1:]]
    if any(row == (None,) for rows_ in results for row in rows_):
        return False
    ordered = query.order is not None
    for neighbour in neighbours(query):
        if all(
            same(right, result(connection, neighbour), ordered)
            for connection, right in zip(connections[1:], results[1:], strict=True)
        ):
            return False
    return True
