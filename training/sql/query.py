"""A query as a value: what the grammar builds, what is written as SQL, edited into neighbours and counted."""

from __future__ import annotations

from dataclasses import dataclass

from training.sql.schema import KEYS, chain


class Rejected(Exception):  # noqa: N818 - a draw to throw away, not an error
    """A draw that makes no sensible query."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    table: str
    name: str


@dataclass(frozen=True)
class Term:
    """A column, or an aggregate of one; column None is `*`."""

    column: Column | None
    aggregate: str = ""
    distinct: bool = False


@dataclass(frozen=True)
class Condition:
    """A comparison. The value is a word or number, a tuple (BETWEEN, IN), None (IS NULL) or a query."""

    term: Term
    operator: str
    value: object = None


@dataclass(frozen=True)
class Query:
    """One SELECT; `tables` is a chain, each table joined to the one before."""

    select: tuple[Term, ...]
    tables: tuple[str, ...]
    where: tuple[Condition, ...] = ()
    link: str = "AND"
    group: Column | None = None
    having: Condition | None = None
    order: Term | None = None
    descending: bool = False
    limit: int | None = None
    distinct: bool = False
    combine: str = ""
    other: Query | None = None


def columns_of(query: Query) -> list[tuple[str, Column]]:
    """Return (role, column) of everything in a query; not of the queries inside it."""
    found = [("select", term.column) for term in query.select if not term.aggregate]
    found += [("aggregate", term.column) for term in query.select if term.aggregate]
    found += [("where", condition.term.column) for condition in query.where]
    found += [("group", query.group)] if query.group else []
    found += [("order", query.order.column)] if query.order else []
    return [(role, column) for role, column in found if column is not None]


def chained(main: str, others: list[str]) -> tuple[str, ...]:
    """Return a chain of tables that begins with `main` and has every other; Rejected if there is none."""
    found: tuple[str, ...] = (main,)
    for other in others:
        if other in found:
            continue
        step = chain(found[-1], other)
        if set(step[1:]) & set(found):
            raise Rejected
        if len(step) == 2 and not {step, step[::-1]} & KEYS.keys():
            raise Rejected
        found += step[1:]
    return found


def inner_queries(query: Query) -> list[Query]:
    """Return the queries directly inside a query."""
    found = [condition.value for condition in query.where if isinstance(condition.value, Query)]
    return found + ([query.other] if query.other else [])


def clauses(query: Query) -> int:
    """Return how many clauses a query has: joins, conditions, group, having, order with limit, set operation."""
    own = (
        len(query.tables)
        - 1
        + len(query.where)
        + sum(part is not None for part in (query.group, query.having, query.order, query.other))
    )
    return own + sum(clauses(inner) for inner in inner_queries(query))
