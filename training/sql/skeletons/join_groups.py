"""What refers to each row, counted or aggregated."""

from training.sql import wordings
from training.sql.draw import Draw
from training.sql.filters import label
from training.sql.query import Column, Condition
from training.sql.schema import ENTITY
from training.sql.skeletons.common import (
    Drawn,
    aggregated,
    column_words,
    entity,
    fill,
    nouns,
    phrase,
    query,
    term,
)  # fmt: skip
from training.sql.skeletons.joins import owners

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
