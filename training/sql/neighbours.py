"""The one-edit neighbours of a query: another operator, column, value or aggregate, or one clause less."""

from collections.abc import Iterator
from dataclasses import replace

from training.sql import values
from training.sql.query import Column, Condition, Query, Term
from training.sql.schema import TEXT

OPERATORS = {
    "=": ("!=",),
    "!=": ("=",),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    "IN": ("NOT IN",),
    "NOT IN": ("IN",),
    "IS NULL": ("IS NOT NULL",),
    "IS NOT NULL": ("IS NULL",),
}
AGGREGATES = {"AVG": ("MAX", "SUM"), "SUM": ("AVG", "COUNT"), "MIN": ("MAX", "AVG"), "MAX": ("MIN", "AVG"), "COUNT": ()}
SET_OPERATIONS = ("UNION", "EXCEPT", "INTERSECT")


def like_columns(column: Column) -> list[Column]:
    """Return the table's other columns of the same kind."""
    kinds: dict[tuple[str, str], object] = values.LABELS if column.name in TEXT else values.AMOUNTS  # type: ignore[assignment]
    return [Column(*place) for place in kinds if place[0] == column.table and place[1] != column.name]


def other_terms(term: Term) -> Iterator[Term]:
    """Yield a term with another column or aggregate."""
    if term.column is not None:
        for column in like_columns(term.column):
            yield replace(term, column=column)
    for name in AGGREGATES.get(term.aggregate, ()):
        if term.column is not None:
            yield replace(term, aggregate=name)
    if term.distinct:
        yield replace(term, distinct=False)


def other_values(condition: Condition) -> Iterator[object]:
    """Yield other values of a condition."""
    value, column = condition.value, condition.term.column
    if isinstance(value, Query):
        yield from neighbours(value)
    elif isinstance(value, int):
        step = 1
        if column is not None and (column.table, column.name) in values.AMOUNTS and not condition.term.aggregate:
            low, high, _ = values.AMOUNTS[column.table, column.name]
            step = max(1, (high - low) // 10)
        yield value + step
        yield value - step
    elif isinstance(value, tuple) and condition.operator == "BETWEEN":
        low, high = value
        yield (low, low + (high - low) // 2)
        yield (low + (high - low + 1) // 2, high)
    elif isinstance(value, tuple):
        yield value[:1]
        yield value[1:]
    elif isinstance(value, str) and column is not None:
        words = values.LABELS.get((column.table, column.name))
        if words:
            yield words[(words.index(value) + 1) % len(words)]
        elif condition.operator == "LIKE":
            yield f"%{value}" if not value.startswith("%") else value[1:]


def other_conditions(condition: Condition) -> Iterator[Condition]:
    """Yield a condition with another operator, value or column."""
    operators = OPERATORS.get(condition.operator, ())
    if isinstance(condition.value, Query) and condition.operator in "<>":
        operators = operators[1:]  # hardly any row equals an average
    for operator in operators:
        if not isinstance(condition.value, tuple) or operator in ("IN", "NOT IN"):
            yield replace(condition, operator=operator)
    for value in other_values(condition):
        yield replace(condition, value=value)
    numeric = not isinstance(condition.value, (str, Query, type(None)))
    if numeric and condition.operator != "IN" and not condition.term.aggregate:
        for term in other_terms(condition.term):
            yield replace(condition, term=term)


def neighbours(query: Query) -> Iterator[Query]:
    """Yield every query that is one edit away."""
    for place, term in enumerate(query.select):
        for one in other_terms(term):
            yield replace(query, select=(*query.select[:place], one, *query.select[place + 1 :]))
    for place, condition in enumerate(query.where):
        rest = (*query.where[:place], *query.where[place + 1 :])
        yield replace(query, where=rest)
        for other in other_conditions(condition):
            yield replace(query, where=(*query.where[:place], other, *query.where[place + 1 :]))
    if len(query.where) > 1:
        yield replace(query, link="OR" if query.link == "AND" else "AND")
    if query.having:
        yield replace(query, having=None)
        for having in other_conditions(query.having):
            yield replace(query, having=having)
    if query.order:
        yield replace(query, descending=not query.descending)
        yield replace(query, order=None, descending=False)
        for term in other_terms(query.order):
            yield replace(query, order=term)
    if query.limit:
        yield replace(query, limit=query.limit + 1)
        yield replace(query, limit=None)
    if query.distinct:
        yield replace(query, distinct=False)
    if query.other:
        yield replace(query, combine="", other=None)
        for name in SET_OPERATIONS:
            if name != query.combine:
                yield replace(query, combine=name)
        for other_query in neighbours(query.other):
            yield replace(query, other=other_query)
