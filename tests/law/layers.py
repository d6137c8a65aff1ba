"""Random small layers for property tests: beams with next-token tables, and what shapes their joint law."""

import math
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from dsbd.law.laws import TopTokens
from dsbd.settings import ResolvedSettings
from tests.law.oracle import Warp, Weighted, joint


@st.composite
def layers(draw, ties: bool = False):
    """Beams with next-token tables, and a warp. With ``ties`` equal probabilities are common."""
    beams, vocabulary = draw(st.integers(1, 3)), draw(st.integers(2, 5))
    values = st.sampled_from([0.0, 1.0, 2.0, 4.0]) if ties else st.floats(0.01, 1.0)
    tables = []
    for _ in range(beams):
        masses = draw(st.lists(values, min_size=vocabulary, max_size=vocabulary).filter(lambda m: sum(m) > 0))
        tables.append([mass / sum(masses) for mass in masses])
    weights = [-1.0] * beams if ties else draw(st.lists(st.floats(-5, 0), min_size=beams, max_size=beams))
    counts = draw(st.lists(st.integers(1, 1 if ties else 3), min_size=beams, max_size=beams))
    warp = Warp(
        temperature=draw(st.sampled_from([0.0, 0.5, 1.0, 2.5])),
        top_k=draw(st.integers(0, beams * vocabulary + 1)),
        top_p=draw(st.sampled_from([1.0, 0.97, 0.71, 0.33])),
        replacement=draw(st.booleans()),
    )
    if not warp.replacement:
        counts = [1] * beams
    return tables, weights, counts, warp


def settings_of(warp: Warp, **changes) -> ResolvedSettings:
    chosen = {"temperature": warp.temperature, "top_k": warp.top_k, "top_p": warp.top_p}
    return ResolvedSettings(**chosen, replacement=warp.replacement, **changes)


def oracle_law(tables, weights, counts, warp) -> list[tuple[tuple[int, int], float]]:
    both = zip(weights, counts, strict=True)
    beams = [Weighted((place,), weight, count) for place, (weight, count) in enumerate(both)]
    return [((path[0], path[1]), mass) for path, mass in joint(beams, lambda path: tables[path[0]], warp)]


def rows_of(tables, top_k: int = 0) -> list[TopTokens]:
    with np.errstate(divide="ignore"):
        logs = [np.log(np.array(table)) for table in tables]
    orders = [np.argsort(-log, kind="stable")[: top_k or None] for log in logs]
    return [TopTokens(order, log[order]) for order, log in zip(orders, logs, strict=True)]


def near_cut(tables, weights, counts, warp) -> bool:
    """Two different pairs so close to the edge of top-k or top-p, or to the greedy choice, that rounding decides."""
    both = zip(tables, weights, strict=True)
    raw = sorted((weight + math.log(p), weight, p) for table, weight in both for p in table)
    close = any(b[0] - a[0] < 1e-9 and a[1:] != b[1:] for a, b in pairwise(raw))  # masses may be rounded to a tie
    if warp.temperature == 0:
        return close
    if warp.top_p == 1 and warp.top_k == 0:
        return False
    whole = oracle_law(tables, weights, counts, warp._replace(top_k=0, top_p=1.0))
    full = [mass for _, mass in whole]
    close = close or any(0 < abs(a - b) < 1e-9 for a, b in pairwise(full))
    kept = full[: warp.top_k or None]
    return close or any(abs(sum(kept[:n]) / sum(kept) - warp.top_p) < 1e-9 for n in range(1, len(kept)))
