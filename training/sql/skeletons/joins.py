"""Rows of a table by what they refer to, or by what refers to them."""

from __future__ import annotations

from collections.abc import Callable

from training.sql import wordings
from training.sql.draw import Draw
from training.sql.filters import condition, draw_filter
from training.sql.phrases import Phrase, phrase
from training.sql.query import Rejected
from training.sql.schema import ENTITY, TABLES
from training.sql.skeletons.common import (
    ASK_VALUE,
    COUNTS,
    ROWS,
    SIMPLE,
    VALUES,
    Drawn,
    aggregated,
    column_words,
    entity,
    full_name,
    nouns,
    numeric,
    query,
    shown,
    term,
)


def joined(draw: Draw, kinds: int = 1) -> tuple[str, str, str, Phrase]:
    """Return a table, one that it refers to, the words between them and a phrase of the second."""
    child, parent = draw.pick(tuple(wordings.BELONGS))
    return (
        child,
        parent,
        draw.pick(wordings.BELONGS[child, parent]),
        phrase(draw, parent, tuple(draw.pick(SIMPLE) for _ in range(kinds))),
    )


def parent_noun(draw: Draw, child: str, parent: str, words: str, found: Phrase, many: str) -> str:
    """Return "books by authors from Spain"."""
    return f"{many} {words} {found.noun(nouns(draw, parent)[1])}"


def join_rows(draw: Draw) -> Drawn:
    """Rows that refer to filtered rows."""
    child, parent, words, found = joined(draw)
    many = parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])
    if draw.chance(0.7):
        text, select = shown(draw, child)
    else:
        column = numeric(draw, child)
        text, select = draw.pick(VALUES).replace("{c}", column_words(draw, child, column)[1]), (term(child, column),)
    return text.replace("{n}", many), query(child, select, found.where, (parent,))


def join_two(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of filtered rows that refer to rows with a number of filters."""

    def skeleton(draw: Draw) -> Drawn:
        child, parent, words, found = joined(draw, filters)
        own = draw_filter(draw, child, draw.pick(SIMPLE))
        if not own.before:
            raise Rejected
        many = f"{own.before} {parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])}"
        where = (own.condition, *found.where)
        text, select = shown(draw, child)
        return text.replace("{n}", many), query(child, select, where, (parent,))

    return skeleton


def join_count(draw: Draw) -> Drawn:
    """How many rows refer to filtered rows."""
    child, parent, words, found = joined(draw)
    many = parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])
    return draw.pick(COUNTS).replace("{n}", many), query(child, (term(child, None, "COUNT"),), found.where, (parent,))


def join_aggregate(draw: Draw) -> Drawn:
    """An aggregate of rows that refer to filtered rows."""
    child, parent, words, found = joined(draw)
    said, value = aggregated(draw, draw.pick(("AVG", "MAX", "MIN", "SUM")), child)
    many = parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])
    return draw.pick(ASK_VALUE).replace("{a}", said).replace("{n}", many), query(
        child, (value,), found.where, (parent,)
    )


def join_by_name(draw: Draw) -> Drawn:
    """Rows that refer to one named row."""
    child, parent = draw.pick(
        (
            ("books", "authors"),
            ("loans", "members"),
            ("copies", "books"),
            ("copies", "branches"),
            ("members", "branches"),
            ("loans", "books"),
        )
    )
    name, words = full_name(draw, parent), draw.pick(wordings.BELONGS[child, parent])
    if child == "books" and words == "from":
        raise Rejected
    if parent == "branches":
        name = f"the {name} branch"
    value = name.removeprefix("the ").removesuffix(" branch")
    many = f"{nouns(draw, child)[1]} {words} {name}"
    where = (condition(parent, ENTITY[parent], "=", value),)
    how = draw.rng.random()
    if how < 0.5:
        text, select = shown(draw, child)
        return text.replace("{n}", many), query(child, select, where, (parent,))
    if how < 0.7:
        return draw.pick(COUNTS).replace("{n}", many), query(child, (term(child, None, "COUNT"),), where, (parent,))
    column = numeric(draw, child)
    text = draw.pick(VALUES).replace("{c}", column_words(draw, child, column)[1])
    return text.replace("{n}", many), query(child, (term(child, column),), where, (parent,))


def owners(draw: Draw, owner: str, owned: str) -> str:
    """Return the words from a table to one that refers to it."""
    return draw.pick(wordings.OWNED[owner, owned]).replace("{who}", wordings.WHO[owner])


def join_owner(draw: Draw) -> Drawn:
    """Rows of a table by what refers to them; each once."""
    owner, owned = draw.pick(
        (
            ("authors", "books"),
            ("members", "loans"),
            ("branches", "copies"),
            ("books", "copies"),
            ("books", "loans"),
            ("branches", "members"),
        )
    )
    found = phrase(draw, owned, (draw.pick(SIMPLE),))
    many = f"{nouns(draw, owner)[1]} {owners(draw, owner, owned)} {found.noun(nouns(draw, owned)[1])}"
    return draw.pick(ROWS).replace("{n}", many), query(owner, (entity(owner),), found.where, (owned,), distinct=True)


FAR = (
    ("members", "books", ("who borrowed", "who took out", "who have read")),
    ("branches", "books", ("that hold", "that keep", "with copies of", "that stock")),
    ("loans", "authors", ("of books by", "for books by", "of works by")),
    ("copies", "authors", ("of books by", "of works by", "of books written by")),
    ("loans", "branches", ("by members of", "made by members of", "by readers at")),
)
"""Two tables with one between, and the words from the first to the second."""


def join_far(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of rows joined through a table between."""

    def skeleton(draw: Draw) -> Drawn:
        main, far, words = draw.pick(FAR)
        found = phrase(draw, far, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        many = f"{nouns(draw, main)[1]} {draw.pick(words)} {found.noun(nouns(draw, far)[1])}"
        once = main in ("members", "branches")
        if draw.chance(0.5):
            value = term(main, TABLES[main][0], "COUNT", True) if once else term(main, None, "COUNT")
            return draw.pick(COUNTS).replace("{n}", many), query(main, (value,), found.where, (far,))
        return draw.pick(ROWS).replace("{n}", many), query(main, (entity(main),), found.where, (far,), distinct=once)

    return skeleton


REFERRING = (
    ("books", "authors"),
    ("copies", "books"),
    ("loans", "members"),
    ("members", "branches"),
    ("copies", "branches"),
    ("loans", "books"),
)
"""(table, table that it refers to)."""


def join_superlative(draw: Draw) -> Drawn:
    """A column of the row that the first row in an order refers to: "the author of the longest book"."""
    child, parent = draw.pick(REFERRING)
    found = phrase(draw, child, (draw.pick(SIMPLE),) if draw.chance(0.6) else ())
    column, greatest = draw.pick(tuple(wordings.CLEAR_SUPERLATIVES[child]))
    words = draw.pick(wordings.CLEAR_SUPERLATIVES[child][column, greatest])
    if words.split()[0] in found.before.split():
        raise Rejected
    noun = found.noun(nouns(draw, child)[0], one=True)
    asked = draw.pick([ENTITY[parent]] * 3 + [one for one in TABLES[parent] if (parent, one) in wordings.COLUMNS])
    thing = nouns(draw, parent)[0]
    if asked != ENTITY[parent]:
        thing = f"{column_words(draw, parent, asked)[0]} of the {thing}"
    text = draw.pick(
        (
            "What is the {t} of the {s} {n}?",
            "Find the {t} of the {s} {n}.",
            "Show the {t} of the {s} {n}.",
            "Name the {t} of the {s} {n}.",
        )
    )
    if text.startswith("What") and parent in ("authors", "members") and asked == ENTITY[parent]:
        text = text.replace("What", "Who", 1)
    return text.replace("{t}", thing).replace("{s}", words).replace("{n}", noun), query(
        child, (term(parent, asked),), found.where, (parent,), order=term(child, column), descending=greatest, limit=1
    )
