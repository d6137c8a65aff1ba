"""The law where floating point runs out: peaked laws, underflow, thresholds and temperatures at their ends."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dsbd.law import toy
from dsbd.law.beams import Beam, Node
from dsbd.law.choices import Uniforms
from dsbd.law.forest import LEAST_DRAFT_PROB, DraftLaw, Forest, ForestLayer
from dsbd.law.laws import TopTokens, joint_law
from dsbd.law.verify import verify
from dsbd.law.width import choose_width
from dsbd.settings import ResolvedSettings
from tests.law.drafted import Case, path_of
from tests.law.enumeration import forests, slots_of, worst_layer
from tests.law.oracle import Tables
from tests.law.test_enumeration import EXACT, settings


class Fixed(Tables):
    """The same next-token table on every path."""

    def __init__(self, target: list[float], draft: list[float]) -> None:
        self._both = {"target": target, "draft": draft}
        super().__init__(0, len(target))

    def _target(self, path: tuple[int, ...]) -> list[float]:
        return self._both["target"]

    def _draft(self, path: tuple[int, ...]) -> list[float]:
        return self._both["draft"]


class Going(Tables):
    """The first token is 0 or 1; 0 goes on in five ways, 1 in one, which is then the likeliest path of two tokens."""

    def __init__(self) -> None:
        super().__init__(0, 6)

    def _target(self, path: tuple[int, ...]) -> list[float]:
        if not path:
            return [0.7, 0.3, 0.0, 0.0, 0.0, 0.0]
        return [0.0, 0.0, 1.0, 0.0, 0.0, 0.0] if path[-1] else [0.0, 0.21, 0.2, 0.2, 0.2, 0.19]

    def rows(self, nodes: Sequence[Node]) -> list[TopTokens]:
        with np.errstate(divide="ignore"):
            return [TopTokens(np.arange(6), np.log(np.array(self._target(path_of(node))))) for node in nodes]


@pytest.mark.parametrize("rest", [1e-6, 1e-13, 1e-16, 1e-30])
@pytest.mark.parametrize("replacement", [True, False])
def test_peaked_laws(rest: float, replacement: bool) -> None:
    """Catches Q less the earlier drafts computed as 1 minus their mass: nothing is left of it at 1e-16."""
    tables = Fixed([1 - rest, 0.9 * rest, 0.1 * rest], [1 - rest, 0.5 * rest, 0.5 * rest])
    case = Case(tables, settings(draft_depth=1, top_k=0, replacement=replacement))
    assert worst_layer(case, 1)[0] <= EXACT


@pytest.mark.parametrize("width", [1, 2])
def test_drafts_down_to_the_least_probability(width: int) -> None:
    """Catches a quotient by what is left of Q that loses its digits, or overflows, after likely drafts are rejected."""
    tables = Fixed([0.1, 0.4, 0.3, 0.2], [1.0, 1e-100, 1e-200, LEAST_DRAFT_PROB])
    case = Case(tables, settings(draft_depth=1, draft_width=4, width=width, top_k=0, replacement=False))
    assert worst_layer(case, 1)[0] <= EXACT


def test_pairs_whose_probability_underflows_cannot_be_drawn_with_replacement() -> None:
    """Catches a law that counts pairs of probability 0 in its support."""
    chosen = ResolvedSettings(temperature=0.01, top_k=0)
    law = joint_law([TopTokens(np.arange(3), np.log([0.999, 9e-4, 1e-4]))], [0.0], [1], chosen)
    assert law.support == 2
    assert (law.probs > 0).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("temperature", [2e-3, 1e-3, 1e-5, 1e-300, 1e-310])
def test_without_replacement_the_cold_is_as_wide_as_temperature_zero(temperature: float) -> None:
    """Catches beams that are lost because their probability underflows, though they are all that is left."""
    texts = []
    for cold in (0.0, temperature):
        chosen, found = (
            settings(temperature=cold, replacement=False, top_k=0, width=2, draft_depth=0),
            [Beam(toy.ROOT, 0.0)],
        )
        for _ in range(2):
            [layer] = verify(Forest(found, []), Going().rows, chosen, frozenset(), Uniforms([0.5, 0.5]))
            found = layer.living
            numbers = [number for draw in layer.draws for number in (draw.c, draw.S, draw.drawn.low, draw.drawn.high)]
            assert all(math.isfinite(number) for number in numbers)
        texts.append([(beam.node.token_ids(), beam.multiplicity) for beam in found])
    assert texts[0] == texts[1] == [([1, 2], 1), ([0, 1], 1)]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("temperature", [1e-3, 1e-5])
def test_a_draft_whose_probability_underflows_is_tried_once_it_is_the_best_left(temperature: float) -> None:
    """Catches a residual that is 0/0 after all that had a probability is accepted."""
    chosen = settings(temperature=temperature, replacement=False, top_k=0, width=2, draft_depth=1)
    first, second = toy.ROOT.child(0), toy.ROOT.child(1)
    law = DraftLaw([toy.ROOT], np.zeros(2, dtype=int), np.arange(2), np.array([0.5, 0.5]))
    forest = Forest([Beam(toy.ROOT, 0.0)], [ForestLayer([first, second], [0.5, 0.5], [], law)])
    layers = verify(forest, Going().rows, chosen, frozenset(), Uniforms([0.5] * 20))
    assert [(trial.verdict, trial.acceptance) for trial in layers[0].trials] == [("accepted", 1.0), ("accepted", 1.0)]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("depth", [0, 1])
def test_no_beam_is_drawn_twice_without_replacement_at_low_temperature(depth: int) -> None:
    """Catches a width above the number of pairs with positive probability: 0/0, and the same beam again and again."""
    tables = Fixed([0.999, 9e-4, 1e-4], [0.999, 5e-4, 5e-4])
    low = settings(draft_depth=depth, draft_width=3, width=3, top_k=0, replacement=False, temperature=0.001)
    case = Case(tables, low)
    for run in forests(case, case.process()):
        layer = verify(run.forest, run.next_tokens, low, frozenset(), Uniforms([0.5] * 20))[0]
        slots = slots_of(layer)
        assert len(set(slots)) == len(slots)
        assert all(beam.multiplicity == 1 for beam in layer.beams)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("temperature", [100.0, 1e-3, 1e-100, 1e-310])
def test_every_temperature_settings_allow_gives_a_law(temperature: float) -> None:
    """Catches a temperature so small that all scores become minus infinity and the law not a number."""
    chosen = ResolvedSettings(temperature=temperature, top_k=0)
    law = joint_law([TopTokens(np.arange(3), np.log([0.5, 0.3, 0.2]))], [-2.0], [1], chosen)
    assert law.probs.sum() == pytest.approx(1.0)


def test_acceptance_chain_and_distribution_are_probabilities() -> None:
    """Catches values below 0 or above 1 by a rounding, which a trace would have to refuse, and which the tail of the
    distribution at threshold 0 would show."""
    random = np.random.default_rng(1)
    for _ in range(200):
        target, draft = random.random(6) ** 3, random.random(6) ** 3 * (random.random(6) < 0.5)
        chosen = choose_width(target / target.sum(), draft / max(draft.sum(), 1), 4, 6, ResolvedSettings())
        numbers = (*chosen.numbers.acceptance, *chosen.numbers.distribution)
        assert 0 <= min(numbers) <= max(numbers) <= 1
        zero = choose_width(
            target / target.sum(), np.zeros(6), 3, 6, ResolvedSettings(width_threshold=0.0, draft_width=3)
        )
        assert zero.width == 3


def test_a_pair_far_below_the_others_stays_in_the_law() -> None:
    """Catches pairs dropped by their log-weight: after 700 unlikely tokens every beam is that far down."""
    law = joint_law([TopTokens(np.arange(2), np.log([0.75, 0.25]))], [-5000.0], [1], ResolvedSettings(top_k=0))
    assert law.probs.tolist() == pytest.approx([0.75, 0.25])
