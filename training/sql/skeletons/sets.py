"""Set operations between two lists."""

from dataclasses import replace

from training.sql.draw import Draw
from training.sql.query import Rejected
from training.sql.skeletons.common import Drawn, fill, nouns, phrase, query, term

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
