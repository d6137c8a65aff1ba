"""The parts of the distribution: distributions, residuals, beams, forests and choices by hand; the width against the
oracle; examples.
"""

import doctest
import importlib
import inspect
import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dsbd.settings import ResolvedSettings
from dsbd.verification import toy
from dsbd.verification.beams import Beam, common_prefix, keep_best, score_hypothesis
from dsbd.verification.distributions import joint_distribution
from dsbd.verification.forest import DraftDistribution
from dsbd.verification.verified import Uniforms, draft_layers_passed
from dsbd.verification.width import acceptance_chain, choose_width
from tests.verification.enumeration import rows_of
from tests.verification.oracle import Warp, Weighted, joint

EXACT = 1e-12


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


def oracle_distribution(tables, weights, counts, warp) -> list[tuple[tuple[int, int], float]]:
    both = zip(weights, counts, strict=True)
    beams = [Weighted((index,), weight, count) for index, (weight, count) in enumerate(both)]
    return [((path[0], path[1]), mass) for path, mass in joint(beams, lambda path: tables[path[0]], warp)]


def near_cut(tables, weights, counts, warp) -> bool:
    """Two candidates so close to the edge of top-k or top-p, or to the greedy choice, that rounding decides."""
    both = zip(tables, weights, strict=True)
    raw = sorted((weight + math.log(p), weight, p) for table, weight in both for p in table if p > 0)
    close = any(b[0] - a[0] < 1e-9 and a[1:] != b[1:] for a, b in pairwise(raw))  # masses may be rounded to a tie
    if warp.temperature == 0:
        return close
    if warp.top_p == 1 and warp.top_k == 0:
        return False
    whole = oracle_distribution(tables, weights, counts, warp._replace(top_k=0, top_p=1.0))
    full = [mass for _, mass in whole]
    close = close or any(0 < abs(a - b) < 1e-9 for a, b in pairwise(full))
    kept = full[: warp.top_k or None]
    return close or any(abs(sum(kept[:n]) / sum(kept) - warp.top_p) < 1e-9 for n in range(1, len(kept)))


@settings(max_examples=500, deadline=None)
@given(layers() | layers(ties=True))
@example(([[0.49999999999999994, 0.5]], [0.0], [1], Warp(temperature=0.0)))  # one rounding apart: either may be first
@example(([[0.4, 0.6], [0.7, 0.3]], [0.0, -0.5], [2, 1], Warp(temperature=0.7)))  # drawn twice, and no beam oftener
def test_joint_distribution_is_the_oracles(layer) -> None:
    """Catches temperature, top-k, top-p or multiplicity applied per beam, twice, or in another order, ties that do not
    go to the lowest beam and token, and a candidate that the distribution has not, found at its neighbour."""
    tables, weights, counts, warp = layer
    if near_cut(*layer):
        return
    distribution = joint_distribution(rows_of(tables, warp.top_k), weights, counts, ResolvedSettings(**warp._asdict()))
    expected = dict(oracle_distribution(*layer))
    if distribution.ranks is not None:
        assert [distribution.candidate(index) for index in distribution.ranks.tolist()] == list(expected)
        return
    assert {distribution.candidate(index) for index in range(distribution.support)} == set(expected)
    for index in range(distribution.support):
        beam, token = distribution.candidate(index)
        assert distribution.find(beam, token) == index
        assert distribution.probability(index) == pytest.approx(expected[beam, token], abs=EXACT)
        assert distribution.log_weights[index] == pytest.approx(weights[beam] + math.log(tables[beam][token]))
    assert np.all(np.diff(distribution.keys) > 0)
    every = [(beam, token) for beam, row in enumerate(tables) for token in range(len(row) + 1)]
    index, has = distribution.locate(*np.array(every, dtype=np.int64).T)
    located = [int(one) if is_there else None for one, is_there in zip(index, has, strict=True)]
    assert located == [distribution.find(*candidate) for candidate in every]


@pytest.mark.parametrize(("top_p", "kept"), [(math.nextafter(0.5, 0), 2), (0.5, 2), (math.nextafter(0.5, 1), 3)])
def test_top_p_keeps_the_candidate_that_crosses_it_and_no_other(top_p, kept) -> None:
    """Catches an edge of top-p with some slack. Equal candidates have exactly 1/4 each."""
    distribution = joint_distribution(rows_of([[0.25] * 4]), [0.0], [1], ResolvedSettings(top_k=0, top_p=top_p))
    assert distribution.support == kept


def test_the_best_beams_stay_in_their_order() -> None:
    """Catches beams sorted by weight (the order of candidates would change), and ties that go to the later beam."""
    beams = [Beam(toy.A, -3.0), Beam(toy.B, -2.0), Beam(toy.AA, -1.0), Beam(toy.AB, -2.0)]
    assert keep_best(beams, 3) == [beams[1], beams[2], beams[3]]
    assert keep_best(beams, 2) == [beams[1], beams[2]]
    assert keep_best(beams, None) == keep_best(beams, 4) == beams


def test_a_score_is_the_log_weight_per_length() -> None:
    """Catches a length that leaves out the end token, a multiplicity that enters the score, and division by zero."""
    ended = score_hypothesis(Beam(toy.AA.child(2), -6.0, multiplicity=5), 2.0, finished=True)
    assert (ended.score, ended.finished, ended.multiplicity) == (-6.0 / 9, True, 5)
    assert score_hypothesis(Beam(toy.ROOT, 0.0), 1.0, finished=False).score == 0.0


def test_the_common_prefix_of_paths_of_unequal_length() -> None:
    """Catches a prefix that is looked for at equal distance from the ends, and a path that is read from its end."""
    deep = toy.AA.child(1).child(1)
    assert deep.token_ids() == [0, 0, 1, 1]
    assert common_prefix([deep, toy.AB]) is toy.A
    assert common_prefix([deep, toy.AA]) is toy.AA
    assert common_prefix([deep, toy.BA, toy.B]) is toy.ROOT


def test_uniforms_draw_by_inverse_cdf() -> None:
    """Catches an index of mass 0, an interval that does not hold its uniform or does not begin where the one before it
    ends, or an order other than the candidates'."""
    masses = np.array([0.0, 0.2, 0.0, 0.3, 0.5, 0.0])
    for uniform, expected in ((0.0, 1), (0.1999, 1), (0.2, 3), (0.49, 3), (0.5, 4), (1 - 2**-53, 4)):
        drawn = Uniforms([uniform]).draw(masses * 0.37)
        assert drawn.index == expected
        assert drawn.low <= drawn.uniform < drawn.high
    second = Uniforms([0.5]).draw(np.array([0.5, 0.25, 0.25]))
    assert (second.index, second.low, second.high) == (1, 0.5, 0.75)
    assert Uniforms([0.3]).accept(0.3) == (False, 0.3)
    assert Uniforms([0.0]).accept(0.0) == (False, 0.0)


BELOW_A = (np.array([0, 0]), np.array([0, 1]))
SWAPPED = DraftDistribution([toy.B, toy.A], np.array([1, 0]), np.array([1, 0]), np.array([0.75, 0.25]))
UNEQUAL = replace(toy.draft_distribution(), probs=np.array([0.5, 0.25, 0.125, 0.125]))
BOTH = {toy.A: 0, toy.B: 1}


@pytest.mark.parametrize(
    ("draft_distribution", "top_k", "beam_index", "restricted", "mass"),
    [
        (toy.draft_distribution(), 0, {toy.B: 1}, [0.0, 0.0, 0.0, 0.25], 0.25),
        (SWAPPED, 0, BOTH, [0.0, 0.75, 0.0, 0.25], 1.0),
        (UNEQUAL, 1, BOTH, [0.5], 1.0),  # P has "aa" only
        (DraftDistribution([toy.A], np.array([0]), np.array([3]), np.array([1.0])), 0, BOTH, [0.0] * 4, 1.0),
        (
            DraftDistribution([toy.A], *BELOW_A, np.array([1.0, 0.0]), ranked=True),
            0,
            {toy.A: 0},
            [1.0, 0.0, 0.0, 0.0],
            2.0,
        ),
    ],
)
def test_q_is_restricted_to_the_alive_beams(draft_distribution, top_k, beam_index, restricted, mass) -> None:
    """Catches Q renormalised over the alive beams, in the order of its parents, or with a candidate that P has not
    put on its neighbour; and greedy drafts whose layer passes for a bonus layer because only the first has mass."""
    on_distribution, left = draft_distribution.restrict(toy.target_distribution(top_k=top_k), beam_index)
    assert (on_distribution.tolist(), left) == (restricted, mass)


@pytest.mark.parametrize(
    ("outcomes", "passed"),
    [(["short"], (0, True)), (["passed", "landed", "short"], (2, True)), (["landed", "finished"], (1, False))],
)
def test_draft_layers_that_let_verification_go_on_are_counted(outcomes, passed):
    """Catches an end of all beams that counts as a failure."""
    layers = [SimpleNamespace(outcome=one, continues=one in ("passed", "landed")) for one in outcomes]
    assert draft_layers_passed(layers) == passed


EVEN, NONE = np.array([0.5, 0.25, 0.25]), np.zeros(3)


@pytest.mark.parametrize(
    ("draft", "changes", "width", "reason"),
    [
        (EVEN, {}, 5, "threshold"),
        (NONE, {}, 1, "min_width"),
        (NONE, {"min_width": 2}, 2, "min_width"),
        *((EVEN, {"max_width": 2, "replacement": one}, 2, "max_width") for one in (True, False)),
        (EVEN, {"replacement": False}, 3, "support"),
    ],
)
def test_equal_distributions_accept_everything_and_disjoint_ones_nothing(draft, changes, width, reason) -> None:
    """Catches 0/0 where P = Q, or taken for 0, a threshold that must be passed and not reached, and a bound that does
    not hold."""
    chosen = choose_width(EVEN, draft, 5, 3, ResolvedSettings(draft_width=5, width_threshold=1.0, **changes))
    assert (chosen.width, chosen.numbers.width_reason) == (width, reason)
    assert chosen.numbers.accepted_distribution == ([1, 0, 0, 0, 0, 0] if draft is NONE else [0, 0, 0, 0, 0, 1])
    assert acceptance_chain([1.0, 0.0, 0.0]) == [1.0, 1.0]


MODULES = ["beams", "forest", "joint", "distributions", "noise", "verified", "verify", "width"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_verification_hold(name: str) -> None:
    """Catches an example that says something else than the code does, and a public function without one."""
    module = importlib.import_module(f"dsbd.verification.{name}")
    examples = {example.name: example for example in doctest.DocTestFinder().find(module) if example.examples}
    functions = {f"dsbd.verification.{name}.{thing}" for thing, _ in inspect.getmembers(module, inspect.isfunction)}
    own = {thing for thing in functions if getattr(module, thing.rpartition(".")[2]).__module__ == module.__name__}
    assert {thing for thing in own if "._" not in thing} <= set(examples)
    assert [failed for failed, example in examples.items() if doctest.DocTestRunner().run(example).failed] == []
