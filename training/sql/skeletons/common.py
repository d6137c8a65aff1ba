"""What several skeletons share: words for columns and rows, and queries over the tables that are named."""

from training.sql import values, wordings
from training.sql.draw import Draw
from training.sql.filters import numeric
from training.sql.query import Column, Condition, Query, Rejected, Term, chained
from training.sql.schema import ENTITY

Drawn = tuple[str, Query]
"""A question and its query."""
TABLE_WEIGHTS = (
    ("books",) * 4 + ("authors",) * 2 + ("members",) * 3 + ("branches",) * 2 + ("loans",) * 2 + ("copies",) * 2
)
NAMED = ("books", "books", "authors", "members", "branches")
ROWS = ("Which {n} are there?", "Tell me which {n} there are.", "Name the {n}.", "What {n} are there?", "Name all {n}.")
VAGUE_ROWS = ("Show the {n}.", "List all {n}.", "Find the {n}.", "Give me all {n}.")
VALUES = (
    "What are the {c} of {n}?", "Show the {c} of {n}.", "List the {c} of all {n}.", "Give the {c} of {n}.",
    "Find the {c} of all {n}.",
)  # fmt: skip
COUNTS = ("How many {n} are there?", "Count the {n}.", "What is the number of {n}?", "How many {n} do we have?")
AGGREGATES = {
    "AVG": ("average {c}", "mean {c}"),
    "SUM": ("total {c}", "combined {c}", "sum of the {cs}"),
    "MIN": ("lowest {c}", "minimum {c}", "smallest {c}", "least {c}"),
    "MAX": ("highest {c}", "maximum {c}", "largest {c}", "greatest {c}"),
}
ASK_VALUE = ("What is the {a} of {n}?", "Find the {a} of {n}.", "Show the {a} of all {n}.", "Give the {a} of {n}.")
SUMMED = {
    ("authors", "prizes"), ("books", "pages"), ("branches", "staff"), ("loans", "days"), ("loans", "fine"),
    ("copies", "price"),
}  # fmt: skip


def fill(text: str, **words: str) -> str:
    """Return a text with words in the places that they are named for."""
    for place, said in words.items():
        text = text.replace(f"{{{place}}}", said)
    return text


def term(table: str, column: str | None, aggregate: str = "", distinct: bool = False) -> Term:
    """Return a column or an aggregate of one."""
    return Term(None if column is None else Column(table, column), aggregate, distinct)


def entity(table: str) -> Term:
    """Return the column that names a row."""
    return term(table, ENTITY[table])


def query(
    main: str, select: tuple[Term, ...], where: tuple[Condition, ...] = (), others: tuple[str, ...] = (), **more: object
) -> Query:
    """Return a query over a table and every other that its conditions name."""
    named = [*others, *(one.term.column.table for one in where if one.term.column)]
    return Query(select, chained(main, [one for one in named if one != main]), where, **more)  # type: ignore[arg-type]


def nouns(draw: Draw, table: str) -> tuple[str, str]:
    """Return a word for a table's rows, one and many."""
    return draw.pick(wordings.NOUNS[table])


def column_words(draw: Draw, table: str, column: str) -> tuple[str, str]:
    """Return a word for a column, one and many."""
    return draw.pick(wordings.COLUMNS[table, column])


def shown(draw: Draw, table: str) -> tuple[str, tuple[Term, ...]]:
    """Return words that ask for rows, and the columns meant: the name, or open."""
    if draw.chance(0.5):
        columns = draw.read(f"show.{table}")
        return draw.pick(VAGUE_ROWS), tuple(term(table, column) for column in columns)
    return draw.pick(ROWS), (entity(table),)


def aggregated(draw: Draw, aggregate: str, table: str) -> tuple[str, Term]:
    """Return the words and the term of an aggregate of a column that it suits."""
    column = numeric(draw, table)
    if aggregate == "SUM" and (table, column) not in SUMMED:
        raise Rejected
    one, many = column_words(draw, table, column)
    words = draw.pick(AGGREGATES[aggregate]).replace("{cs}", many).replace("{c}", one)
    return words, term(table, column, aggregate)


def measured(draw: Draw, aggregates: tuple[str, ...], table: str) -> tuple[str, Term]:
    """Return the words and the term of one of these aggregates; without any, no words and the number of rows."""
    return aggregated(draw, draw.pick(aggregates), table) if aggregates else ("", term(table, None, "COUNT"))


def full_name(draw: Draw, table: str) -> str:
    """Return a name or title."""
    if table == "branches":
        return draw.pick(values.BRANCH_NAMES)
    first, second = values.NAME_PARTS[table]
    return f"{draw.pick(first)} {draw.pick(second)}"
