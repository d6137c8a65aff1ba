"""Rows of one table: filtered, without repeats, or one named row."""

from training.sql import phrases, values, wordings
from training.sql.draw import Draw
from training.sql.filters import condition, label
from training.sql.phrases import Phrase
from training.sql.query import Rejected
from training.sql.schema import ENTITY, TABLES
from training.sql.skeletons.common import (
    NAMED,
    ROWS,
    TABLE_WEIGHTS,
    VAGUE_ROWS,
    VALUES,
    Drawn,
    column_words,
    fill,
    full_name,
    nouns,
    phrase,
    query,
    simple,
    term,
)  # fmt: skip

DIFFERENT = (
    "What are the different {c} of {n}?", "List the distinct {c} of {n}.", "Show each {c1} of {n} once.",
    "Which different {c} do {n} have?",
)  # fmt: skip
FACTS = (
    "What is the {c} of {v}?", "Show the {c} of the {n} {v}.", "Give the {c} of {v}.", "Find the {c} of the {n} {v}.",
)  # fmt: skip


def rows(draw: Draw, found: Phrase) -> Drawn:
    """Ask for rows: by their names, by other columns, or leaving the columns open."""
    table, many = found.table, found.noun(nouns(draw, found.table)[1])
    how = draw.rng.random()
    if how < 0.5:
        columns = draw.read(f"show.{table}")
        text = draw.pick(VAGUE_ROWS)
    elif how < 0.65:
        columns, text = (ENTITY[table],), draw.pick(ROWS)
    else:
        choices = [ENTITY[table]] * 2 + [column for owner, column in values.AMOUNTS if owner == table]
        columns = (draw.pick(choices),)
        if how > 0.85:
            second = draw.pick([one for one in TABLES[table] if (table, one) in wordings.COLUMNS])
            if second in columns:
                raise Rejected
            columns += (second,)
        named = " and ".join(column_words(draw, table, column)[1] for column in columns)
        text = fill(draw.pick(VALUES), c=named)
    select = tuple(term(table, column) for column in columns)
    return fill(text, n=many), query(table, select, found.where, link=found.link)


def filtered(draw: Draw, *kinds: str) -> Drawn:
    """Rows with filters of these kinds."""
    return rows(draw, phrases.phrase(draw, draw.pick(TABLE_WEIGHTS), kinds))


def filtered_two(draw: Draw, link: str) -> Drawn:
    """Rows with two simple filters, of which both hold, or one."""
    return rows(draw, phrases.phrase(draw, draw.pick(TABLE_WEIGHTS), simple(draw, 2), link))


def everything(draw: Draw) -> Drawn:
    """All rows."""
    table = draw.pick(TABLE_WEIGHTS)
    return rows(draw, Phrase(table, "", "", (), "AND"))


def distinct(draw: Draw) -> Drawn:
    """The values of a column of words; whether each is wanted once may be open."""
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, 1), label(draw, table)
    one, many = column_words(draw, table, column)
    noun = found.noun(nouns(draw, table)[1])
    if draw.chance(0.75):
        text, once = draw.pick(VALUES), draw.read("repeats")
    else:
        text, once = draw.pick(DIFFERENT), True
    return fill(text, c1=one, c=many, n=noun), query(table, (term(table, column),), found.where, distinct=once)


def fact(draw: Draw) -> Drawn:
    """A column of one named row."""
    table = draw.pick(NAMED)
    name = full_name(draw, table)
    column = draw.pick([one for one in TABLES[table] if (table, one) in wordings.COLUMNS and one != ENTITY[table]])
    noun, said = nouns(draw, table)[0], column_words(draw, table, column)[0]
    text = draw.pick(FACTS)
    if table in ("authors", "members"):
        text = text.replace("of {v}", "of the {n} {v}")
    where = (condition(table, ENTITY[table], "=", name),)
    return fill(text, c=said, n=noun, v=name), query(table, (term(table, column),), where)
