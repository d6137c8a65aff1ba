"""Counts and aggregates for each value of a column, and the values that enough, most or fewest rows have."""

from __future__ import annotations

from collections.abc import Callable

from training.sql.draw import Draw
from training.sql.phrases import phrase
from training.sql.query import Column, Condition
from training.sql.skeletons.common import (
    SIMPLE,
    TABLE_WEIGHTS,
    Drawn,
    aggregated,
    column_words,
    label,
    nouns,
    query,
    term,
)

GROUP_COUNTS = (
    "How many {n} are there for each {g}?",
    "Count the {n} per {g}.",
    "Show each {g} and its number of {n}.",
    "For every {g}, count the {n}.",
)

GROUP_VALUES = (
    "What is the {a} of {n} for each {g}?",
    "Show the {a} of {n} per {g}.",
    "For every {g}, find the {a} of {n}.",
    "List each {g} with the {a} of its {n}.",
)


def group_count(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton that counts rows for each value of a column."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = label(draw, table)
        text = draw.pick(GROUP_COUNTS).replace("{g}", column_words(draw, table, column)[0])
        text = text.replace("{n}", found.noun(nouns(draw, table)[1]))
        select = (term(table, column), term(table, None, "COUNT"))
        return text, query(table, select, found.where, group=Column(table, column))

    return skeleton


def group_value(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of an aggregate for each value of a column."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = label(draw, table)
        words, value = aggregated(draw, draw.pick(("AVG", "AVG", "MAX", "MIN", "SUM")), table)
        text = draw.pick(GROUP_VALUES).replace("{g}", column_words(draw, table, column)[0]).replace("{a}", words)
        text = text.replace("{n}", found.noun(nouns(draw, table)[1]))
        return text, query(table, (term(table, column), value), found.where, group=Column(table, column))

    return skeleton


def group_having(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the values that enough rows have."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column, least = label(draw, table), draw.number(2, 30)
        operator, words = draw.pick(
            (
                (">", "more than {}"),
                (">", "over {}"),
                (">=", "at least {}"),
                ("<", "fewer than {}"),
                ("<", "less than {}"),
            )
        )
        many = column_words(draw, table, column)[1]
        text = draw.pick(
            (
                "Which {g} have {k} {n}?",
                "List the {g} with {k} {n}.",
                "Find the {g} that have {k} {n}.",
                "Show all {g} with {k} {n}.",
            )
        )
        text = text.replace("{g}", many).replace("{k}", words.replace("{}", str(least)))
        having = Condition(term(table, None, "COUNT"), operator, least)
        return text.replace("{n}", found.noun(nouns(draw, table)[1])), query(
            table, (term(table, column),), found.where, group=Column(table, column), having=having
        )

    return skeleton


def group_most(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the value that most, or fewest, rows have."""

    def skeleton(draw: Draw) -> Drawn:
        table, greatest = draw.pick(TABLE_WEIGHTS), draw.chance(0.7)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = label(draw, table)
        one, noun = column_words(draw, table, column)[0], found.noun(nouns(draw, table)[1])
        text = draw.pick(
            (
                "Which {g} has the {m} {n}?",
                "Find the {g} with the {m} {n}.",
                "What is the {g} with the {m} {n}?",
                "Name the {g} that has the {m} {n}.",
            )
        )
        text = text.replace("{g}", one).replace("{m}", "most" if greatest else "fewest").replace("{n}", noun)
        return text, query(
            table,
            (term(table, column),),
            found.where,
            group=Column(table, column),
            order=term(table, None, "COUNT"),
            descending=greatest,
            limit=1,
        )

    return skeleton
