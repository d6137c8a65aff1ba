"""A seed as an example: its question, every reading of it, and the readings' SQL."""

import itertools
import math
import random
import re
from dataclasses import dataclass

from training.sql.draw import Draw
from training.sql.query import Query, Rejected, clauses, columns_of, inner_queries
from training.sql.readings import RATES
from training.sql.skeletons import LONGER, SKELETONS

Triple = tuple[str, str, str]
MOST_CLAUSES = 4
"""No query of training, validation, `iid` or `compound` has more; those of `length` have one more."""


@dataclass(frozen=True)
class Example:
    """A question, its readings as queries (the most frequent first), their rates, and the one drawn."""

    skeleton: str
    question: str
    ambiguities: tuple[str, ...]
    queries: tuple[Query, ...]
    rates: tuple[float, ...]
    drawn: int

    @property
    def gold(self) -> Query:
        """The right answer: the most frequent reading."""
        return self.queries[0]

    @property
    def triples(self) -> set[Triple]:
        """Every (skeleton, table, role and column) of any reading."""
        return {triple for query in self.queries for triple in triples(self.skeleton, query)}


def triples(skeleton: str, query: Query) -> set[Triple]:
    """Return the (skeleton, table, role and column) of a query; columns that are only shown do not count."""
    found = {
        (skeleton, query.tables[0], f"{role}:{column.table}.{column.name}")
        for role, column in columns_of(query)
        if role != "select"
    }
    for inner in inner_queries(query):
        found |= triples(skeleton, inner)
    return found


def sensible(query: Query) -> bool:
    """Say whether a person would ask this: nothing is shown, grouped or sorted that a filter has fixed."""
    fixed = {one.term.column for one in query.where}
    if query.order and not query.order.aggregate and query.order.column in fixed:
        return False
    if query.group in fixed or ((query.distinct or query.other) and query.select[0].column in fixed):
        return False
    exact = {one.term.column for one in query.where if one.operator in ("=", "IS NULL")}
    if any(term.column in (fixed if term.distinct else exact) for term in query.select if term.column):
        return False
    return all(sensible(inner) for inner in inner_queries(query)) and not (
        query.other and query.other.select[0].column in {one.term.column for one in query.other.where}
    )


def example(skeleton: str, seed: int, clause_count: int | None = None) -> Example | None:
    """Return the example of a skeleton and a seed; None if one of its readings makes no sense.

    `clause_count` is the number of clauses that the gold must have; without it no reading has more than MOST_CLAUSES.
    """
    _, build, *given = SKELETONS.get(skeleton) or LONGER[skeleton]
    try:
        first = Draw(seed)
        question, gold = build(first, *given)
        ambiguities = tuple(first.ambiguities)
        ways = list(itertools.product(*(range(len(RATES[name])) for name in ambiguities)))
        queries = [gold, *(build(Draw(seed, way), *given)[1] for way in ways[1:])]
    except Rejected:
        return None
    most = MOST_CLAUSES if clause_count is None else math.inf
    if not all(sensible(query) and clauses(query) <= most for query in queries):
        return None
    if clause_count is not None and clauses(gold) != clause_count:
        return None
    rates = tuple(math.prod(RATES[n][r][0] for n, r in zip(ambiguities, way, strict=True)) for way in ways)
    chosen = random.Random(seed ^ 0x5DEECE66D).choices(range(len(ways)), weights=rates)[0]
    return Example(skeleton, question[0].upper() + question[1:], ambiguities, tuple(queries), rates, chosen)


def anonymous(text: str) -> str:
    """Return SQL with every word and number replaced by a mark."""
    return re.sub(r"'[^']*'|\b\d+\b", "?", text)
