"""The forest as the verifier reads it, on the toy."""

from dataclasses import replace

import numpy as np
import pytest

from dsbd.law import toy
from dsbd.law.forest import DraftLaw, Forest, ForestLayer


def test_q_on_the_alive_beams_is_not_renormalised() -> None:
    """Catches Q renormalised over the alive parents, and Q in the order of its parents instead of the law's."""
    on_law, mass = toy.draft_law().restrict(toy.target_law(), {toy.B: 1})
    assert on_law.tolist() == [0.0, 0.0, 0.0, 0.25]
    assert mass == 0.25
    swapped = DraftLaw([toy.B, toy.A], np.array([1, 0]), np.array([1, 0]), np.array([0.75, 0.25]))
    on_law, mass = swapped.restrict(toy.target_law(), {toy.A: 0, toy.B: 1})
    assert on_law.tolist() == [0.0, 0.75, 0.0, 0.25]
    assert mass == 1.0


def test_q_outside_the_targets_law_has_mass_but_no_place() -> None:
    """Catches a draft pair that P cannot draw being put on its neighbour, or its mass being lost."""
    law = toy.target_law(top_k=1)  # only "aa" is left
    unequal = replace(toy.draft_law(), probs=np.array([0.5, 0.25, 0.125, 0.125]))
    on_law, mass = unequal.restrict(law, {toy.A: 0, toy.B: 1})
    assert (on_law.tolist(), mass) == ([0.5], 1.0)
    lacking = DraftLaw([toy.A], np.array([0]), np.array([3]), np.array([1.0]))
    on_law, mass = lacking.restrict(toy.target_law(), {toy.A: 0, toy.B: 1})
    assert (on_law.tolist(), mass) == ([0.0] * 4, 1.0)


def test_a_ranked_q_counts_its_pairs() -> None:
    """Catches greedy drafts whose layer passes for a bonus layer because only the first pair has mass."""
    ranked = DraftLaw([toy.A], np.array([0, 0]), np.array([0, 1]), np.array([1.0, 0.0]), ranked=True)
    assert ranked.restrict(toy.target_law(), {toy.A: 0})[1] == 2.0


def test_two_nodes_of_equal_content_are_refused() -> None:
    """Catches a forest whose duplicates are two objects: identity would no longer be equality."""
    twice = ForestLayer([toy.AB, toy.A.child(1)], [0.25, 0.25], [], toy.draft_law())
    with pytest.raises(AssertionError, match="equal content"):
        Forest(toy.BEAMS, [twice])


def test_only_cover_nodes_below_alive_beams_can_be_landed_on() -> None:
    """Catches a likely forest whose mass counts nodes of dead beams."""
    layer = toy.likely_forest().layers[0]
    assert layer.below({toy.A}) == [toy.AA, toy.AB, layer.covers[2]]
    assert layer.below({toy.B}) == []
