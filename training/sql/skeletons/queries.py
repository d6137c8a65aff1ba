"""Queries with a query inside, and set operations of two."""

from dataclasses import replace

from training.sql import wordings
from training.sql.draw import Draw
from training.sql.filters import condition
from training.sql.phrases import Phrase, phrase
from training.sql.query import Query, Rejected
from training.sql.schema import ENTITY, KEYS
from training.sql.skeletons.common import (
    COUNTS,
    TABLE_WEIGHTS,
    Drawn,
    column_words,
    entity,
    fill,
    full_name,
    nouns,
    numeric,
    query,
    shown,
    term,
)
from training.sql.skeletons.joins import values_of
from training.sql.skeletons.one_table import rows

BEYOND = (
    "Which {n} have a {c} {s} average?", "Find the {e} of {n}{l} with a {c} {s} average.",
    "Show the {e} of all {n}{l} whose {c} is {s} the average.", "Name the {n}{l} whose {c} is {s} the average.",
)  # fmt: skip
SOME = ("with at least one", "that have at least one", "with one or more", "that have one or more")
NO = ("with no", "without any", "that have no", "lacking")


def beyond_average(draw: Draw) -> Drawn:
    """Rows above or below the average of a column."""
    table = draw.pick(TABLE_WEIGHTS)
    column, above = numeric(draw, table), draw.chance(0.6)
    one, noun = column_words(draw, table, column)[0], nouns(draw, table)[1]
    side = draw.pick(("above", "higher than", "greater than") if above else ("below", "lower than", "less than"))
    found = phrase(draw, table, 1 if draw.chance(0.5) else 0)
    link = " and" if found.after else ""
    inner = Query((term(table, column, "AVG"),), (table,))
    where = (*found.where, condition(table, column, ">" if above else "<", inner))
    text = draw.pick(BEYOND)
    if side.endswith("than") and "{s} average" in text:
        side += " the"
    if link and text.startswith("Which"):
        text = "Which {n} also have a {c} {s} average?"
    if one[0] in "aeiou":
        text = text.replace("a {c}", "an {c}")
    text = fill(text, e=column_words(draw, table, ENTITY[table])[1], l=link, n=found.noun(noun), c=one, s=side)
    return text, query(table, (entity(table),), where)


ANOTHER = {
    ("authors", "country"): {"=": ("from the same country as {}", "who share their country with {}")},
    ("books", "genre"): {"=": ("in the same genre as {}", "of the same genre as {}")},
    ("books", "language"): {"=": ("in the same language as {}", "written in the language of {}")},
    ("members", "city"): {"=": ("living in the same city as {}", "who share their city with {}")},
    ("branches", "city"): {"=": ("in the same city as {}", "that share their city with {}")},
    ("authors", "born"): {">": ("born after {}", "younger than {}"), "<": ("born before {}", "older than {}")},
    ("authors", "prizes"): {
        ">": ("with more prizes than {}", "who won more prizes than {}"),
        "<": ("with fewer prizes than {}", "who won fewer prizes than {}"),
    },
    ("books", "pages"): {
        ">": ("longer than {}", "with more pages than {}"),
        "<": ("shorter than {}", "with fewer pages than {}"),
    },
    ("books", "year"): {">": ("newer than {}", "published after {}"), "<": ("older than {}", "published before {}")},
    ("members", "age"): {
        ">": ("older than {}", "who are older than {}"),
        "<": ("younger than {}", "who are younger than {}"),
    },
    ("members", "joined"): {
        ">": ("who joined after {}", "who signed up after {}"),
        "<": ("who joined before {}", "who signed up before {}"),
    },
    ("branches", "staff"): {
        ">": ("with more staff than {}", "employing more people than {}"),
        "<": ("with fewer staff than {}", "employing fewer people than {}"),
    },
    ("branches", "opened"): {">": ("newer than {}", "opened after {}"), "<": ("older than {}", "opened before {}")},
}
"""Column: the words that compare a row with another one, by operator."""


def as_another(draw: Draw) -> Drawn:
    """Rows that have what a named row has, or more, or less."""
    table, column = draw.pick(tuple(ANOTHER))
    name, words = full_name(draw, table), ANOTHER[table, column]
    operator = "=" if "=" in words else ">" if draw.chance(0.5) else "<"
    inner = Query((term(table, column),), (table,), (condition(table, ENTITY[table], "=", name),))
    after = draw.pick(words[operator]).replace("{}", name)
    return rows(draw, Phrase(table, "", after, (condition(table, column, operator, inner),), "AND"))


def membership(draw: Draw, negated: bool, inner_filters: int = 1, filters: int = 0) -> Drawn:
    """The rows that some, or no, row refers to."""
    owner, owned = draw.pick(tuple(wordings.OWNED))
    own = phrase(draw, owner, filters)
    bare = negated and not filters and draw.chance(0.3)
    found = phrase(draw, owned, 0 if bare else inner_filters)
    if any(one.term.column and one.term.column.table != owned for one in found.where):
        raise Rejected
    column = KEYS[owned, owner]
    inner = Query((term(owned, column),), (owned,), found.where)
    words = draw.pick(NO if negated else SOME).replace("that", wordings.WHO[owner])
    single = words.endswith("one")
    plural = found.noun(nouns(draw, owned)[0 if single else 1], one=single)
    many = f"{own.noun(nouns(draw, owner)[1])} {words} {plural}"
    where = (*own.where, condition(owner, column, "NOT IN" if negated else "IN", inner))
    if draw.chance(0.35):
        return fill(draw.pick(COUNTS), n=many), query(owner, (term(owner, None, "COUNT"),), where)
    asked = draw.pick((ENTITY[owner], numeric(draw, owner)))
    if asked == ENTITY[owner]:
        text, select = shown(draw, owner)
    else:
        text, select = values_of(draw, owner, asked), (term(owner, asked),)
    return fill(text, n=many), query(owner, select, where)


ALIKE = (
    ("city", "members", "branches"), ("city", "branches", "members"), ("genre", "books", "books"),
    ("language", "books", "books"), ("country", "authors", "authors"), ("city", "members", "members"),
    ("name", "authors", "authors"), ("title", "books", "books"),
)  # fmt: skip
"""A column, and two tables that have it."""
PLURAL = {
    "city": "cities", "genre": "genres", "language": "languages", "country": "countries", "name": "names",
    "title": "titles",
}  # fmt: skip
WORDS = {
    "UNION": (
        "List the {c} of {a} together with those of {b}.", "Which {c} have {a} or {b}?",
        "Show the {c} of {a} or of {b}.", "Find all {c} of {a} and also of {b}.",
    ),
    "EXCEPT": (
        "List the {c} of {a} except those of {b}.", "Show the {c} of {a} but not of {b}.",
        "Find the {c} of {a} without those of {b}.", "Which {c} of {a} are not {c} of {b}?",
    ),
    "INTERSECT": (
        "Which {c} do {a} share with {b}?", "List the {c} of both {a} and {b}.",
        "Show the {c} that {a} and {b} have in common.", "Find the {c} shared by {a} and {b}.",
    ),
}  # fmt: skip


def combined(draw: Draw, operator: str, filters: int = 1) -> Drawn:
    """A set operation between two lists."""
    column, first, second = draw.pick(ALIKE)
    if column in ("name", "title") and operator != "EXCEPT":
        raise Rejected
    one, other = phrase(draw, first, filters), phrase(draw, second, filters)
    if first == second and (one.where == other.where or one.where[0].term == other.where[0].term):
        raise Rejected
    if any(c.term.column and c.term.column.table not in (first, second) for c in one.where + other.where):
        raise Rejected
    noun, noun2 = nouns(draw, first)[1], nouns(draw, second)[1]
    text = fill(draw.pick(WORDS[operator]), c=PLURAL[column], a=one.noun(noun), b=other.noun(noun2))
    right = query(second, (term(second, column),), other.where)
    return text, replace(query(first, (term(first, column),), one.where), combine=operator, other=right)
