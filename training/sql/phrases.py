"""Noun phrases with filters: "long poetry books written after 1990", and the conditions that they mean."""

from dataclasses import dataclass
from itertools import pairwise

from training.sql.draw import Draw
from training.sql.filters import Filter, draw_filter
from training.sql.query import Condition, Rejected


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


SINGULAR = {
    "are": "is",
    "were": "was",
    "do": "does",
    "live": "lives",
    "come": "comes",
    "carry": "carries",
}


def singular(words: str) -> str:
    """Return words with every verb after "who" or "that" in the singular."""
    found = words.split()
    for place, (before, word) in enumerate(pairwise(found), 1):
        if before in ("who", "that"):
            found[place] = SINGULAR.get(word, word)
    return " ".join(found)


def phrase(draw: Draw, table: str, kinds: tuple[str, ...], link: str = "AND") -> Phrase:
    """Draw a noun phrase with a filter of each kind, on different columns."""
    filters: list[Filter] = []
    for kind in kinds:
        one = draw_filter(draw, table, kind, after_only=link == "OR" or any(f.before for f in filters))
        filters.append(one)
    columns = [one.condition.term.column for one in filters]
    if len(set(columns)) < len(columns):
        raise Rejected
    afters = [one.after for one in filters if one.after]
    between_ = " or " if link == "OR" else draw.pick((" and ", " and ", " "))
    after = between_.join(afters)
    before = " ".join(one.before for one in filters if one.before)
    return Phrase(table, before, after, tuple(one.condition for one in filters), link)
