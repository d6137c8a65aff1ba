"""Counts and aggregates of filtered rows."""

from __future__ import annotations

from collections.abc import Callable

from training.sql.draw import Draw
from training.sql.phrases import phrase
from training.sql.skeletons.common import (
    AGGREGATES,
    ASK_VALUE,
    COUNTS,
    SIMPLE,
    TABLE_WEIGHTS,
    Drawn,
    aggregated,
    column_words,
    label,
    nouns,
    numeric,
    query,
    term,
)


def count(*kinds: str, link: str = "AND") -> Callable[[Draw], Drawn]:
    """Return the skeleton that counts rows with filters of fixed kinds; none means any simple one."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(kind if kind != "simple" else draw.pick(SIMPLE) for kind in kinds), link)
        text = draw.pick(COUNTS).replace("{n}", found.noun(nouns(draw, table)[1]))
        return text, query(table, (term(table, None, "COUNT"),), found.where, link=link)

    return skeleton


def count_distinct(draw: Draw) -> Drawn:
    """How many different values a column of words has."""
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, (draw.pick(SIMPLE),)), label(draw, table)
    many, noun = column_words(draw, table, column)[1], found.noun(nouns(draw, table)[1])
    text = draw.pick(
        (
            "How many different {c} do {n} have?",
            "Count the distinct {c} of {n}.",
            "What is the number of different {c} of {n}?",
            "In total, how many distinct {c} are there among {n}?",
        )
    )
    return text.replace("{c}", many).replace("{n}", noun), query(
        table, (term(table, column, "COUNT", True),), found.where
    )


def aggregate(*names: str, filters: int = 1) -> Callable[[Draw], Drawn]:
    """Return the skeleton of one aggregate, one of those named, of filtered rows."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        words, value = aggregated(draw, draw.pick(names), table)
        text = draw.pick(ASK_VALUE).replace("{a}", words).replace("{n}", found.noun(nouns(draw, table)[1]))
        return text, query(table, (value,), found.where)

    return skeleton


def two_aggregates(draw: Draw) -> Drawn:
    """Two aggregates of one column."""
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, (draw.pick(SIMPLE),)), numeric(draw, table)
    words = column_words(draw, table, column)[0]
    names = draw.pick((("MIN", "MAX"), ("AVG", "MAX"), ("MIN", "AVG"), ("MAX", "MIN")))
    said = " and ".join(draw.pick(AGGREGATES[name][:2]).replace("{c}", "").strip() for name in names)
    text = draw.pick(ASK_VALUE).replace("{a}", f"{said} {words}").replace("{n}", found.noun(nouns(draw, table)[1]))
    if text.startswith("What is"):
        text = text.replace("What is", "What are", 1)
    return text, query(table, tuple(term(table, column, name) for name in names), found.where)
