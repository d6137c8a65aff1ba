"""Rows of several tables: by what they refer to or by what refers to them, counted or added up."""

from training.sql import wordings
from training.sql.draw import Draw
from training.sql.filters import condition, draw_filter, label
from training.sql.phrases import SIMPLE, phrase
from training.sql.query import Column, Condition, Rejected
from training.sql.schema import ENTITY, TABLES
from training.sql.skeletons.common import (
    ASK_VALUE,
    COUNTS,
    ROWS,
    VALUES,
    Drawn,
    aggregated,
    column_words,
    entity,
    fill,
    full_name,
    measured,
    nouns,
    numeric,
    query,
    shown,
    term,
)

FAR = (
    ("members", "books", ("who borrowed", "who took out", "who have read")),
    ("branches", "books", ("that hold", "that keep", "with copies of", "that stock")),
    ("loans", "authors", ("of books by", "for books by", "of works by")),
    ("copies", "authors", ("of books by", "of works by", "of books written by")),
    ("loans", "branches", ("by members of", "made by members of", "by readers at")),
)
"""Two tables with one between, and the words from the first to the second."""
REFERRING = (
    ("books", "authors"), ("copies", "books"), ("loans", "members"), ("members", "branches"), ("copies", "branches"),
    ("loans", "books"),
)  # fmt: skip
"""(table, table that it refers to)."""
NAMED_PARENTS = (
    ("books", "authors"), ("loans", "members"), ("copies", "books"), ("copies", "branches"), ("members", "branches"),
    ("loans", "books"),
)  # fmt: skip
OWNERS = (
    ("authors", "books"), ("members", "loans"), ("branches", "copies"), ("books", "copies"), ("books", "loans"),
    ("branches", "members"),
)  # fmt: skip
OF_FIRST = (
    "What is the {t} of the {s} {n}?", "Find the {t} of the {s} {n}.", "Show the {t} of the {s} {n}.",
    "Name the {t} of the {s} {n}.",
)  # fmt: skip


class Joined:
    """A table, one that it refers to, the words between them, and a phrase of the second with its conditions."""

    def __init__(self, draw: Draw, filters: int = 1) -> None:
        self.child, self.parent = draw.pick(tuple(wordings.BELONGS))
        self._words = draw.pick(wordings.BELONGS[self.child, self.parent])
        self._found = phrase(draw, self.parent, filters)
        self.where = self._found.where

    def noun(self, draw: Draw) -> str:
        """Return "books by authors from Spain"."""
        many = nouns(draw, self.child)[1]
        return f"{many} {self._words} {self._found.noun(nouns(draw, self.parent)[1])}"


def values_of(draw: Draw, table: str, column: str) -> str:
    """Return words that ask for the values of a column."""
    return fill(draw.pick(VALUES), c=column_words(draw, table, column)[1])


def join_rows(draw: Draw) -> Drawn:
    """Rows that refer to filtered rows."""
    both = Joined(draw)
    many = both.noun(draw)
    if draw.chance(0.7):
        text, select = shown(draw, both.child)
    else:
        column = numeric(draw, both.child)
        text, select = values_of(draw, both.child, column), (term(both.child, column),)
    return fill(text, n=many), query(both.child, select, both.where, (both.parent,))


def join_two(draw: Draw, filters: int) -> Drawn:
    """Filtered rows that refer to rows with so many filters."""
    both = Joined(draw, filters)
    own = draw_filter(draw, both.child, draw.pick(SIMPLE))
    if not own.before:
        raise Rejected
    many = f"{own.before} {both.noun(draw)}"
    text, select = shown(draw, both.child)
    return fill(text, n=many), query(both.child, select, (own.condition, *both.where), (both.parent,))


def join_measure(draw: Draw, aggregates: tuple[str, ...] = ()) -> Drawn:
    """How many rows refer to filtered rows, or an aggregate of them."""
    both = Joined(draw)
    said, value = measured(draw, aggregates, both.child)
    many = both.noun(draw)
    text = draw.pick(ASK_VALUE if said else COUNTS)
    return fill(text, a=said, n=many), query(both.child, (value,), both.where, (both.parent,))


def join_by_name(draw: Draw) -> Drawn:
    """Rows that refer to one named row."""
    child, parent = draw.pick(NAMED_PARENTS)
    value, words = full_name(draw, parent), draw.pick(wordings.BELONGS[child, parent])
    if child == "books" and words == "from":
        raise Rejected
    name = f"the {value} branch" if parent == "branches" else value
    many = f"{nouns(draw, child)[1]} {words} {name}"
    where = (condition(parent, ENTITY[parent], "=", value),)
    how = draw.rng.random()
    if how < 0.5:
        text, select = shown(draw, child)
    elif how < 0.7:
        text, select = draw.pick(COUNTS), (term(child, None, "COUNT"),)
    else:
        column = numeric(draw, child)
        text, select = values_of(draw, child, column), (term(child, column),)
    return fill(text, n=many), query(child, select, where, (parent,))


def owners(draw: Draw, owner: str, owned: str) -> str:
    """Return the words from a table to one that refers to it."""
    return fill(draw.pick(wordings.OWNED[owner, owned]), who=wordings.WHO[owner])


def join_owner(draw: Draw) -> Drawn:
    """Rows of a table by what refers to them; each once."""
    owner, owned = draw.pick(OWNERS)
    found = phrase(draw, owned, 1)
    many = f"{nouns(draw, owner)[1]} {owners(draw, owner, owned)} {found.noun(nouns(draw, owned)[1])}"
    return fill(draw.pick(ROWS), n=many), query(owner, (entity(owner),), found.where, (owned,), distinct=True)


def join_far(draw: Draw, filters: int) -> Drawn:
    """Rows joined through a table between."""
    main, far, words = draw.pick(FAR)
    found = phrase(draw, far, filters)
    many = f"{nouns(draw, main)[1]} {draw.pick(words)} {found.noun(nouns(draw, far)[1])}"
    once = main in ("members", "branches")
    if draw.chance(0.5):
        value = term(main, TABLES[main][0], "COUNT", True) if once else term(main, None, "COUNT")
        return fill(draw.pick(COUNTS), n=many), query(main, (value,), found.where, (far,))
    return fill(draw.pick(ROWS), n=many), query(main, (entity(main),), found.where, (far,), distinct=once)


def join_superlative(draw: Draw) -> Drawn:
    """A column of the row that the first row in an order refers to: "the author of the longest book"."""
    child, parent = draw.pick(REFERRING)
    found = phrase(draw, child, 1 if draw.chance(0.6) else 0)
    column, greatest = draw.pick(tuple(wordings.CLEAR_SUPERLATIVES[child]))
    words = draw.pick(wordings.CLEAR_SUPERLATIVES[child][column, greatest])
    if words.split()[0] in found.before.split():
        raise Rejected
    noun = found.noun(nouns(draw, child)[0], one=True)
    asked = draw.pick([ENTITY[parent]] * 3 + [one for one in TABLES[parent] if (parent, one) in wordings.COLUMNS])
    thing = nouns(draw, parent)[0]
    if asked != ENTITY[parent]:
        thing = f"{column_words(draw, parent, asked)[0]} of the {thing}"
    text = draw.pick(OF_FIRST)
    if text.startswith("What") and parent in ("authors", "members") and asked == ENTITY[parent]:
        text = text.replace("What", "Who", 1)
    return fill(text, t=thing, s=words, n=noun), query(
        child, (term(parent, asked),), found.where, (parent,), order=term(child, column), descending=greatest, limit=1
    )


EACH = (
    "How many {n} does each {g} have?", "For each {g}, count the {n}.",
    "For every {g}, show the name and the number of {n}.", "Show each {g} with its number of {n}.",
)  # fmt: skip
MOST_ONE = (
    "Which {g} has the most {n}?", "Find the {g} with the most {n}.", "Name the {g} with the largest number of {n}.",
    "Show the {g} that has the most {n}.",
)  # fmt: skip
MOST_MANY = (
    "Which {k} {g} have the most {n}?", "Find the {k} {g} with the most {n}.", "Name the top {k} {g} by number of {n}.",
    "Show the {k} {g} that have the most {n}.",
)  # fmt: skip
ENOUGH = (
    "Which {g} are there {w} {k} {n}?", "List the {g} {w} {k} {n}.", "Find the {g} {w} {k} {n}.",
    "Name all {g} {w} {k} {n}.",
)  # fmt: skip
OF_EACH = (
    "What is the {a} of {n} {w} {g}?", "Show the {a} of {n} {w} {g}.", "Find the {a} of the {n} {w} {g}.",
    "Give the {a} of all {n} {w} {g}.",
)  # fmt: skip
OF_EACH_VALUE = (
    "What is the {a} of {n} {g}?", "Show the {a} of {n} {g}.", "Find the {a} of the {n} {g}.",
    "Give the {a} of {n} {g}.",
)  # fmt: skip
GROUPED = (
    ("books", "authors"), ("members", "branches"), ("copies", "branches"), ("loans", "members"), ("copies", "books"),
    ("loans", "books"),
)  # fmt: skip


def owned_pair(draw: Draw) -> tuple[str, str, str]:
    """Return a table, one that refers to it, and a word for a row of the first."""
    owner, owned = draw.pick(tuple(wordings.OWNED))
    one = nouns(draw, owner)[0]
    nouns(draw, owned)  # drawn, so that the same seed gives the same questions as ever
    return owner, owned, one


def join_group(draw: Draw, filters: int) -> Drawn:
    """What refers to each row, counted."""
    owner, owned, one = owned_pair(draw)
    found = phrase(draw, owned, filters)
    text = draw.pick(EACH)
    if owner == "books":
        text = text.replace("the name and", "the title and")
    if owner in ("authors", "members"):
        text = text.replace("its number", "the number")
    select = (entity(owner), term(owner, None, "COUNT"))
    text = fill(text, n=found.noun(nouns(draw, owned)[1]), g=one)
    return text, query(owner, select, found.where, (owned,), group=Column(owner, ENTITY[owner]))


def join_most(draw: Draw, filters: int) -> Drawn:
    """The row that most others refer to."""
    owner, owned, one = owned_pair(draw)
    found = phrase(draw, owned, filters)
    limit = draw.pick((1, 1, 2, 3, 4, 5))
    noun, many = found.noun(nouns(draw, owned)[1]), nouns(draw, owner)[1]
    text = draw.pick(MOST_ONE if limit == 1 else MOST_MANY)
    if owner in ("authors", "members"):
        text = text.replace(" that ", " who ")
    return fill(text, n=noun, g=one if limit == 1 else many, k=str(limit)), query(
        owner, (entity(owner),), found.where, (owned,), group=Column(owner, ENTITY[owner]),
        order=term(owner, None, "COUNT"), descending=True, limit=limit,
    )  # fmt: skip


def join_having(draw: Draw, filters: int) -> Drawn:
    """The rows that enough others refer to."""
    owner, owned, _ = owned_pair(draw)
    found = phrase(draw, owned, filters)
    operator, words = draw.pick(((">", "more than {}"), (">", "over {}"), (">=", "at least {}")))
    least, many = draw.number(2, 8), nouns(draw, owner)[1]
    who = owners(draw, owner, owned)
    text = draw.pick(ENOUGH)
    if text.startswith("Which"):
        text = text.replace("{g} are there {w}", f"{many} have")
    text = fill(text, g=many, w=who, k=words.replace("{}", str(least)), n=found.noun(nouns(draw, owned)[1]))
    having, group = Condition(term(owner, None, "COUNT"), operator, least), Column(owner, ENTITY[owner])
    return text, query(owner, (entity(owner),), found.where, (owned,), group=group, having=having)


def join_group_value(draw: Draw) -> Drawn:
    """An aggregate of the rows that refer to each row, or to each value of its column."""
    child, parent = draw.pick(GROUPED)
    column = draw.pick((label(draw, parent), ENTITY[parent]))
    said, value = aggregated(draw, draw.pick(("AVG", "AVG", "MAX", "SUM")), child)
    words = draw.pick(wordings.BELONGS[child, parent])
    one = nouns(draw, parent)[0]
    if column == ENTITY[parent]:
        group, text = f"each {one}", draw.pick(OF_EACH)
    else:
        group, text = f"for each {one} {column_words(draw, parent, column)[0]}", draw.pick(OF_EACH_VALUE)
    text = fill(text, a=said, n=nouns(draw, child)[1], w=words, g=group)
    return text, query(child, (term(parent, column), value), (), (parent,), group=Column(parent, column))
