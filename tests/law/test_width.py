"""The dynamic width, against step-by-step residuals, every string of verdicts, and simulation."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dsbd.law import toy
from dsbd.law.width import (
    acceptance_chain,
    accepted_distribution,
    choose_width,
    likely_forest_width,
    residual_chain,
)
from dsbd.settings import ResolvedSettings
from tests.law.oracle import Warp, Widths, accepted_counts, residual_step, width_of
from tests.law.oracle import acceptance_chain as naive_chain

masses = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4)


def _normalised(values: list[float], total: float = 1.0) -> list[float]:
    return [total * value / sum(values) for value in values]


@settings(max_examples=200, deadline=None)
@given(masses, masses, st.floats(0.1, 0.95), st.integers(1, 6))
def test_the_chain_is_that_of_the_stepwise_residual(target, draft, alive, drafts) -> None:
    """Catches a chain that subtracts Q twice per step, or renormalises it, and an alpha_j other than sum min(P', Q)."""
    target, draft = _normalised(target), _normalised(draft, alive)
    chain = residual_chain(np.array(target), np.array(draft), drafts)
    assert len(chain.c) == len(chain.S) == drafts + 1
    assert acceptance_chain(chain.S) == pytest.approx(naive_chain(target, draft, drafts), abs=1e-8)
    current = target
    for c, S in zip(chain.c, chain.S, strict=True):
        if S < 1e-6:
            return
        closed = np.maximum(np.array(target) - c * np.array(draft), 0) / S
        assert closed == pytest.approx(current, abs=1e-8)
        current = residual_step(current, draft)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_accepted_distribution_is_the_sum_over_all_verdicts(chain) -> None:
    """Catches a recursion that does not start again after an acceptance."""
    distribution = accepted_distribution(chain)
    assert distribution == pytest.approx(accepted_counts(chain), abs=1e-12)
    assert math.fsum(distribution) == pytest.approx(1.0, abs=1e-12)


def test_equal_laws_accept_everything_and_disjoint_ones_nothing() -> None:
    """Catches 0/0 where P = Q, a threshold that must be passed and not reached, and a width above min_width."""
    law, chosen = np.array([0.5, 0.25, 0.25]), ResolvedSettings(draft_width=5, width_threshold=1.0)
    for draft, width, reason in ((law, 5, "threshold"), (np.zeros(3), 1, "min_width")):
        found = choose_width(law, draft, 5, 3, chosen)
        assert (found.width, found.numbers.reason) == (width, reason)
        assert found.numbers.distribution == ([0, 0, 0, 0, 0, 1] if width == 5 else [1, 0, 0, 0, 0, 0])


@settings(max_examples=200, deadline=None)
@given(masses, masses, st.integers(1, 5), st.integers(1, 4), st.integers(0, 4), st.floats(0.05, 0.95), st.booleans())
@example([1.0] * 4, [1.0] * 4, 4, 1, 1, 0.5, False)
def test_choose_width_is_the_oracles(target, draft, drafts, low, more, threshold, replacement) -> None:
    """Catches a bound applied in the wrong order, and max_width or the support exceeded."""
    target, draft = _normalised(target), _normalised(draft)
    chosen = ResolvedSettings(
        draft_width=drafts, min_width=low, max_width=low + more, width_threshold=threshold, replacement=replacement
    )
    laws = [[((token,), mass) for token, mass in enumerate(law)] for law in (target, draft)]
    counted = min(drafts, 4) if not replacement else drafts
    counts = accepted_counts(naive_chain(target, draft, counted))
    if any(abs(math.fsum(counts[K:]) - threshold) < 1e-9 for K in range(1, counted + 1)):
        return
    shipped = choose_width(np.array(target), np.array(draft), counted, 4, chosen)
    expected = width_of(*laws, Widths(drafts, low, low + more, threshold), Warp(replacement=replacement))
    assert shipped.width == expected
    bounds = {"threshold": shipped.width, "min_width": low, "max_width": low + more, "support": 4}
    assert shipped.width == bounds[shipped.numbers.reason]


def test_the_edges_count() -> None:
    """Catches 0/0 taken for 0 where P and Q are equal, and a likely forest that asks for more than the threshold."""
    assert acceptance_chain([1.0, 0.0, 0.0]) == [1.0, 1.0]
    assert likely_forest_width([0.75, 0.5], 0.75, 4, toy.settings(forest="likely", width_threshold=0.5)).width == 2
