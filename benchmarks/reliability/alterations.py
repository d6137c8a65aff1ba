"""Honest traces of every method, one thing altered at a time, each with a digest that fits."""

import random
from collections import Counter

import dsbd
from tests.tracing.forger import Forger, answer, sealed_places
from tests.tracing.toys import toy_traces


def alter_traces(count: int) -> dict[str, int]:
    """So many alterations, over all methods alike. Raises: AssertionError at the first that passes unlisted.

    Returns: how many were refused by the reader, caught by the audit, listed as sealed by the digest only, or altered
    nothing after all.
    """
    chance, seen = random.Random(count), Counter[str]()
    forgers = {
        method: [(Forger(trace, chance), trace, sealed_places(trace)) for trace in toy_traces(method)]
        for method in (dsbd.METHODS if count else ())
    }
    while seen.total() - seen["same"] < count:
        forger, trace, sealed = chance.choice(forgers[chance.choice(dsbd.METHODS)])
        seen[answer(forger.alter(), trace, sealed)] += 1
    return dict(seen)
