"""Every variant that the law calls wrong is caught by the enumeration that the shipped code passes.

A mutant is the shipped code with one piece of its text replaced. Single-line mistakes that the other tests of a file
catch are listed in ``benchmarks/planted_faults.json``.
"""

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

import pytest

from dsbd.law import block, laws, verify, width
from dsbd.settings import ResolvedSettings
from tests.law.drafted import Case, forests
from tests.law.enumeration import leaves, plain_law, run_law, worst_layer
from tests.law.oracle import Tables, total_variation
from tests.law.test_drawn_widths import CHANCE, RULE, distance_of_drawn
from tests.law.test_enumeration import EXACT, FAR, SEEN, UNRELATED, chain, settings, tree

TRIED = "for order, (node, draft_prob) in enumerate(zip(drafted.drafts, drafted.draft_probs, strict=True)):"
TRIED_ONCE = "for order, (node, draft_prob) in enumerate(dict(zip(drafted.drafts, drafted.draft_probs)).items()):"
GAINS = "        residual, gains = state.residual, self._gains(drafted)"
SHUFFLED = """
        if self.choices.accept(0.5)[0]:
            drafted = replace(drafted, drafts=drafted.drafts[::-1], draft_probs=drafted.draft_probs[::-1])
"""
PLANNED = "drafts = len(drafted.drafts) if"
M_ALIVE = "drafts = sum(node.parent in state.places for node in drafted.drafts) if"
M_DISTINCT = "drafts = len(set(drafted.drafts)) if"
INDEPENDENT = "settings.replacement or drafted.law.ranked"
LANDED = """            outcome = "landed" if self.settings.landing and all_land else "short"\n"""
ONLY_LANDED = """
            lost = {draw.node for draw in draws if not draw.landed}
            kept = [beam for beam in living if beam.node not in lost]
            living, outcome = (kept, "landed") if kept else (living, "short")
"""
DECIDED = "        decided.append(verifier.draft_layer(state, drafted))\n"
STOPPED = """
        if decided and not any(node.parent in state.places for node in drafted.drafts):
            return decided
"""
FILLED = """        draws = self._draw(state, width.width - len(accepted), "fresh")\n"""
MORE = """
        if all(draw.landed for draw in draws):
            draws += self._draw(state, 1, "fresh")
"""
BONUS = """        draws = self._draw(state, count, "bonus")\n"""
WHILE = """        while len(draws) < self.settings.max_width and {}:
            draws += self._draw(state, 1, "bonus")
"""
COUNTS = "[beam.multiplicity for beam in alive],"
WARPED = "[beam.multiplicity ** (1 / self.settings.temperature) for beam in alive],"
WEIGHT = "float(state.law.log_weights[index]), count)"
HEAVIER = "float(state.law.log_weights[index]) + math.log(count), count)"


def whole_run(case: Case, layers: int) -> float:
    return total_variation(run_law(case, layers, merge=case.settings.verification == "token"), plain_law(case, layers))


def one_layer(case: Case, number: int) -> float:
    return worst_layer(case, number)[0]


def drawn(case: Case, number: int) -> float:
    return distance_of_drawn(case)


def accepted_counts(case: Case, number: int) -> float:
    """Distance of the expected law of the number of accepted drafts of layer 1 from the enumerated one."""
    enumerated, expected = defaultdict(float), dict[int, float]()
    for run in forests(case, case.process()):
        for branch in leaves(run, case):
            layer = branch.layers[0]
            accepted = sum(trial.verdict == "accepted" for trial in layer.trials)
            enumerated[accepted] += run.probability * branch.probability
            expected = dict(enumerate(layer.width.numbers.distribution))
    return total_variation(enumerated, expected)


class Mutant(NamedTuple):
    rule: str
    module: ModuleType
    old: str
    new: str
    check: Callable[[Case, int], float]
    case: Case
    layers: int
    bound: float


def fixed(tables: Tables = SEEN, **changes) -> Case:
    return Case(tables, settings(**changes))


def dynamic(tables: Tables = SEEN, **changes) -> Case:
    return Case(tables, settings(**{"min_width": 1, "max_width": 3, "width_threshold": 0.5, **changes}))


def ruled(method: dict) -> Case:
    return Case(SEEN, ResolvedSettings(top_k=4, **method | {"draft_width": 3}))


HEAVY = fixed(Tables(7, 2, likeness=0.1), width=3, draft_width=1, cover_width=1, temperature=0.6, top_k=0)
DISTINCT = fixed(FAR, replacement=False, draft_depth=1, width=2, draft_width=3, top_k=0)
TREE = tree(Tables(1, 3, likeness=0.1), (2,), top_k=0, replacement=False)
BLOCK, LONG_BLOCK = (chain(UNRELATED, depth, "block", top_k=0) for depth in (2, 3))
LIKELY = fixed(forest="likely", draft_width=3)
COVERED = fixed(FAR, cover_width=1)
RATIO, RESIDUAL, GAIN = "min(1.0, left / draft_prob)", "self.choices.draw(residual.masses())", "gain = gains[order]"
TAKE = "        self.c, self.S = 0.0, self._whole"
EQUAL_DRAW, LIKELY_DRAW = "draws[-1].node is draws[0].node", "draws[-1].target_prob > 0.3"
MUTANTS = [
    Mutant("the ratio is P'/Q", verify, RATIO, "min(1.0, draft_prob / max(left, 1e-300))", one_layer, fixed(), 1, 0.05),
    Mutant("no epsilon", verify, RATIO, "min(1.0, left / (draft_prob + 1e-6))", one_layer, fixed(), 1, 1e-8),
    Mutant("reset when accepted", laws, "        self.take(index)", "        pass", one_layer, fixed(FAR), 1, 0.02),
    Mutant("one recovered", laws, TAKE, "        self.S = self._excess(self.c).sum()", one_layer, fixed(FAR), 1, 0.02),
    Mutant("one from P'", verify, RESIDUAL, "self.choices.draw(residual._target)", one_layer, fixed(FAR), 1, 0.02),
    Mutant("Q not renormalised", verify, GAIN, GAIN + " / state.draft_mass", one_layer, fixed(), 2, 0.05),
    Mutant("Q not renormalised", verify, GAIN, GAIN + " / state.draft_mass", whole_run, fixed(FAR), 2, 1e-3),
    Mutant("orphans are rejected", verify, "residual.reject(None, gain)", "pass", one_layer, fixed(), 2, 0.02),
    Mutant("every draw is tried", verify, TRIED, TRIED_ONCE, one_layer, fixed(FAR), 1, 0.01),
    Mutant("slots", verify, GAIN, GAIN + " / drafted.drafts.count(node)", one_layer, fixed(FAR, width=2), 2, 0.01),
    Mutant("Q_k", verify, INDEPENDENT, "settings", one_layer, DISTINCT, 1, 0.02),
    Mutant("Q_k of siblings", verify, INDEPENDENT, "settings", whole_run, TREE, 2, 0.1),
    Mutant("siblings in order", verify, GAINS, SHUFFLED + GAINS, whole_run, TREE, 2, 0.05),
    Mutant("s / (s + 1 - p)", block, "rest, acceptance))", "rest, probability))", whole_run, BLOCK, 3, 0.01),
    Mutant("p P - Q", verify, "gain=1.0 / before", "gain=1.0", whole_run, LONG_BLOCK, 4, 5e-4),
    Mutant("longest first", block, "reversed(range(len(tried)))", "range(len(tried))", whole_run, BLOCK, 3, 0.01),
    Mutant("Q_k without earlier", laws, "self._draft[self._drafted] = 0.0", "pass", one_layer, DISTINCT, 1, 1e-3),
    Mutant("accepted leaves P", laws, "self._removed.append(index)", "pass", one_layer, DISTINCT, 1, 0.1),
    Mutant("m counts orphans", verify, PLANNED, M_ALIVE, one_layer, dynamic(FAR, landing=False), 2, 0.1),
    Mutant("m counts duplicates", verify, PLANNED, M_DISTINCT, one_layer, dynamic(), 1, 0.1),
    Mutant("all must land", verify, LANDED, ONLY_LANDED, whole_run, COVERED, 2, 0.02),
    Mutant("all must land, likely", verify, LANDED, ONLY_LANDED, whole_run, LIKELY, 2, 0.02),
    Mutant("later drafts do not stop it", verify, DECIDED, STOPPED + DECIDED, one_layer, fixed(), 2, 0.01),
    Mutant("draws do not widen it", verify, FILLED, FILLED + MORE, one_layer, LIKELY, 1, 0.02),
    Mutant("multiplicity after 1/T", verify, COUNTS, WARPED, whole_run, HEAVY, 2, 5e-3),
    Mutant("multiplicity counts", verify, COUNTS, "[1 for beam in alive],", whole_run, HEAVY, 2, 5e-3),
    Mutant("it is not inherited", verify, WEIGHT, HEAVIER, whole_run, HEAVY, 2, 5e-3),
    Mutant("Q subtracted once", width, "c[-1] * draft_probs", "2.0 * c[-1] * draft_probs", accepted_counts,
           fixed(FAR, draft_depth=1), 1, 0.02),
    *(
        Mutant(f"{name} of {method['method']}", verify, BONUS, new, drawn, ruled(method), 1, 0.02)
        for method in (RULE, CHANCE)
        for name, new in {
            "equal draws do not widen": BONUS + WHILE.format(EQUAL_DRAW),
            "likely draws do not widen": BONUS + WHILE.format(LIKELY_DRAW),
            "equal draws do not narrow": BONUS + "        draws = draws[: len({draw.node for draw in draws})]\n",
            "the width is not the largest": BONUS.replace("count", "self.settings.max_width"),
        }.items()
    ),
]  # fmt: skip


def codes_of(code: CodeType, above: str = "") -> Iterator[tuple[str, CodeType]]:
    """Yield the name and the code of every function and class in a piece of code."""
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield above + inner.co_name, inner
            yield from codes_of(inner, f"{above}{inner.co_name}.")


def plant(mutant: Mutant, patch: pytest.MonkeyPatch) -> None:
    """Give every function of the module the code of the changed text."""
    text = inspect.getsource(mutant.module)
    assert text.count(mutant.old) == 1
    changed = compile(text.replace(mutant.old, mutant.new), mutant.module.__file__, "exec")
    for name, code in codes_of(changed):
        try:
            function = attrgetter(name)(mutant.module)
        except AttributeError:  # a function in a function belongs to the code of the outer one
            continue
        if isinstance(function, FunctionType):
            patch.setattr(function, "__code__", code)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.rule}-{mutant.check.__name__}")
def test_mutant_is_caught(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a check that would pass a wrong variant: the shipped code passes it, the mutant must not."""
    assert mutant.check(mutant.case, mutant.layers) <= EXACT
    plant(mutant, monkeypatch)
    assert mutant.check(mutant.case, mutant.layers) > mutant.bound
