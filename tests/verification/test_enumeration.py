"""The shipped verification, every run of it enumerated, against plain beam sampling by the oracle.

The same where floating point runs out: peaked distributions, underflow, thresholds and temperatures at their ends.
Equality is to 1e-12 in total variation; what is seen is near 1e-15. Whole runs are completed to a fixed number of
layers, never conditioned on having reached a layer. Layers are compared in the order of their beams.
"""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from dsbd.drafts.lookup import PromptLookup
from dsbd.methods import resolve
from dsbd.settings import DecodingSettings, ResolvedSettings
from dsbd.verification import toy
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import TopTokens, joint_distribution
from dsbd.verification.forest import LEAST_DRAFT_PROB, DraftDistribution, Forest, ForestLayer
from dsbd.verification.noise import Noise
from dsbd.verification.verified import Uniforms
from dsbd.verification.verify import verify
from tests.toy_pair import OTHER, SPREAD
from tests.verification.enumeration import Case, path_of, plain_distribution, rows_of, run_distribution, worst_layers
from tests.verification.oracle import Tables, Weighted, sequences, total_variation

EXACT = 1e-12


def settings(**changes) -> ResolvedSettings:
    """Two draft layers, fixed width 2, the four likeliest candidates."""
    width = changes.pop("width", 2)
    values = {"draft_depth": 2, "draft_width": 2, "min_width": width, "max_width": width, "top_k": 4, **changes}
    return ResolvedSettings(**values)


class Copying(Tables):
    """Drafts copied from a prompt: the draft's table is what :class:`PromptLookup` knows, and nothing after the token
    2.
    """

    def _draft(self, path: tuple[int, ...]) -> list[float]:
        node = toy.ROOT
        for token in path:
            node = node.child(token)
        source = PromptLookup()
        source.begin([0, 1, 1, 0, 0, 1, 0], [toy.ROOT], 1)
        (row,) = source.extend([node])
        known = dict(zip(row.tokens.tolist(), np.exp(row.log_probs).tolist(), strict=True))
        return [known.get(token, 0.0) for token in range(self.vocabulary)]


SEEN = Tables(1, 3)
ENDING = Tables(4, 3, eos=2)
EARLY = {"early_stopping": False, "length_penalty": 0.5, "max_new_tokens": 3, "top_k": 3}
TWO_TOKENS = Tables(3, 2)
UNRELATED = Tables(4, 3, likeness=0.0)
EQUAL = Tables(5, 3, likeness=1.0)
COPYING = Copying(3, 3)
TWO_INPUTS = (Weighted((0,), -0.7, 2), Weighted((1,), -0.9, 1))
TWO_SINGLE_INPUTS = tuple(beam._replace(multiplicity=1) for beam in TWO_INPUTS)

RUNS = {
    "three layers": (SEEN, {"landing": False}, 3),
    "three layers, landing": (SEEN, {}, 3),
    "three layers, landing, extras": (SEEN, {"cover_width": 2, "top_k": 3}, 3),
    "all candidates": (SEEN, {"top_k": 0, "cover_width": 1}, 2),
    "EOS": (ENDING, EARLY | {"cover_width": 1}, 3),
    "EOS, at once": (ENDING, EARLY | {"early_stopping": True}, 3),
    "EOS, never": (ENDING, EARLY | {"early_stopping": "never"}, 3),
    "top-p": (SEEN, {"top_k": 0, "top_p": 0.8, "cover_width": 1}, 2),
    "top-k then top-p": (SEEN, {"top_k": 5, "top_p": 0.9, "temperature": 1.5}, 2),
    "width three, hot, three drafts": (TWO_TOKENS, {"width": 3, "draft_width": 3, "temperature": 1.6, "top_k": 3}, 2),
    "width three, extras, one draft": (SEEN, {"width": 3, "draft_width": 1, "cover_width": 3, "temperature": 0.6}, 2),
    "width one": (SEEN, {"width": 1, "draft_width": 1, "top_k": 0}, 3),
    "width one, three drafts": (SEEN, {"width": 1, "draft_width": 3}, 2),
    "draft is target": (EQUAL, {}, 3),
    "temperature zero": (SEEN, {"temperature": 0.0, "cover_width": 1, "width": 3, "draft_width": 3}, 3),
    "EOS, never, short texts, top-p": (
        ENDING,
        EARLY | {"top_k": 5, "top_p": 0.97, "early_stopping": "never", "length_penalty": -0.5},
        3,
    ),
    "no drafts": (SEEN, {"draft_depth": 0, "width": 3}, 1),
    "copied": (COPYING, {}, 3),
}
NAMED = {
    "replacement", "min_width", "max_width", "forest", *(name for _, changes, _ in RUNS.values() for name in changes)
}  # fmt: skip
RUNS["all other settings"] = (SEEN, {name: OTHER[name] for name in SPREAD if name not in NAMED}, 3)


@pytest.mark.parametrize(
    ("replacement", "inputs"), [(True, TWO_INPUTS), (False, TWO_SINGLE_INPUTS)], ids=["independent", "distinct"]
)
def test_input_beams_of_unequal_weight(replacement: bool, inputs: tuple[Weighted, ...]) -> None:
    """Catches input multiplicities or log-weights that are lost, or warped twice, on the way into the first layer."""
    case = Case(SEEN, settings(replacement=replacement, temperature=0.7, cover_width=1), inputs)
    assert total_variation(run_distribution(case, 2), plain_distribution(case, 2)) <= EXACT
    assert worst_layers(case, [2])[0][0] <= EXACT


TREES = {
    "<2,2>": (SEEN, (2, 2), {}),
    "<3,1>": (SEEN, (3, 1), {}),
    "<2,2>, EOS": (ENDING, (2, 2), {"top_k": 0}),
    "<3,1>, EOS, top-k two": (ENDING, (3, 1), {"top_k": 2, "temperature": 1.4}),
    "<1,1,2>": (UNRELATED, (1, 1, 2), {"top_k": 0}),
    "<2,2>, greedy": (SEEN, (2, 2), {"temperature": 0.0}),
    "<2,2>, copied": (COPYING, (2, 2), {}),
    "<1,3>, greedy, EOS": (ENDING, (1, 3), {"temperature": 0.0}),
}


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("name", [*RUNS, *TREES])
def test_fixed_width_is_beam_sampling(name: str, replacement: bool) -> None:
    """Catches any error of acceptance, residual, recovery, landing or multiplicity that changes the output's
    distribution.
    """
    if name in RUNS:
        tables, changes, layers = RUNS[name]
        case = Case(tables, settings(replacement=replacement, **changes))
    else:
        tables, branching, changes = TREES[name]
        values = {"branching": branching, "top_k": 2, "replacement": replacement, **changes}
        case, layers = Case(tables, resolve(DecodingSettings(method="specinfer", **values))), len(branching) + 1
    distribution = run_distribution(case, layers)
    assert math.fsum(distribution.values()) == pytest.approx(1.0, abs=EXACT)
    assert total_variation(distribution, plain_distribution(case, layers)) <= EXACT


LAYERS = {
    "dynamic": (SEEN, {"cover_width": 1, "top_k": 3}, (1, 2, 3)),
    "dynamic, landing off": (SEEN, {"landing": False, "top_k": 3}, (2, 3)),
    "dynamic, EOS": (ENDING, {"cover_width": 1}, (2, 3)),
    "dynamic, top-p, cool": (SEEN, {"top_k": 0, "top_p": 0.85, "temperature": 0.7}, (2,)),
    "three drafts": (TWO_TOKENS, {"draft_width": 3, "temperature": 1.3, "top_k": 3}, (1, 2)),
    "threshold zero": (SEEN, {"width_threshold": 0.0, "top_k": 3}, (1, 2, 3)),
    "threshold one": (SEEN, {"width_threshold": 1.0}, (1, 2, 3)),
    "unrelated draft": (UNRELATED, {"cover_width": 2, "top_k": 3}, (2, 3)),
    "draft is target": (EQUAL, {"width_threshold": 0.9, "top_k": 3}, (1, 2, 3)),
    "copied": (COPYING, {"top_k": 3}, (1, 2)),
}


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_given_all_above_a_layer_is_width_draws_from_the_target(name: str, replacement: bool) -> None:
    """Catches a width, or a decision to go on, that looks at drafts or uniforms it must not see."""
    tables, changes, layers = LAYERS[name]
    changes = {"min_width": 1, "max_width": 3, "width_threshold": 0.5, "replacement": replacement, **changes}
    for distance, conditions, _ in worst_layers(Case(tables, settings(**changes)), layers):
        assert distance <= EXACT
        assert conditions >= 1


@pytest.mark.parametrize(("threshold", "widths"), [(0.4, {1, 2}), (1.0, {1})])
def test_the_threshold_steers_the_widths(threshold: float, widths: set[int]) -> None:
    """Catches a dynamic case that exercises one width only, and a threshold that does not steer it."""
    chosen = settings(top_k=3, min_width=1, max_width=3, width_threshold=threshold)
    [(distance, _, seen)] = worst_layers(Case(SEEN, chosen), [2])
    assert distance <= EXACT
    assert seen == widths


def test_oracle_against_brute_force() -> None:
    """Catches an oracle that is wrong itself: three layers of single paths, multiplied out."""
    case = Case(SEEN, settings(width=1, draft_depth=0, top_k=0))
    distribution = plain_distribution(case, 3)
    for path in product(range(3), repeat=3):
        expected = math.prod(case.tables.next_token["target"](path[:number])[path[number]] for number in range(3))
        assert distribution[(), ((path, 1),)] == pytest.approx(expected, abs=EXACT)
    two = sequences([((0,), 0.5), ((1,), 0.3), ((2,), 0.2)], 2, case.warp._replace(replacement=False))
    assert two[(0,), (1,)] == pytest.approx(0.5 * 0.3 / 0.5)
    assert two[(2,), (0,)] == pytest.approx(0.2 * 0.5 / 0.8)


class Fixed(Tables):
    """The same next-token table on every path."""

    def __init__(self, target: list[float], draft: list[float]) -> None:
        super().__init__(0, len(target))
        self.next_token = {"target": lambda path: target, "draft": lambda path: draft}


class Going(Tables):
    """The first token is 0 or 1; 0 goes on in five ways, 1 in one, which is then the likeliest path of two tokens."""

    def __init__(self) -> None:
        super().__init__(0, 6)

    def _target(self, path: tuple[int, ...]) -> list[float]:
        if not path:
            return [0.7, 0.3, 0.0, 0.0, 0.0, 0.0]
        return [0.0, 0.0, 1.0, 0.0, 0.0, 0.0] if path[-1] else [0.0, 0.21, 0.2, 0.2, 0.2, 0.19]

    def rows(self, nodes: Sequence[Node]) -> list[TopTokens]:
        return rows_of([self._target(path_of(node)) for node in nodes])


PEAKS = [
    ([1 - rest, 0.9 * rest, 0.1 * rest], [1 - rest, 0.5 * rest, 0.5 * rest]) for rest in (1e-6, 1e-13, 1e-16, 1e-30)
]
DEEP = ([0.1, 0.4, 0.3, 0.2], [1.0, 1e-100, 1e-200, LEAST_DRAFT_PROB])
PEAKED = [
    *((*peaks, {"replacement": replacement}) for peaks in PEAKS for replacement in (True, False)),
    *((*DEEP, {"draft_width": 4, "width": width, "replacement": False}) for width in (1, 2)),
]


@pytest.mark.parametrize(("target", "draft", "changes"), PEAKED)
def test_peaked_distributions(target: list[float], draft: list[float], changes: dict) -> None:
    """Catches Q less the earlier drafts computed as 1 minus their mass (nothing is left of it at 1e-16), and a quotient
    by what is left of Q that loses its digits, or overflows, after likely drafts are rejected."""
    case = Case(Fixed(target, draft), settings(draft_depth=1, top_k=0, **changes))
    assert worst_layers(case, [1])[0][0] <= EXACT


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("forest", ["sampled", "coupled"])
@pytest.mark.parametrize("temperature", [2e-3, 1e-3, 1e-5, 1e-300, 1e-310])
def test_without_replacement_the_cold_is_as_wide_as_temperature_zero(temperature: float, forest: str) -> None:
    """Catches beams that are lost because their probability underflows, though they are all that is left."""
    texts = []
    for cold in (0.0, temperature):
        chosen = settings(temperature=cold, replacement=False, top_k=0, width=2, draft_depth=0, forest=forest)
        noise = Noise(0, [0], toy.ROOT)
        beams = [Beam(toy.ROOT, 0.0)]
        for _ in range(2):
            [layer] = verify(Forest(beams, []), Going().rows, chosen, frozenset(), Uniforms([0.5, 0.5]), noise)
            beams = layer.living
            numbers = [number for draw in layer.draws for number in (draw.c, draw.S, draw.cdf_low, draw.cdf_high)]
            assert all(number is None or math.isfinite(number) for number in numbers)
        texts.append([(beam.node.token_ids(), beam.multiplicity) for beam in beams])
    assert texts[0] == texts[1] == [([1, 2], 1), ([0, 1], 1)]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("temperature", [1e-3, 1e-5])
def test_a_draft_whose_probability_underflows_is_tried_once_it_is_the_best_left(temperature: float) -> None:
    """Catches a residual that is 0/0 after all that had a probability is accepted."""
    chosen = settings(temperature=temperature, replacement=False, top_k=0, width=2, draft_depth=1)
    first, second = toy.ROOT.child(0), toy.ROOT.child(1)
    distribution = DraftDistribution([toy.ROOT], np.zeros(2, dtype=int), np.arange(2), np.array([0.5, 0.5]))
    forest = Forest([Beam(toy.ROOT, 0.0)], [ForestLayer([first, second], [0.5, 0.5], [], distribution)])
    layers = verify(forest, Going().rows, chosen, frozenset(), Uniforms([0.5] * 20))
    assert [(trial.verdict, trial.acceptance) for trial in layers[0].trials] == [("accepted", 1.0), ("accepted", 1.0)]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("probs", "log_weight", "temperature", "expected"),
    [
        ([0.999, 9e-4, 1e-4], 0.0, 0.01, [1.0, 5e-305]),  # the third underflows: it could never be drawn
        ([0.75, 0.25], -5000.0, 1.0, [0.75, 0.25]),  # after 700 unlikely tokens every beam is that far down
        *(([0.5, 0.3, 0.2], -2.0, cold, [1.0]) for cold in (1e-100, 1e-310)),
        ([0.5, 0.3, 0.2], -2.0, 100.0, [0.3349, 0.3332, 0.3319]),
    ],
)
def test_a_distribution_holds_what_can_be_drawn(probs, log_weight, temperature, expected) -> None:
    """Catches candidates of probability 0 in the support, or dropped by their log-weight alone, and a temperature that
    makes the distribution no number."""
    chosen = ResolvedSettings(temperature=temperature, top_k=0)
    distribution = joint_distribution([TopTokens(np.arange(len(probs)), np.log(probs))], [log_weight], [1], chosen)
    assert distribution.probs.tolist() == pytest.approx(expected, abs=1e-4)
    assert (distribution.probs > 0).all()
