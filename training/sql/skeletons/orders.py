"""The first rows in an order, and all rows in an order."""

from __future__ import annotations

from collections.abc import Callable

from training.sql import readings, wordings
from training.sql.draw import Draw
from training.sql.phrases import phrase
from training.sql.query import Column, Rejected
from training.sql.schema import ENTITY
from training.sql.skeletons.common import (
    NAMED,
    SIMPLE,
    TABLE_WEIGHTS,
    Drawn,
    column_words,
    entity,
    nouns,
    numeric,
    query,
    term,
)

TOP_ONE = (
    "Which is the {s} {n}?",
    "What is the {c} of the {s} {n}?",
    "Name the {s} {n}.",
    "Show the {c} of the {s} {n}.",
    "Find the {s} {n}.",
)

TOP_MANY = (
    "Which are the {k} {s} {n}?",
    "What are the {cs} of the {k} {s} {n}?",
    "Name the {k} {s} {n}.",
    "Show the {cs} of the {k} {s} {n}.",
)


def superlative(filters: int, many: bool) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the first row or rows in an order."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(NAMED * 2 + TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        asked = draw.pick((ENTITY[table], ENTITY[table], numeric(draw, table)))
        if readings.SUPERLATIVES[table] and draw.chance(0.7):
            one = draw.pick(readings.SUPERLATIVES[table])
            words = draw.pick(one.words)
            name, owner, column, greatest = draw.read(f"superlative.{table}.{one.words[0]}")
        else:
            column, greatest = draw.pick(tuple(wordings.CLEAR_SUPERLATIVES[table]))
            words = draw.pick(wordings.CLEAR_SUPERLATIVES[table][column, greatest])
            name, owner = "", table
        text = draw.pick(TOP_MANY if many else TOP_ONE)
        if "{c" not in text:
            asked = ENTITY[table]
        limit = draw.number(2, 10) if many else 1
        said = column_words(draw, table, asked)
        noun = found.noun(nouns(draw, table)[1 if many else 0], one=not many)
        if words.split()[0] in found.before.split():
            raise Rejected
        text = text.replace("{cs}", said[1]).replace("{c}", said[0]).replace("{k}", str(limit))
        text = text.replace("{s}", words).replace("{n}", noun)
        group = Column(table, ENTITY[table]) if name else None
        return text, query(
            table,
            (term(table, asked),),
            found.where,
            (owner,),
            group=group,
            order=term(owner, column, name),
            descending=greatest,
            limit=limit,
        )

    return skeleton


def ordered(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of rows in an order."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = draw.pick((ENTITY[table], numeric(draw, table)))
        descending = draw.chance(0.5)
        if column in ("name", "title"):
            how = draw.pick(
                ("in reverse alphabetical order", "from Z to A")
                if descending
                else ("in alphabetical order", "from A to Z")
            )
        else:
            one = column_words(draw, table, column)[0]
            how = draw.pick(
                (f"by {one}, highest first", f"by falling {one}", f"in descending order of {one}")
                if descending
                else (f"by {one}, lowest first", f"by rising {one}", f"in ascending order of {one}")
            )
        asked, noun = column_words(draw, table, ENTITY[table])[1], found.noun(nouns(draw, table)[1])
        text = draw.pick(
            (
                "List the {c} of {n} {o}.",
                "Show the {c} of {n}, sorted {o}.",
                "Give the {c} of all {n} {o}.",
                "Sort the {c} of {n} {o}.",
            )
        )
        if how.startswith(("in", "from")):
            text = text.replace(", sorted {o}", ", {o}")
        else:
            text = text.replace("{n} {o}", "{n}, sorted {o}") if not text.startswith("Sort") else text
        return text.replace("{c}", asked).replace("{n}", noun).replace("{o}", how), query(
            table, (entity(table),), found.where, order=term(table, column), descending=descending
        )

    return skeleton
