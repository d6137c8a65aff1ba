"""The joint law and the residual, against the oracle."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dsbd.law.laws import Residual, joint_law
from dsbd.settings import ResolvedSettings
from tests.law.layers import layers, near_cut, oracle_law, rows_of, settings_of
from tests.law.oracle import Warp, residual_step

EXACT = 1e-12


@settings(max_examples=300, deadline=None)
@given(layers())
@example(([[0.49999999999999994, 0.5]], [0.0], [1], Warp(temperature=0.0)))  # one rounding apart: either may be first
@example(([[0.4, 0.6], [0.7, 0.3]], [0.0, -0.5], [2, 1], Warp(temperature=0.7)))  # drawn twice, and no beam oftener
def test_joint_law_is_the_oracles(layer) -> None:
    """Catches temperature, top-k, top-p or multiplicity applied per beam, twice, or in another order, and a pair that
    the law has not, found at its neighbour."""
    tables, weights, counts, warp = layer
    if near_cut(*layer):
        return
    law = joint_law(rows_of(tables, warp.top_k), weights, counts, settings_of(warp))
    expected = dict(oracle_law(*layer))
    if law.ranks is not None:
        assert [law.pair(index) for index in law.ranks.tolist()] == list(expected)
        return
    assert {law.pair(index) for index in range(law.support)} == set(expected)
    for index in range(law.support):
        place, token = law.pair(index)
        assert law.find(place, token) == index
        assert law.probability(index) == pytest.approx(expected[place, token], abs=EXACT)
        assert law.log_weights[index] == pytest.approx(weights[place] + math.log(tables[place][token]))
    assert np.all(np.diff(law.keys) > 0)
    every = [(place, token) for place, row in enumerate(tables) for token in range(len(row) + 1)]
    index, has = law.locate(*np.array(every, dtype=np.int64).T)
    found = [int(one) if held else None for one, held in zip(index, has, strict=True)]
    assert found == [law.find(*pair) for pair in every]


@settings(max_examples=300, deadline=None)
@given(layers(ties=True))
def test_ties_go_to_the_lowest_beam_and_token(layer) -> None:
    """Catches an unstable sort at the edge of top-k, of top-p and at temperature 0."""
    tables, weights, counts, warp = layer
    warp = warp._replace(temperature=1.0 if warp.temperature else 0.0, top_p=1.0)
    law = joint_law(rows_of(tables, warp.top_k), weights, counts, settings_of(warp))
    expected = [pair for pair, _ in oracle_law(tables, weights, counts, warp)]
    if law.ranks is not None:
        assert [law.pair(index) for index in law.ranks.tolist()] == expected
    else:
        assert {law.pair(index) for index in range(law.support)} == set(expected)


def test_greedy_without_replacement_takes_the_best_that_is_left() -> None:
    """Catches a ranked law that, pairs being removed, jumps to another than the next best."""
    chosen = ResolvedSettings(temperature=0.0, replacement=False, top_k=0)
    law = joint_law(rows_of([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), [-0.1, -0.2], [1, 1], chosen)
    taken: list[int] = []
    for expected in [(1, 0), (0, 1), (0, 2), (1, 2)]:
        index = int(law.masses(taken).argmax())
        assert law.pair(index) == expected
        assert law.masses(taken).sum() == 1.0
        taken.append(index)


@pytest.mark.parametrize(("top_p", "kept"), [(math.nextafter(0.5, 0), 2), (0.5, 2), (math.nextafter(0.5, 1), 3)])
def test_top_p_keeps_the_pair_that_crosses_it_and_no_other(top_p, kept) -> None:
    """Catches an edge of top-p with some slack. Equal pairs have exactly 1/4 each."""
    law = joint_law(rows_of([[0.25] * 4]), [0.0], [1], ResolvedSettings(top_k=0, top_p=top_p))
    assert law.support == kept


masses = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4)


@pytest.mark.parametrize("replacement", [True, False])
@settings(max_examples=300, deadline=None)
@given(masses, masses, st.lists(st.booleans(), min_size=6, max_size=6), st.floats(0.05, 0.5), st.randoms())
def test_the_residual_is_the_stepwise_one(replacement, target, draft, verdicts, orphaned, source) -> None:
    """Catches a closed form that leaves the step-by-step residual after some string of verdicts, a Q_k that still holds
    earlier drafts, or a P that still holds accepted ones."""
    target = [mass / sum(target) for mass in target]
    draft = [mass / sum(draft) * (1 - orphaned) for mass in draft]  # the rest of Q is on beams not alive
    law = joint_law(rows_of([target]), [0.0], [1], ResolvedSettings(top_k=0, replacement=replacement))
    residual, naive = Residual(law, np.array(draft), replacement), target
    drafted = source.choices(range(4), k=6) if replacement else source.sample(range(4), 4)
    drawn, accepted = set(), set()
    for wish, index in zip(verdicts, drafted, strict=False):
        gain = 1.0 / (1.0 - math.fsum(draft[place] for place in drawn))
        q_k = [0.0 if place in drawn else mass * gain for place, mass in enumerate(draft)]
        assert residual.probability(index) == pytest.approx(naive[index], abs=1e-9)
        if not replacement:
            drawn.add(index)
        if wish or naive[index] >= q_k[index]:
            residual.accept(index)
            if not replacement:
                accepted.add(index)
            if len(accepted) == 4:
                return
            rest = [0.0 if place in accepted else mass for place, mass in enumerate(target)]
            naive = [mass / math.fsum(rest) for mass in rest]
        else:
            following = residual_step(naive, q_k)
            if sum(following) == 0 or residual.S < 1e-6:
                return
            assert residual.reject(index, gain)
            naive = following
        assert residual.masses() / residual.S == pytest.approx(naive, abs=1e-7)
