"""Set operations between two lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from training.sql.draw import Draw
from training.sql.phrases import phrase
from training.sql.query import Rejected
from training.sql.skeletons.common import SIMPLE, Drawn, nouns, query, term

ALIKE = (
    ("city", "members", "city", "branches", "city"),
    ("city", "branches", "city", "members", "city"),
    ("genre", "books", "genre", "books", "genre"),
    ("language", "books", "language", "books", "language"),
    ("country", "authors", "country", "authors", "country"),
    ("city", "members", "city", "members", "city"),
    ("name", "authors", "name", "authors", "name"),
    ("title", "books", "title", "books", "title"),
)

PLURAL = {
    "city": "cities",
    "genre": "genres",
    "language": "languages",
    "country": "countries",
    "name": "names",
    "title": "titles",
}


def combined(operator: str, words: tuple[str, ...], filters: int = 1) -> Callable[[Draw], Drawn]:
    """Return the skeleton of a set operation between two lists."""

    def skeleton(draw: Draw) -> Drawn:
        name, first, first_column, second, second_column = draw.pick(ALIKE)
        if name in ("name", "title") and operator != "EXCEPT":
            raise Rejected
        one = phrase(draw, first, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        other = phrase(draw, second, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        if first == second and (one.where == other.where or one.where[0].term == other.where[0].term):
            raise Rejected
        if any(c.term.column and c.term.column.table not in (first, second) for c in one.where + other.where):
            raise Rejected
        noun, noun2 = nouns(draw, first)[1], nouns(draw, second)[1]
        text = draw.pick(words).replace("{c}", PLURAL[name])
        text = text.replace("{a}", one.noun(noun)).replace("{b}", other.noun(noun2))
        right = query(second, (term(second, second_column),), other.where)
        return text, replace(query(first, (term(first, first_column),), one.where), combine=operator, other=right)

    return skeleton


UNION = (
    "List the {c} of {a} together with those of {b}.",
    "Which {c} have {a} or {b}?",
    "Show the {c} of {a} or of {b}.",
    "Find all {c} of {a} and also of {b}.",
)

EXCEPT = (
    "List the {c} of {a} except those of {b}.",
    "Show the {c} of {a} but not of {b}.",
    "Find the {c} of {a} without those of {b}.",
    "Which {c} of {a} are not {c} of {b}?",
)

INTERSECT = (
    "Which {c} do {a} share with {b}?",
    "List the {c} of both {a} and {b}.",
    "Show the {c} that {a} and {b} have in common.",
    "Find the {c} shared by {a} and {b}.",
)
