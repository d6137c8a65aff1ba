"""What refers to each row, counted or aggregated."""

from __future__ import annotations

from collections.abc import Callable

from training.sql import wordings
from training.sql.draw import Draw
from training.sql.phrases import phrase
from training.sql.query import Column, Condition
from training.sql.schema import ENTITY
from training.sql.skeletons.common import SIMPLE, Drawn, aggregated, column_words, entity, label, nouns, query, term
from training.sql.skeletons.joins import owners


def owned_pair(draw: Draw) -> tuple[str, str, str, str]:
    """Return a table, one that refers to it, and words for their rows."""
    owner, owned = draw.pick(tuple(wordings.OWNED))
    return owner, owned, nouns(draw, owner)[0], nouns(draw, owned)[1]


def join_group(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton that counts what refers to each row."""

    def skeleton(draw: Draw) -> Drawn:
        owner, owned, one, _ = owned_pair(draw)
        found = phrase(draw, owned, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        text = draw.pick(
            (
                "How many {n} does each {g} have?",
                "For each {g}, count the {n}.",
                "For every {g}, show the name and the number of {n}.",
                "Show each {g} with its number of {n}.",
            )
        )
        if owner == "books":
            text = text.replace("the name and", "the title and")
        if owner in ("authors", "members"):
            text = text.replace("its number", "the number")
        select = (entity(owner), term(owner, None, "COUNT"))
        return text.replace("{n}", found.noun(nouns(draw, owned)[1])).replace("{g}", one), query(
            owner, select, found.where, (owned,), group=Column(owner, ENTITY[owner])
        )

    return skeleton


def join_most(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the row that most others refer to."""

    def skeleton(draw: Draw) -> Drawn:
        owner, owned, one, _ = owned_pair(draw)
        found = phrase(draw, owned, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        limit = draw.pick((1, 1, 2, 3, 4, 5))
        noun, many = found.noun(nouns(draw, owned)[1]), nouns(draw, owner)[1]
        text = draw.pick(
            (
                "Which {g} has the most {n}?",
                "Find the {g} with the most {n}.",
                "Name the {g} with the largest number of {n}.",
                "Show the {g} that has the most {n}.",
            )
            if limit == 1
            else (
                "Which {k} {g} have the most {n}?",
                "Find the {k} {g} with the most {n}.",
                "Name the top {k} {g} by number of {n}.",
                "Show the {k} {g} that have the most {n}.",
            )
        )
        if owner in ("authors", "members"):
            text = text.replace(" that ", " who ")
        text = text.replace("{n}", noun).replace("{g}", one if limit == 1 else many).replace("{k}", str(limit))
        return text, query(
            owner, (entity(owner),), found.where, (owned,), group=Column(owner, ENTITY[owner]),
            order=term(owner, None, "COUNT"), descending=True, limit=limit,
        )  # fmt: skip

    return skeleton


def join_having(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the rows that enough others refer to."""

    def skeleton(draw: Draw) -> Drawn:
        owner, owned, _, _ = owned_pair(draw)
        found = phrase(draw, owned, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        operator, words = draw.pick(((">", "more than {}"), (">", "over {}"), (">=", "at least {}")))
        least, many = draw.number(2, 8), nouns(draw, owner)[1]
        who = owners(draw, owner, owned)
        text = draw.pick(
            (
                "Which {g} are there {w} {k} {n}?",
                "List the {g} {w} {k} {n}.",
                "Find the {g} {w} {k} {n}.",
                "Name all {g} {w} {k} {n}.",
            )
        )
        text = text.replace("{g} are there {w}", f"{many} have") if text.startswith("Which") else text
        text = text.replace("{g}", many).replace("{w}", who).replace("{k}", words.replace("{}", str(least)))
        having = Condition(term(owner, None, "COUNT"), operator, least)
        return text.replace("{n}", found.noun(nouns(draw, owned)[1])), query(
            owner, (entity(owner),), found.where, (owned,), group=Column(owner, ENTITY[owner]), having=having
        )

    return skeleton


def join_group_value(draw: Draw) -> Drawn:
    """An aggregate of the rows that refer to each row, or to each value of its column."""
    child, parent = draw.pick(
        (
            ("books", "authors"),
            ("members", "branches"),
            ("copies", "branches"),
            ("loans", "members"),
            ("copies", "books"),
            ("loans", "books"),
        )
    )
    column = draw.pick((label(draw, parent), ENTITY[parent]))
    said, value = aggregated(draw, draw.pick(("AVG", "AVG", "MAX", "SUM")), child)
    words = draw.pick(wordings.BELONGS[child, parent])
    one = nouns(draw, parent)[0]
    if column == ENTITY[parent]:
        group = f"each {one}"
        text = draw.pick(
            (
                "What is the {a} of {n} {w} {g}?",
                "Show the {a} of {n} {w} {g}.",
                "Find the {a} of the {n} {w} {g}.",
                "Give the {a} of all {n} {w} {g}.",
            )
        )
    else:
        group = f"for each {one} {column_words(draw, parent, column)[0]}"
        text = draw.pick(
            (
                "What is the {a} of {n} {g}?",
                "Show the {a} of {n} {g}.",
                "Find the {a} of the {n} {g}.",
                "Give the {a} of {n} {g}.",
            )
        )
    text = text.replace("{a}", said).replace("{n}", nouns(draw, child)[1]).replace("{w}", words).replace("{g}", group)
    return text, query(child, (term(parent, column), value), (), (parent,), group=Column(parent, column))
