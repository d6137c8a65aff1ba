"""Noun phrases with filters: "long poetry books written after 1990", and the conditions that they mean."""

from dataclasses import dataclass
from itertools import pairwise

from training.sql.draw import Draw
from training.sql.filters import Filter, draw_filter
from training.sql.query import Condition, Rejected

SIMPLE = ("equal", "compare", "compare", "compare", "between", "unequal")
Filters = int | tuple[str, ...]
"""So many simple filters, or filters of these kinds."""


@dataclass(frozen=True)
class Phrase:
    """The words before and after a noun, and what they mean together."""

    table: str
    before: str
    after: str
    where: tuple[Condition, ...]
    link: str

    def noun(self, words: str, one: bool = False) -> str:
        """Return the noun with the words around it; `one` puts the verbs of the words after it in the singular."""
        after = singular(self.after) if one else self.after
        return " ".join(part for part in (self.before, words, after) if part)


SINGULAR = {"are": "is", "were": "was", "do": "does", "live": "lives", "come": "comes", "carry": "carries"}


def singular(words: str) -> str:
    """Return words with every verb after "who" or "that" in the singular."""
    found = words.split()
    for place, (before, word) in enumerate(pairwise(found), 1):
        if before in ("who", "that"):
            found[place] = SINGULAR.get(word, word)
    return " ".join(found)


def phrase(draw: Draw, table: str, filters: Filters, link: str = "AND") -> Phrase:
    """Draw a noun phrase with filters on different columns."""
    kinds = [draw.pick(SIMPLE) for _ in range(filters)] if isinstance(filters, int) else filters
    drawn: list[Filter] = []
    for kind in kinds:
        drawn.append(draw_filter(draw, table, kind, after_only=link == "OR" or any(one.before for one in drawn)))
    conditions = tuple(one.condition for one in drawn)
    if len({one.term.column for one in conditions}) < len(conditions):
        raise Rejected
    afters = [one.after for one in drawn if one.after]
    between_ = " or " if link == "OR" else draw.pick((" and ", " and ", " "))
    after = between_.join(afters)
    before = " ".join(one.before for one in drawn if one.before)
    return Phrase(table, before, after, conditions, link)
