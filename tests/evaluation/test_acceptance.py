"""Acceptance by layer, position and entropy, against counts by hand."""

from dsbd.evaluation.acceptance import acceptance_table
from dsbd.evaluation.statistics import clustered_ratio
from dsbd.measure.layer_watch import LayerFact


def fact(position, layer, entropy, accepted, rejected, **changes):
    values = {"position": position, "layer": layer, "drafted": True, "entropy": entropy, "accepted": accepted,
              "rejected": rejected, "beams": 2, "went_on": accepted > 1}  # fmt: skip
    return LayerFact(**(values | changes))


DECODES = [
    ("a", [fact(0, 1, 0.1, 4, 0), fact(1, 2, 2.0, 1, 3), fact(2, 3, 9.0, 0, 0, drafted=False), fact(9, 1, 0.2, 2, 2)]),
    ("b", [fact(0, 1, 3.0, 1, 1), fact(1, 1, 0.5, 3, 0)]),
]


def test_by_layer_is_sum_over_sum_without_bonus_layers():
    """Catches a mean of rates, and a bonus layer that counts as one without acceptance."""
    first, second = acceptance_table("dsbd", DECODES).by_layer
    assert (first.low, first.high, first.layers) == (1, 1, 4)
    assert first.acceptance == clustered_ratio([4, 2, 1, 3], [4, 4, 2, 3], "aabb")
    assert first.acceptance.mean == 10 / 13
    assert first.went_on.mean == 3 / 4
    assert (second.low, second.acceptance.mean, second.went_on.mean) == (2, 1 / 4, 0)


def test_positions_stand_eight_to_a_bin():
    early, late = acceptance_table("dsbd", DECODES).by_position
    assert (early.low, early.high, early.middle, early.layers) == (0, 1, 0.5, 4)
    assert (late.low, late.high, late.layers) == (9, 9, 1)


def test_bins_of_entropy_are_equally_full():
    """Catches bins of equal width: nearly all layers would stand in the first."""
    decodes = [(place, [fact(0, 1, place**3 / 100, 1, 1)]) for place in range(80)]
    bins = acceptance_table("dsbd", decodes).by_entropy
    assert [one.layers for one in bins] == [10] * 8
    assert [one.low for one in bins] == [(10 * place) ** 3 / 100 for place in range(8)]
    same = acceptance_table("greedy", [(place, [fact(0, 1, 0.0, 1, 1)]) for place in range(80)])
    assert [one.layers for one in same.by_entropy] == [80]


def test_a_layer_without_trials_has_no_acceptance():
    """Catches a rate of 0 for a likely forest, which tries nothing."""
    (found,) = acceptance_table("likely", [("a", [fact(0, 1, 1.0, 0, 0, went_on=True)])]).by_layer
    assert (found.acceptance, found.went_on.mean) == (None, 1.0)
    assert acceptance_table("sampling", [("a", [])]).by_entropy == ()
