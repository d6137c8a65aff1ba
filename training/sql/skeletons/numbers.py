"""Counts and aggregates of filtered rows."""

from training.sql import phrases
from training.sql.draw import Draw
from training.sql.filters import label
from training.sql.skeletons.common import (
    AGGREGATES,
    ASK_VALUE,
    COUNTS,
    SIMPLE,
    TABLE_WEIGHTS,
    Drawn,
    aggregated,
    column_words,
    fill,
    nouns,
    numeric,
    phrase,
    query,
    term,
)  # fmt: skip

COUNT_DISTINCT = (
    "How many different {c} do {n} have?", "Count the distinct {c} of {n}.",
    "What is the number of different {c} of {n}?", "In total, how many distinct {c} are there among {n}?",
)  # fmt: skip


def count(draw: Draw, *kinds: str, link: str = "AND") -> Drawn:
    """How many rows have filters of these kinds; "simple" stands for any simple kind."""
    table = draw.pick(TABLE_WEIGHTS)
    asked = tuple(draw.pick(SIMPLE) if kind == "simple" else kind for kind in kinds)
    found = phrases.phrase(draw, table, asked, link)
    text = fill(draw.pick(COUNTS), n=found.noun(nouns(draw, table)[1]))
    return text, query(table, (term(table, None, "COUNT"),), found.where, link=link)


def count_distinct(draw: Draw) -> Drawn:
    """How many different values a column of words has."""
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, 1), label(draw, table)
    many, noun = column_words(draw, table, column)[1], found.noun(nouns(draw, table)[1])
    value = term(table, column, "COUNT", True)
    return fill(draw.pick(COUNT_DISTINCT), c=many, n=noun), query(table, (value,), found.where)


def aggregate(draw: Draw, *names: str, filters: int = 1) -> Drawn:
    """One aggregate, one of those named, of filtered rows."""
    table = draw.pick(TABLE_WEIGHTS)
    found = phrase(draw, table, filters)
    words, value = aggregated(draw, draw.pick(names), table)
    text = fill(draw.pick(ASK_VALUE), a=words, n=found.noun(nouns(draw, table)[1]))
    return text, query(table, (value,), found.where)


def two_aggregates(draw: Draw) -> Drawn:
    """Two aggregates of one column."""
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, 1), numeric(draw, table)
    words = column_words(draw, table, column)[0]
    names = draw.pick((("MIN", "MAX"), ("AVG", "MAX"), ("MIN", "AVG"), ("MAX", "MIN")))
    said = " and ".join(draw.pick(AGGREGATES[name][:2]).replace("{c}", "").strip() for name in names)
    text = fill(draw.pick(ASK_VALUE), a=f"{said} {words}", n=found.noun(nouns(draw, table)[1]))
    if text.startswith("What is"):
        text = text.replace("What is", "What are", 1)
    return text, query(table, tuple(term(table, column, name) for name in names), found.where)
