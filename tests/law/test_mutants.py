"""Every variant that the law calls wrong is caught by the enumeration that the shipped code passes.

A mutant is the shipped code with one piece replaced; the sentence beside it is the rule it breaks.
"""

import dataclasses
import math
from collections.abc import Callable
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest

import dsbd.law.verify
import dsbd.law.width
from dsbd.law.beams import Beam
from dsbd.law.forest import ForestLayer
from dsbd.law.laws import Residual
from dsbd.law.verified import TriedDraft, VerifiedLayer
from dsbd.law.verify import _State, _Verifier
from tests.law.drafted import Case, forests
from tests.law.enumeration import plain_law, run_law, steps, worst_layer
from tests.law.oracle import Tables, total_variation
from tests.law.test_enumeration import EXACT, FAR, UNRELATED, chain, settings, tree

TABLES = Tables(1, 3)

_draft_layer, _try_drafts, _collect = _Verifier.draft_layer, _Verifier._try_drafts, _Verifier._collect
_beginnings_of = dsbd.law.verify.beginnings_of
_joint_law, _choose_width, _take = dsbd.law.verify.joint_law, dsbd.law.verify.choose_width, Residual.take


def _trial_with(ratio: Callable[[float, float], float]) -> Callable:
    def try_(self, node, order, index, draft_prob, gain, residual) -> TriedDraft:
        before = residual.c, residual.S
        left = 0.0 if index is None else residual.probability(index)
        acceptance = ratio(left, draft_prob) if left > 0 else 0.0
        accepted, uniform = self.choices.accept(acceptance)
        if not accepted and not residual.reject(index, gain) and index is not None:
            accepted = True
        verdict = "accepted" if accepted else "rejected"
        return TriedDraft(node, order, verdict, draft_prob, left, *before, acceptance, uniform)

    return try_


def inverted_ratio(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Verifier, "_try", _trial_with(lambda left, draft_prob: min(1.0, draft_prob / left)))


def epsilon_in_the_ratio(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Verifier, "_try", _trial_with(lambda left, draft_prob: min(1.0, left / (draft_prob + 1e-6))))


def no_reset(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Residual, "accept", lambda self, index: None)


def all_recovered(patch: pytest.MonkeyPatch) -> None:
    def keep(self: Residual, index: int) -> None:
        c = self.c
        _take(self, index)
        self.c, self.S = c, float(np.maximum(self._target - c * self._draft, 0.0).sum())

    patch.setattr(Residual, "take", keep)


def none_recovered(patch: pytest.MonkeyPatch) -> None:
    draw = _Verifier._draw

    def all_fresh(self: _Verifier, state: _State, count: int, kind: str) -> list:
        state.residual.c, state.residual.S = 0.0, float(state.residual._target.sum())
        return draw(self, state, count, kind)

    patch.setattr(_Verifier, "_draw", all_fresh)


def _with_draft_probs(scale: Callable) -> Callable:
    """A draft layer whose Q is rescaled, in the ratio and in the residual; ``scale`` gives a factor per parent."""

    def draft_layer(self: _Verifier, state: _State, drafted: ForestLayer) -> VerifiedLayer:
        factor = scale(self, state, drafted)
        pairs = [state.alive[state.law.pair(index)[0]].node for index in range(state.law.support)]
        draft_probs = state.draft_probs * np.array([factor(node) for node in pairs])
        residual = Residual(state.law, draft_probs, self.settings.replacement)
        probs = [p * factor(node.parent) for node, p in zip(drafted.drafts, drafted.draft_probs, strict=True)]
        drafted = dataclasses.replace(drafted, draft_probs=probs)
        return _draft_layer(self, state._replace(draft_probs=draft_probs, residual=residual), drafted)

    return draft_layer


def renormalised_over_alive(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        _Verifier,
        "draft_layer",
        _with_draft_probs(lambda self, state, drafted: lambda parent: 1.0 / state.draft_mass),
    )


def single_slot(patch: pytest.MonkeyPatch) -> None:
    def share(self: _Verifier, state: _State, drafted: ForestLayer) -> Callable:
        above = [node for layer in self.forest.layers for node in layer.drafts]
        return lambda parent: 1.0 / max(above.count(parent), 1)

    patch.setattr(_Verifier, "draft_layer", _with_draft_probs(share))


def _only(keep: Callable) -> Callable:
    """Trials of some drafts only."""

    def try_drafts(self: _Verifier, state: _State, drafted: ForestLayer, width: int) -> tuple:
        places = [place for place in range(len(drafted.drafts)) if keep(state, drafted.drafts, place)]
        fewer = dataclasses.replace(
            drafted,
            drafts=[drafted.drafts[place] for place in places],
            draft_probs=[drafted.draft_probs[place] for place in places],
        )
        return _try_drafts(self, state, fewer, width)

    return try_drafts


def orphans_skipped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Verifier, "_try_drafts", _only(lambda state, drafts, place: drafts[place].parent in state.places))


def duplicates_tried_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Verifier, "_try_drafts", _only(lambda state, drafts, place: drafts[place] not in drafts[:place]))


def verified_as_independent(patch: pytest.MonkeyPatch) -> None:
    def try_drafts(self: _Verifier, *args) -> tuple:
        independent = dataclasses.replace(self.settings, replacement=True)
        return _try_drafts(dataclasses.replace(self, settings=independent), *args)

    patch.setattr(_Verifier, "_try_drafts", try_drafts)


def siblings_in_random_order(patch: pytest.MonkeyPatch) -> None:
    """Each order is as likely; a draft is tried by Q without those that were tried before it."""

    def try_drafts(self: _Verifier, state: _State, drafted: ForestLayer, width: int) -> tuple:
        orders = list(permutations(range(len(drafted.drafts))))
        order = orders[self.choices.draw(np.ones(len(orders))).index]
        shuffled = dataclasses.replace(
            drafted,
            drafts=[drafted.drafts[place] for place in order],
            draft_probs=[drafted.draft_probs[place] for place in order],
        )
        return _try_drafts(self, state, shuffled, width)

    patch.setattr(_Verifier, "_try_drafts", try_drafts)


def _block_with(change: Callable) -> Callable:
    """Beginnings whose numbers ``change`` replaces."""

    def beginnings_of(links):
        return [change(one) for one in _beginnings_of(links)]

    return beginnings_of


def chance_is_p(patch: pytest.MonkeyPatch) -> None:
    changed = _block_with(lambda one: one._replace(acceptance=one.probability))
    patch.setattr(dsbd.law.verify, "beginnings_of", changed)


def residual_of_the_whole_p(patch: pytest.MonkeyPatch) -> None:
    """After the accepted beginning P - Q instead of p P - Q."""
    reject = Residual.reject
    patch.setattr(Residual, "reject", lambda self, index, gain: reject(self, index, 1.0))


def shortest_beginning_first(patch: pytest.MonkeyPatch) -> None:
    def tried(beginnings, choices):
        found = list(beginnings)
        for place, one in enumerate(found):
            accepted, uniform = choices.accept(one.acceptance)
            found[place] = one._replace(uniform=uniform)
            if accepted:
                return found, place + 1
        return found, 0

    patch.setattr(dsbd.law.verify, "try_beginnings", tried)


def earlier_drafts_left_in_q(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Residual, "accept", lambda self, index: self.take(index))


def accepted_left_in_p(patch: pytest.MonkeyPatch) -> None:
    def take(self: Residual, index: int) -> None:
        self.c, self.S = 0.0, float(self._target.sum())

    patch.setattr(Residual, "take", take)


def _counting(count: Callable) -> Callable:
    """A draft layer whose width counts drafts by ``count`` instead of m."""

    def draft_layer(self: _Verifier, state: _State, drafted: ForestLayer) -> VerifiedLayer:
        def choose(target, draft, drafts, support, chosen):
            return _choose_width(target, draft, count(state, drafted), support, chosen)

        dsbd.law.verify.choose_width = choose
        try:
            return _draft_layer(self, state, drafted)
        finally:
            dsbd.law.verify.choose_width = _choose_width

    return draft_layer


def m_without_orphans(patch: pytest.MonkeyPatch) -> None:
    alive = _counting(lambda state, drafted: sum(node.parent in state.places for node in drafted.drafts))
    patch.setattr(_Verifier, "draft_layer", alive)


def m_without_duplicates(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Verifier, "draft_layer", _counting(lambda state, drafted: len(set(drafted.drafts))))


def only_landed_kept(patch: pytest.MonkeyPatch) -> None:
    def draft_layer(self: _Verifier, state: _State, drafted: ForestLayer) -> VerifiedLayer:
        layer = _draft_layer(self, state, drafted)
        lost = {draw.node for draw in layer.draws if not draw.landed}
        kept = [beam for beam in layer.living if beam.node not in lost]
        goes_on = layer.outcome == "short" and kept
        return dataclasses.replace(layer, living=kept, outcome="landed") if goes_on else layer

    patch.setattr(_Verifier, "draft_layer", draft_layer)


def stop_before_orphans(patch: pytest.MonkeyPatch) -> None:
    shipped = dsbd.law.verify.verify

    class StopError(Exception):
        pass

    def enter(self: _Verifier, alive: list[Beam], drafted: ForestLayer | None) -> _State:
        nodes = {beam.node for beam in alive}
        below_a_draft_layer = drafted is not None and alive is not self.forest.input_beams
        if below_a_draft_layer and not any(node.parent in nodes for node in drafted.drafts):
            raise StopError
        return _enter(self, alive, drafted)

    def verify(forest, next_tokens, chosen, eos, choices) -> list[VerifiedLayer]:
        try:
            return shipped(forest, next_tokens, chosen, eos, choices)
        except StopError:
            return list(choices.layers)

    _enter = _Verifier.enter
    patch.setattr(_Verifier, "enter", enter)
    patch.setattr(dsbd.law.verify, "verify", verify)


def multiplicity_divided_by_temperature(patch: pytest.MonkeyPatch) -> None:
    def law(rows, weights, multiplicities, chosen):
        return _joint_law(rows, weights, [count ** (1 / chosen.temperature) for count in multiplicities], chosen)

    patch.setattr(dsbd.law.verify, "joint_law", law)


def multiplicity_forgotten(patch: pytest.MonkeyPatch) -> None:
    def law(rows, weights, multiplicities, chosen):
        return _joint_law(rows, weights, [1] * len(multiplicities), chosen)

    patch.setattr(dsbd.law.verify, "joint_law", law)


def multiplicity_inherited(patch: pytest.MonkeyPatch) -> None:
    def collect(self: _Verifier, state: _State, nodes: list) -> tuple[list[Beam], list[Beam]]:
        def heavier(beam: Beam) -> Beam:
            return dataclasses.replace(beam, log_weight=beam.log_weight + math.log(beam.multiplicity))

        return tuple([heavier(beam) for beam in beams] for beams in _collect(self, state, nodes))

    patch.setattr(_Verifier, "_collect", collect)


def q_subtracted_twice(patch: pytest.MonkeyPatch) -> None:
    chain = dsbd.law.width.residual_chain

    def twice(target, draft, drafts):
        return chain(target, 2.0 * np.asarray(draft), drafts)

    patch.setattr(dsbd.law.width, "residual_chain", twice)


def keeps_landed_of_likely(patch: pytest.MonkeyPatch) -> None:
    only_landed_kept(patch)


def widened_by_what_landed(patch: pytest.MonkeyPatch) -> None:
    """Draws until one misses the forest: the width then depends on this layer's uniforms."""
    shipped_draw = _Verifier._draw

    def draw(self: _Verifier, state: _State, count: int, kind: str) -> list:
        draws = shipped_draw(self, state, count, kind)
        if kind == "fresh" and all(one.landed for one in draws):
            draws += shipped_draw(self, state, 1, kind)
        return draws

    patch.setattr(_Verifier, "_draw", draw)


def whole_block(case: Case, layers: int) -> float:
    return total_variation(run_law(case, layers, merge=False), plain_law(case, layers))


def whole_run(case: Case, layers: int) -> float:
    return total_variation(run_law(case, layers), plain_law(case, layers))


def one_layer(case: Case, number: int) -> float:
    return worst_layer(case, number)[0]


def accepted_counts(case: Case, number: int) -> float:
    """Distance of the expected law of the number of accepted drafts of layer 1 from the enumerated one."""
    enumerated: dict[int, float] = {}
    expected: list[float] = []
    for run in forests(case, case.process()):
        for probability, layer in _first_layers(run, case):
            accepted = sum(trial.verdict == "accepted" for trial in layer.trials)
            enumerated[accepted] = enumerated.get(accepted, 0.0) + probability
            expected = layer.width.numbers.distribution
    return total_variation(enumerated, dict(enumerate(expected)))


def _first_layers(run, case: Case) -> list[tuple[float, VerifiedLayer]]:
    seen: list[VerifiedLayer] = []
    collect = _Verifier.draft_layer

    def spy(self, *args) -> VerifiedLayer:
        seen.append(collect(self, *args))
        return seen[-1]

    _Verifier.draft_layer = spy
    try:
        ways = steps(run, case, 1)
    finally:
        _Verifier.draft_layer = collect
    return list(zip([step.probability for step in ways], seen, strict=True))


class Mutant(NamedTuple):
    mutate: Callable[[pytest.MonkeyPatch], None]
    sentence: str
    check: Callable[[Case, int], float]
    case: Case
    layers: int
    bound: float


def fixed(tables: Tables = TABLES, **changes) -> Case:
    return Case(tables, settings(**changes))


def dynamic(tables: Tables = TABLES, **changes) -> Case:
    return Case(tables, settings(**{"min_width": 1, "max_width": 3, "width_threshold": 0.5, **changes}))


HEAVY = fixed(Tables(7, 2, likeness=0.1), width=3, draft_width=1, cover_width=1, temperature=0.6, top_k=0)
DISTINCT = fixed(FAR, replacement=False, draft_depth=1, width=2, draft_width=3, top_k=0)

TREE = tree(Tables(1, 3, likeness=0.1), (2,), top_k=0, replacement=False)
BLOCK, LONG_BLOCK = (chain(UNRELATED, depth, "block", top_k=0) for depth in (2, 3))
LIKELY = fixed(forest="likely", draft_width=3)

MUTANTS = [
    Mutant(inverted_ratio, "accept when u < min(1, P'(x)/Q(x)); upside down is wrong", one_layer, fixed(), 1, 0.05),
    Mutant(epsilon_in_the_ratio, "the ratio has no epsilon", one_layer, fixed(), 1, 1e-8),
    Mutant(no_reset, "on acceptance P' is reset", one_layer, fixed(FAR), 1, 0.02),
    Mutant(all_recovered, "one beam is recovered, the others are fresh", one_layer, fixed(FAR), 1, 0.02),
    Mutant(none_recovered, "one beam is recovered from the current P'", one_layer, fixed(FAR), 1, 0.02),
    Mutant(renormalised_over_alive, "Q on alive parents is not renormalised", one_layer, fixed(), 2, 0.05),
    Mutant(renormalised_over_alive, "Q is not renormalised (whole run)", whole_run, fixed(FAR), 2, 1e-3),
    Mutant(orphans_skipped, "an orphan counts as a rejection with its residual update", one_layer, fixed(), 2, 0.02),
    Mutant(duplicates_tried_once, "every draw is its own trial", one_layer, fixed(FAR), 1, 0.01),
    Mutant(single_slot, "P and Q of a pair sum over duplicate slots", one_layer, fixed(FAR, width=2), 2, 0.01),
    Mutant(verified_as_independent, "without replacement test and residual use Q_k", one_layer, DISTINCT, 1, 0.02),
    Mutant(verified_as_independent, "in a tree test and residual use Q_k of the parent", whole_run, TREE, 2, 0.1),
    Mutant(siblings_in_random_order, "children are tried in the order they were drawn", whole_run, TREE, 2, 0.05),
    Mutant(chance_is_p, "a beginning is accepted by s / (s + 1 - p)", whole_block, BLOCK, 3, 0.01),
    Mutant(residual_of_the_whole_p, "what follows comes from p P - Q", whole_block, LONG_BLOCK, 4, 5e-4),
    Mutant(shortest_beginning_first, "the longest accepted beginning counts", whole_block, BLOCK, 3, 0.01),
    Mutant(earlier_drafts_left_in_q, "Q_k is Q without all earlier draws", one_layer, DISTINCT, 1, 1e-3),
    Mutant(accepted_left_in_p, "after x is accepted, P becomes P without it", one_layer, DISTINCT, 1, 0.1),
    Mutant(m_without_orphans, "m counts orphans", one_layer, dynamic(FAR, landing=False), 2, 0.1),
    Mutant(m_without_duplicates, "m counts duplicates", one_layer, dynamic(), 1, 0.1),
    Mutant(only_landed_kept, "all must land", whole_run, fixed(FAR, cover_width=1), 2, 0.02),
    Mutant(stop_before_orphans, "going on may use drafts up to this layer only", one_layer, fixed(), 2, 0.01),
    Mutant(keeps_landed_of_likely, "all must land, in a likely forest too", whole_run, LIKELY, 2, 0.02),
    Mutant(widened_by_what_landed, "the width never depends on this layer's uniforms", one_layer, LIKELY, 1, 0.02),
    Mutant(multiplicity_divided_by_temperature, "multiplicity is added after the division", whole_run, HEAVY, 2, 5e-3),
    Mutant(multiplicity_forgotten, "duplicates count with their multiplicity", whole_run, HEAVY, 2, 5e-3),
    Mutant(multiplicity_inherited, "multiplicity never enters children's log_weight", whole_run, HEAVY, 2, 5e-3),
    Mutant(q_subtracted_twice, "the width subtracts Q once per step", accepted_counts, fixed(FAR), 1, 0.02),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.mutate.__name__}-{mutant.check.__name__}")
def test_mutant_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a check that would pass a wrong variant: the shipped code passes it, the mutant must not."""
    assert mutant.check(mutant.case, mutant.layers) <= EXACT
    mutant.mutate(monkeypatch)
    distance = mutant.check(mutant.case, mutant.layers)
    assert distance > mutant.bound, f"{mutant.sentence}: off by {distance:.3g} only"
