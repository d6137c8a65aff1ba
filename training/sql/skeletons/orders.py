"""The first rows in an order, and all rows in an order."""

from training.sql import readings, wordings
from training.sql.draw import Draw
from training.sql.query import Column, Rejected
from training.sql.schema import ENTITY
from training.sql.skeletons.common import (
    NAMED,
    TABLE_WEIGHTS,
    Drawn,
    column_words,
    entity,
    fill,
    nouns,
    numeric,
    phrase,
    query,
    term,
)  # fmt: skip

TOP_ONE = (
    "Which is the {s} {n}?", "What is the {c} of the {s} {n}?", "Name the {s} {n}.", "Show the {c} of the {s} {n}.",
    "Find the {s} {n}.",
)  # fmt: skip
TOP_MANY = (
    "Which are the {k} {s} {n}?", "What are the {cs} of the {k} {s} {n}?", "Name the {k} {s} {n}.",
    "Show the {cs} of the {k} {s} {n}.",
)  # fmt: skip
ORDERED = (
    "List the {c} of {n} {o}.", "Show the {c} of {n}, sorted {o}.", "Give the {c} of all {n} {o}.",
    "Sort the {c} of {n} {o}.",
)  # fmt: skip
ALPHABETS = {
    True: ("in reverse alphabetical order", "from Z to A"),
    False: ("in alphabetical order", "from A to Z"),
}
DIRECTIONS = {
    True: ("by {c}, highest first", "by falling {c}", "in descending order of {c}"),
    False: ("by {c}, lowest first", "by rising {c}", "in ascending order of {c}"),
}


def superlative(draw: Draw, filters: int, many: bool) -> Drawn:
    """The first row or rows in an order."""
    table = draw.pick(NAMED * 2 + TABLE_WEIGHTS)
    found = phrase(draw, table, filters)
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
    return fill(text, cs=said[1], c=said[0], k=str(limit), s=words, n=noun), query(
        table, (term(table, asked),), found.where, (owner,), group=Column(table, ENTITY[table]) if name else None,
        order=term(owner, column, name), descending=greatest, limit=limit,
    )  # fmt: skip


def ordered(draw: Draw, filters: int) -> Drawn:
    """Rows in an order."""
    table = draw.pick(TABLE_WEIGHTS)
    found = phrase(draw, table, filters)
    column = draw.pick((ENTITY[table], numeric(draw, table)))
    descending = draw.chance(0.5)
    if column in ("name", "title"):
        how = draw.pick(ALPHABETS[descending])
    else:
        one = column_words(draw, table, column)[0]
        how = fill(draw.pick(DIRECTIONS[descending]), c=one)
    asked, noun = column_words(draw, table, ENTITY[table])[1], found.noun(nouns(draw, table)[1])
    text = draw.pick(ORDERED)
    if how.startswith(("in", "from")):
        text = text.replace(", sorted {o}", ", {o}")
    elif not text.startswith("Sort"):
        text = text.replace("{n} {o}", "{n}, sorted {o}")
    order = term(table, column)
    return fill(text, c=asked, n=noun, o=how), query(
        table, (entity(table),), found.where, order=order, descending=descending
    )
