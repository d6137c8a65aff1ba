"""The parts that verification is made of, on the toy: beams, random decisions, the forest, decided layers."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dsbd.law import toy
from dsbd.law.beams import Beam, common_prefix, keep_best, score_hypothesis
from dsbd.law.choices import Uniforms
from dsbd.law.forest import DraftLaw, Forest, ForestLayer
from dsbd.law.verified import draft_layers_passed


def test_the_best_beams_stay_in_their_order() -> None:
    """Catches beams sorted by weight (the fixed order of pairs would change), and ties that go to the later beam."""
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
    ends, or an order other than the pairs'."""
    masses = np.array([0.0, 0.2, 0.0, 0.3, 0.5, 0.0])
    for uniform, expected in ((0.0, 1), (0.1999, 1), (0.2, 3), (0.49, 3), (0.5, 4), (1 - 2**-53, 4)):
        drawn = Uniforms([uniform]).draw(masses * 0.37)
        assert drawn.index == expected
        assert drawn.low <= drawn.uniform < drawn.high
    second = Uniforms([0.5]).draw(np.array([0.5, 0.25, 0.25]))
    assert (second.index, second.low, second.high) == (1, 0.5, 0.75)
    assert Uniforms([0.3]).accept(0.3) == (False, 0.3)
    assert Uniforms([0.0]).accept(0.0) == (False, 0.0)


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


@pytest.mark.parametrize(
    ("outcomes", "passed"),
    [(["short"], (0, True)), (["passed", "landed", "short"], (2, True)), (["landed", "finished"], (1, False))],
)
def test_draft_layers_that_let_verification_go_on_are_counted(outcomes, passed):
    """Catches an end of all beams that counts as a failure."""
    layers = [SimpleNamespace(outcome=one, continues=one in ("passed", "landed")) for one in outcomes]
    assert draft_layers_passed(layers) == passed
