"""Methods that draft nothing and choose each layer's width: given the width, a layer is that many draws from P.

Equality is to 1e-12 in total variation, over every run of the shipped verification.
"""

import math

import pytest

import dsbd.law.verify
from dsbd.law import toy
from dsbd.law.choices import Uniforms
from dsbd.law.verify import verify
from dsbd.settings import ResolvedSettings
from tests.law.drafted import Case, forests
from tests.law.enumeration import drawn_layer
from tests.law.oracle import sequences, total_variation, width_of
from tests.law.test_enumeration import ENDING, EXACT, SEEN, TWO_INPUTS, TWO_SINGLE_INPUTS

RULE = {"method": "width_rule_sampling", "draft_depth": 1, "draft_width": 4, "max_width": 4, "width_threshold": 0.5}
CHANCE = {"method": "random_width", "draft_depth": 0, "max_width": 3, "width_weights": (3.0, 0.0, 1.0)}
LAWS = {
    "the four likeliest pairs": (SEEN, {"top_k": 4}),
    "all pairs, EOS": (ENDING, {"top_k": 0, "top_p": 0.8}),
    "greedy": (SEEN, {"top_k": 0, "temperature": 0.0}),
}


def chosen_widths(case: Case, target: list) -> dict[int, float]:
    """The law of the width, from the laws of the layer alone."""
    chosen = case.settings
    if chosen.width_weights is None:
        (run,) = forests(case, case.process())
        return {width_of(target, run.draft_laws[0], case.widths, case.warp): 1.0}
    most = math.inf if chosen.replacement else len(target)
    law: dict[int, float] = {}
    for width, weight in enumerate(chosen.width_weights, chosen.min_width):
        law[min(width, most)] = law.get(min(width, most), 0.0) + weight / math.fsum(chosen.width_weights)
    return law


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("method", [RULE, CHANCE], ids=lambda values: values["method"])
@pytest.mark.parametrize("name", LAWS)
def test_a_layer_is_as_many_draws_from_the_target_law(name, method, replacement):
    """Catches a layer whose law is not that of beam sampling with the chosen width."""
    tables, changes = LAWS[name]
    inputs = TWO_INPUTS if replacement else TWO_SINGLE_INPUTS
    case = Case(tables, ResolvedSettings(replacement=replacement, **method, **changes), inputs)
    target = case.process().target_law(tuple((beam.path, beam.multiplicity) for beam in inputs))
    expected: dict = {}
    for width, chance in chosen_widths(case, target).items():
        for slots, probability in sequences(target, width, case.warp).items():
            expected[slots] = expected.get(slots, 0.0) + chance * probability
    assert total_variation(drawn_layer(case), expected) <= EXACT


def test_the_rule_is_that_of_the_first_layer_of_an_iteration():
    """Catches a Q that is not the one DSBD would draft from, at the same beams."""
    (ruled,) = verify(
        toy.likely_forest(), toy.next_tokens, toy.settings(method="width_rule_sampling"), toy.EOS, Uniforms([0.2] * 2)
    )
    drafted = verify(toy.forest(), toy.next_tokens, toy.settings(), toy.EOS, Uniforms([0.7, 0.2, 0.9]))[0]
    assert ruled.width is not None
    assert drafted.width is not None
    assert ruled.width.width == drafted.width.width
    assert ruled.width.numbers == drafted.width.numbers
    assert ruled.outcome == "bonus"
    assert not ruled.trials


def test_the_first_random_number_is_the_width():
    """Catches a width that is drawn after the beams, or from the random number of one of them."""
    chosen = toy.settings(method="random_width", draft_depth=0, max_width=3, width_weights=(0.5, 0.25, 0.25))
    for uniform, width in ((0.0, 1), (0.499, 1), (0.5, 2), (0.74, 2), (0.75, 3), (0.999, 3)):
        forest = dsbd.law.verify.Forest(toy.BEAMS, [])
        (layer,) = verify(forest, toy.next_tokens, chosen, toy.EOS, Uniforms([uniform, 0.55, 0.2, 0.9]))
        assert (layer.width.width, layer.width.drawn.uniform) == (width, uniform)
        assert [toy.text(draw.node) for draw in layer.draws] == ["ab", "aa", "ba"][:width]
