"""A query as SQL text, in the usual form or in one of its documented equivalents."""

import itertools
import random
from collections.abc import Collection

from training.sql.query import Column, Condition, Query, Term
from training.sql.schema import key

FORMS = ("unequal sign", "two comparisons", "joins reversed", "exists", "or for list")
"""The equivalent forms; golds have none of them."""
FORM_RATE = 0.25
"""The share of training examples that have a form where it can be written."""
Forms = Collection[str]


def draw_forms(rng: random.Random) -> Forms:
    """Draw the forms of one training example."""
    return [form for form in FORMS if rng.random() < FORM_RATE]


def column_text(column: Column, qualified: bool) -> str:
    """Return a column, with its table where the query has several."""
    return f"{column.table}.{column.name}" if qualified else column.name


def term_text(term: Term, qualified: bool) -> str:
    """Return a column or an aggregate."""
    inner = "*" if term.column is None else column_text(term.column, qualified)
    if not term.aggregate:
        return inner
    return f"{term.aggregate}({'DISTINCT ' if term.distinct else ''}{inner})"


def value_text(value: object) -> str:
    """Return a word or number as SQL."""
    return f"'{value}'" if isinstance(value, str) else str(value)


def condition_text(condition: Condition, qualified: bool, forms: Forms, alone: bool) -> str:
    """Return a condition; one that stands alone may become two comparisons joined by OR."""
    left, operator, value = term_text(condition.term, qualified), condition.operator, condition.value
    if isinstance(value, Query):
        if operator in ("IN", "NOT IN") and "exists" in forms:
            return exists_text(condition, forms)
        return f"{left} {operator} ({sql(value, forms)})"
    if value is None:
        return f"{left} {operator}"
    if isinstance(value, tuple):
        if operator == "BETWEEN":
            low, high = map(value_text, value)
            if "two comparisons" in forms and alone:
                return f"{left} >= {low} AND {left} <= {high}"
            return f"{left} BETWEEN {low} AND {high}"
        if "or for list" in forms and alone:
            return " OR ".join(f"{left} = {value_text(one)}" for one in value)
        return f"{left} {operator} ({', '.join(map(value_text, value))})"
    sign = "<>" if operator == "!=" and "unequal sign" in forms else operator
    return f"{left} {sign} {value_text(value)}"


def exists_text(condition: Condition, forms: Forms) -> str:
    """Return `key IN (SELECT key ...)` as EXISTS."""
    inner, outer = condition.value, condition.term.column
    assert isinstance(inner, Query)
    assert outer is not None
    link = f"{inner.tables[0]}.{outer.name} = {outer.table}.{outer.name}"
    parts = [link, *(condition_text(one, False, forms, False) for one in inner.where)]
    negation = "NOT " if condition.operator == "NOT IN" else ""
    return f"{negation}EXISTS (SELECT * FROM {inner.tables[0]} WHERE {' AND '.join(parts)})"


def tables_text(tables: tuple[str, ...], forms: Forms) -> str:
    """Return the tables with their joins."""
    order = tables[::-1] if "joins reversed" in forms else tables
    joins = [f" JOIN {table} USING ({key(before, table)})" for before, table in itertools.pairwise(order)]
    return order[0] + "".join(joins)


def sql(query: Query, forms: Forms = ()) -> str:
    """Return the SQL text of a query."""
    many = len(query.tables) > 1
    select = ", ".join(term_text(term, many) for term in query.select)
    parts = [f"SELECT {'DISTINCT ' if query.distinct else ''}{select} FROM {tables_text(query.tables, forms)}"]
    if query.where:
        alone = len(query.where) == 1
        parts.append("WHERE " + f" {query.link} ".join(condition_text(c, many, forms, alone) for c in query.where))
    if query.group:
        parts.append(f"GROUP BY {column_text(query.group, many)}")
    if query.having:
        parts.append("HAVING " + condition_text(query.having, many, forms, False))
    if query.order:
        parts.append(f"ORDER BY {term_text(query.order, many)}{' DESC' if query.descending else ''}")
    if query.limit:
        parts.append(f"LIMIT {query.limit}")
    if query.other:
        parts.append(f"{query.combine} {sql(query.other, forms)}")
    return " ".join(parts)
