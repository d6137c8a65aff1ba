"""Beams, their ranking and what they have in common, on the toy."""

from dsbd.law import toy
from dsbd.law.beams import Beam, common_prefix, keep_best, score_hypothesis


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
