"""Counts and aggregates for each value of a column, and the values that enough, most or fewest rows have."""

from training.sql.draw import Draw
from training.sql.filters import label
from training.sql.query import Column, Condition
from training.sql.skeletons.common import (
    TABLE_WEIGHTS,
    Drawn,
    aggregated,
    column_words,
    fill,
    nouns,
    phrase,
    query,
    term,
)  # fmt: skip

GROUP_COUNTS = (
    "How many {n} are there for each {g}?", "Count the {n} per {g}.", "Show each {g} and its number of {n}.",
    "For every {g}, count the {n}.",
)  # fmt: skip
GROUP_VALUES = (
    "What is the {a} of {n} for each {g}?", "Show the {a} of {n} per {g}.", "For every {g}, find the {a} of {n}.",
    "List each {g} with the {a} of its {n}.",
)  # fmt: skip
GROUP_HAVING = (
    "Which {g} have {k} {n}?", "List the {g} with {k} {n}.", "Find the {g} that have {k} {n}.",
    "Show all {g} with {k} {n}.",
)  # fmt: skip
LIMITS = ((">", "more than {}"), (">", "over {}"), (">=", "at least {}"), ("<", "fewer than {}"), ("<", "less than {}"))
GROUP_MOST = (
    "Which {g} has the {m} {n}?", "Find the {g} with the {m} {n}.", "What is the {g} with the {m} {n}?",
    "Name the {g} that has the {m} {n}.",
)  # fmt: skip


def group_count(draw: Draw, filters: int) -> Drawn:
    """Rows counted for each value of a column."""
    table = draw.pick(TABLE_WEIGHTS)
    found = phrase(draw, table, filters)
    column = label(draw, table)
    text = draw.pick(GROUP_COUNTS)
    text = fill(text, g=column_words(draw, table, column)[0], n=found.noun(nouns(draw, table)[1]))
    select = (term(table, column), term(table, None, "COUNT"))
    return text, query(table, select, found.where, group=Column(table, column))


def group_value(draw: Draw, filters: int) -> Drawn:
    """An aggregate for each value of a column."""
    table = draw.pick(TABLE_WEIGHTS)
    found = phrase(draw, table, filters)
    column = label(draw, table)
    words, value = aggregated(draw, draw.pick(("AVG", "AVG", "MAX", "MIN", "SUM")), table)
    text = draw.pick(GROUP_VALUES)
    text = fill(text, g=column_words(draw, table, column)[0], a=words, n=found.noun(nouns(draw, table)[1]))
    return text, query(table, (term(table, column), value), found.where, group=Column(table, column))


def group_having(draw: Draw, filters: int) -> Drawn:
    """The values that enough rows have."""
    table = draw.pick(TABLE_WEIGHTS)
    found = phrase(draw, table, filters)
    column, least = label(draw, table), draw.number(2, 30)
    operator, words = draw.pick(LIMITS)
    many = column_words(draw, table, column)[1]
    text = fill(draw.pick(GROUP_HAVING), g=many, k=words.replace("{}", str(least)))
    having = Condition(term(table, None, "COUNT"), operator, least)
    text = fill(text, n=found.noun(nouns(draw, table)[1]))
    return text, query(table, (term(table, column),), found.where, group=Column(table, column), having=having)


def group_most(draw: Draw, filters: int) -> Drawn:
    """The value that most, or fewest, rows have."""
    table, greatest = draw.pick(TABLE_WEIGHTS), draw.chance(0.7)
    found = phrase(draw, table, filters)
    column = label(draw, table)
    one, noun = column_words(draw, table, column)[0], found.noun(nouns(draw, table)[1])
    text = fill(draw.pick(GROUP_MOST), g=one, m="most" if greatest else "fewest", n=noun)
    return text, query(
        table, (term(table, column),), found.where, group=Column(table, column),
        order=term(table, None, "COUNT"), descending=greatest, limit=1,
    )  # fmt: skip
