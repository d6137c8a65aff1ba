"""Rows of one table: shown, counted, added up, grouped and put in order."""

from training.sql import readings, values, wordings
from training.sql.draw import Draw
from training.sql.filters import condition, label
from training.sql.phrases import Filters, Phrase, phrase
from training.sql.query import Column, Condition, Rejected
from training.sql.schema import ENTITY, TABLES
from training.sql.skeletons.common import (
    AGGREGATES,
    ASK_VALUE,
    COUNTS,
    NAMED,
    ROWS,
    TABLE_WEIGHTS,
    VAGUE_ROWS,
    VALUES,
    Drawn,
    column_words,
    entity,
    fill,
    full_name,
    measured,
    nouns,
    numeric,
    query,
    term,
)

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


def filtered(draw: Draw, filters: Filters, link: str = "AND") -> Drawn:
    """Rows with filters of which all hold, or one."""
    return rows(draw, phrase(draw, draw.pick(TABLE_WEIGHTS), filters, link))


def everything(draw: Draw) -> Drawn:
    """All rows."""
    return rows(draw, Phrase(draw.pick(TABLE_WEIGHTS), "", "", (), "AND"))


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


COUNT_DISTINCT = (
    "How many different {c} do {n} have?", "Count the distinct {c} of {n}.",
    "What is the number of different {c} of {n}?", "In total, how many distinct {c} are there among {n}?",
)  # fmt: skip


def measure(draw: Draw, filters: Filters, aggregates: tuple[str, ...] = (), link: str = "AND") -> Drawn:
    """How many filtered rows there are, or an aggregate of them."""
    table = draw.pick(TABLE_WEIGHTS)
    found = phrase(draw, table, filters, link)
    words, value = measured(draw, aggregates, table)
    text = fill(draw.pick(ASK_VALUE if words else COUNTS), a=words, n=found.noun(nouns(draw, table)[1]))
    return text, query(table, (value,), found.where, link=link)


def count_distinct(draw: Draw) -> Drawn:
    """How many different values a column of words has."""
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, 1), label(draw, table)
    many, noun = column_words(draw, table, column)[1], found.noun(nouns(draw, table)[1])
    value = term(table, column, "COUNT", True)
    return fill(draw.pick(COUNT_DISTINCT), c=many, n=noun), query(table, (value,), found.where)


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


def group(draw: Draw, filters: int, aggregates: tuple[str, ...] = ()) -> Drawn:
    """Rows counted, or an aggregate of them, for each value of a column."""
    table = draw.pick(TABLE_WEIGHTS)
    found = phrase(draw, table, filters)
    column = label(draw, table)
    words, value = measured(draw, aggregates, table)
    text = draw.pick(GROUP_VALUES if words else GROUP_COUNTS)
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
