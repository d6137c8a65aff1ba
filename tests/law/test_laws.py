"""The joint law, the residual and their torch twins, against the oracle."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dsbd.draft import DeviceLaw, joint_draft_law, likeliest_left, race
from dsbd.law.choices import Uniforms
from dsbd.law.laws import Residual, TopTokens, joint_law
from dsbd.settings import ResolvedSettings
from tests.law.oracle import Warp, Weighted, joint, residual_step

FALSE_ALARM = 1e-6
"""Odds that a chi-square test below fails though the code is right (seeds are fixed, so: that it ever did)."""

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


def _settings(warp: Warp, **changes) -> ResolvedSettings:
    chosen = {"temperature": warp.temperature, "top_k": warp.top_k, "top_p": warp.top_p}
    return ResolvedSettings(**chosen, replacement=warp.replacement, **changes)


def _oracle(tables, weights, counts, warp) -> list[tuple[tuple[int, int], float]]:
    both = zip(weights, counts, strict=True)
    beams = [Weighted((place,), weight, count) for place, (weight, count) in enumerate(both)]
    return [((path[0], path[1]), mass) for path, mass in joint(beams, lambda path: tables[path[0]], warp)]


def _rows(tables, top_k: int = 0) -> list[TopTokens]:
    with np.errstate(divide="ignore"):
        logs = [np.log(np.array(table)) for table in tables]
    orders = [np.argsort(-log, kind="stable")[: top_k or None] for log in logs]
    return [TopTokens(order, log[order]) for order, log in zip(orders, logs, strict=True)]


def _near_cut(tables, weights, counts, warp) -> bool:
    """Two different pairs so close to the edge of top-k or top-p that rounding decides between them."""
    if warp.temperature == 0 or (warp.top_p == 1 and warp.top_k == 0):
        return False
    whole = _oracle(tables, weights, counts, warp._replace(top_k=0, top_p=1.0))
    full = [mass for _, mass in whole]
    close = any(0 < abs(a - b) < 1e-9 for a, b in pairwise(full))
    raw = sorted(weight + math.log(p) for table, weight in zip(tables, weights, strict=True) for p in table)
    close = close or any(0 < b - a < 1e-9 for a, b in pairwise(raw))  # masses may be rounded to a tie
    kept = full[: warp.top_k or None]
    return close or any(abs(sum(kept[:n]) / sum(kept) - warp.top_p) < 1e-9 for n in range(1, len(kept)))


@settings(max_examples=300, deadline=None)
@given(layers())
def test_joint_law_is_the_oracles(layer) -> None:
    """Catches temperature, top-k, top-p or multiplicity applied per beam, twice, or in another order."""
    tables, weights, counts, warp = layer
    if _near_cut(*layer):
        return
    law = joint_law(_rows(tables, warp.top_k), weights, counts, _settings(warp))
    expected = dict(_oracle(*layer))
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


@settings(max_examples=300, deadline=None)
@given(layers(ties=True))
def test_ties_go_to_the_lowest_beam_and_token(layer) -> None:
    """Catches an unstable sort at the edge of top-k, of top-p and at temperature 0."""
    tables, weights, counts, warp = layer
    warp = warp._replace(temperature=1.0 if warp.temperature else 0.0, top_p=1.0)
    law = joint_law(_rows(tables, warp.top_k), weights, counts, _settings(warp))
    expected = [pair for pair, _ in _oracle(tables, weights, counts, warp)]
    if law.ranks is not None:
        assert [law.pair(index) for index in law.ranks.tolist()] == expected
    else:
        assert {law.pair(index) for index in range(law.support)} == set(expected)


def test_greedy_without_replacement_takes_the_best_that_is_left() -> None:
    """Catches a ranked law that, pairs being removed, jumps to another than the next best."""
    chosen = ResolvedSettings(temperature=0.0, replacement=False, top_k=0)
    law = joint_law(_rows([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]), [-0.1, -0.2], [1, 1], chosen)
    taken: list[int] = []
    for expected in [(1, 0), (0, 1), (0, 2), (1, 2)]:
        index = int(law.masses(taken).argmax())
        assert law.pair(index) == expected
        assert law.masses(taken).sum() == 1.0
        taken.append(index)


@settings(max_examples=200, deadline=None)
@given(layers())
def test_draft_law_is_the_hosts_twin(layer) -> None:
    """Catches a draft side that warps differently: legal, but every difference costs acceptance.

    Ties are left out: the draft side breaks them as it likes.
    """
    tables, weights, counts, warp = layer
    untied = {round(weight + math.log(p), 9) for table, weight in zip(tables, weights, strict=True) for p in table}
    if _near_cut(*layer) or len(untied) < len(tables) * len(tables[0]):
        return
    law = joint_law(_rows(tables), weights, counts, _settings(warp))
    vocabulary = len(tables[0])
    logits = torch.tensor(tables, dtype=torch.float64).log() + 3.0
    logs = torch.tensor(counts, dtype=torch.float64).log()
    twin = joint_draft_law(logits, torch.tensor(weights, dtype=torch.float64), logs, _settings(warp))
    pairs, probs = twin.pairs.tolist(), twin.probs.tolist()
    flat = [math.log(p) for table in tables for p in table]
    assert twin.log_probs.tolist() == pytest.approx([flat[pair] for pair in pairs])
    drawn = {divmod(pair, vocabulary): p for pair, p in zip(pairs, probs, strict=True) if p > 0}
    if law.ranks is not None:
        assert list(drawn) == [law.pair(index) for index in law.ranks.tolist()]
        return
    assert set(drawn) == {law.pair(index) for index in range(law.support)}
    for index in range(law.support):
        assert drawn[law.pair(index)] == pytest.approx(law.probability(index), abs=EXACT)


def test_a_frontier_with_nothing_left_gives_no_law() -> None:
    """Catches NaN where all drafts of the layer above ended."""
    for temperature in (0.0, 1.0):
        for top_p in (1.0, 0.5):
            chosen = ResolvedSettings(temperature=temperature, top_p=top_p)
            dead = torch.full((2,), -torch.inf, dtype=torch.float64)
            law = joint_draft_law(torch.zeros(2, 4, dtype=torch.float64), dead, torch.zeros_like(dead), chosen)
            assert law.probs.sum() == 0
            assert not law.probs.isnan().any()


masses = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4)


@settings(max_examples=300, deadline=None)
@given(masses, masses, st.lists(st.booleans(), min_size=6, max_size=6), st.floats(0, 0.5), st.randoms())
def test_residual_with_replacement_is_the_stepwise_one(target, draft, verdicts, orphaned, source) -> None:
    """Catches a closed form that leaves the step-by-step residual after some string of verdicts."""
    target = [mass / sum(target) for mass in target]
    draft = [mass / sum(draft) * (1 - orphaned) for mass in draft]  # the rest of Q is on beams not alive
    residual, naive = _residual(target, draft, True), target
    for wish in verdicts:
        index = source.randrange(4)
        assert residual.probability(index) == pytest.approx(naive[index], abs=1e-9)
        if wish or naive[index] >= draft[index]:
            residual.accept(index)
            naive = target
        else:
            following = residual_step(naive, draft)
            if sum(following) == 0 or residual.S < 1e-6:
                return
            assert residual.reject(index, 1.0)
            naive = following
    assert residual.masses() / residual.S == pytest.approx(naive, abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(masses, masses, st.lists(st.booleans(), min_size=4, max_size=4), st.floats(0.05, 0.5), st.randoms())
def test_residual_without_replacement_is_the_stepwise_one(target, draft, verdicts, orphaned, source) -> None:
    """Catches a Q_k that still holds earlier drafts, or a P that still holds accepted ones."""
    target = [mass / sum(target) for mass in target]
    draft = [mass / sum(draft) * (1 - orphaned) for mass in draft]
    residual, naive = _residual(target, draft, False), target
    drawn, accepted = set(), set()
    for wish, index in zip(verdicts, source.sample(range(4), 4), strict=True):
        left = [0.0 if place in drawn else mass for place, mass in enumerate(draft)]
        gain = 1.0 / (1.0 - math.fsum(draft[place] for place in drawn))
        q_k = [mass * gain for mass in left]
        drawn.add(index)
        assert residual.probability(index) == pytest.approx(naive[index], abs=1e-9)
        if wish or naive[index] >= q_k[index]:
            residual.accept(index)
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


def _residual(target: list[float], draft: list[float], replacement: bool) -> Residual:
    law = joint_law(_rows([target]), [0.0], [1], ResolvedSettings(top_k=0, replacement=replacement))
    return Residual(law, np.array(draft), replacement)


def test_uniforms_draw_by_inverse_cdf() -> None:
    """Catches an index of mass 0, an interval that does not hold its uniform, or an order other than the pairs'."""
    masses = np.array([0.0, 0.2, 0.0, 0.3, 0.5, 0.0])
    for uniform, expected in ((0.0, 1), (0.1999, 1), (0.2, 3), (0.49, 3), (0.5, 4), (1 - 2**-53, 4)):
        drawn = Uniforms([uniform]).draw(masses * 0.37)
        assert drawn.index == expected
        assert drawn.low <= drawn.uniform < drawn.high
    assert Uniforms([0.3]).accept(0.3) == (False, 0.3)
    assert Uniforms([0.0]).accept(0.0) == (False, 0.0)


PROBS = torch.tensor([0.45, 0.25, 0.15, 0.1, 0.05, 0.0], dtype=torch.float64)
LAW = DeviceLaw(torch.arange(6), PROBS.log(), PROBS, PROBS.log())


def _races(replacement: bool, width: int, count: int) -> list[tuple[int, ...]]:
    chosen, generator = ResolvedSettings(draft_width=width, replacement=replacement), torch.Generator().manual_seed(1)
    found = []
    for _ in range(count):
        found.append(tuple(race(LAW, chosen, generator).tolist()))
    return found


def _chi_square(found: list, law: dict) -> float:
    """p-value; outcomes expected fewer than five times are pooled."""
    expected = {key: mass * len(found) for key, mass in law.items()}
    rare = [key for key, count in expected.items() if count < 5]
    observed = dict.fromkeys(expected, 0)
    for key in found:
        observed[key] += 1
    bins = [(observed[key], expected[key]) for key in expected if key not in rare]
    if rare:
        bins.append((sum(observed[key] for key in rare), sum(expected[key] for key in rare)))
    return float(stats.chisquare(*zip(*bins, strict=True)).pvalue)


def test_race_draws_independently() -> None:
    """Catches a race whose draws are not from Q, or depend on each other. False alarm 1e-6."""
    pairs = {(a, b): float(PROBS[a] * PROBS[b]) for a in range(5) for b in range(5)}
    assert _chi_square(_races(True, 2, 8000), pairs) > FALSE_ALARM


def test_race_draws_without_replacement_in_order() -> None:
    """Catches a single race whose order is not that of sequential draws. False alarm 1e-6."""
    p = PROBS.tolist()
    pairs = {(a, b): p[a] * p[b] / (1 - p[a]) for a in range(5) for b in range(5) if a != b}
    assert _chi_square(_races(False, 2, 8000), pairs) > FALSE_ALARM


def test_race_marks_what_could_not_be_drawn() -> None:
    """Catches slots beyond the support that pass for drafts."""
    for width in (6, 9):
        chosen = ResolvedSettings(draft_width=width, replacement=False)
        slots = race(LAW, chosen, torch.Generator().manual_seed(0)).tolist()
        assert sorted(slots[:5]) == [0, 1, 2, 3, 4]
        assert slots[5] == 5  # its probability is 0
        assert slots[6:] == [slots[0]] * (width - 6) or slots[6:] == [0] * (width - 6)


def test_covers_are_the_likeliest_that_were_not_drafted() -> None:
    """Catches covers that were drafted, or that extend nothing."""
    scores = torch.tensor([5.0, 4.0, -torch.inf, 2.0, 1.0, -torch.inf], dtype=torch.float64)
    assert likeliest_left(scores, torch.tensor([1, 1]), 4).tolist() == [0, 3, 4, 1]
