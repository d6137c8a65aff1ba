"""Every run of the shipped ``dsbd.law.verify.verify`` on a table model, with its probability.

Draft draws are enumerated under Q, verification by branching in the :class:`Choices` it is given. Runs that
reach the same beams by different verdicts are merged at the end of a layer (``merge=False`` does not).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import numpy as np

import dsbd.law.verify
from dsbd.law.beams import Beam
from dsbd.law.choices import DrawnPair
from dsbd.law.verified import VerifiedLayer
from tests.law.drafted import Case, DraftedRun, forests, path_of
from tests.law.oracle import (
    Multiset,
    Path,
    Process,
    likely_forest_width_of,
    sequences,
    width_of,
)


class _StopError(Exception):
    """A layer is complete, and what follows is explored from its beams."""


class _Branching:
    """Choices by a script of decisions; beyond its end the first possible one, the others being noted.

    ``above`` are the layers that the script's first decisions led to before: they are taken as they were entered and
    decided.
    """

    def __init__(self, script: Sequence[int], stop_after: int | None, above: "_Branching | None" = None) -> None:
        self.script, self.stop_after = script, stop_after
        self.entered = iter(() if above is None else above.states)
        self.decided = iter(() if above is None else above.layers)
        self.taken: list[int] = [] if above is None else list(above.taken)
        self.probabilities: list[float] = [1.0] * len(self.taken)
        self.others: list[Sequence[int]] = [()] * len(self.taken)
        self.states: list[dsbd.law.verify._State] = []
        self.layers: list[VerifiedLayer] = []
        self.goes_on = False
        """Verification would have gone on below the layer that it was stopped after."""

    @property
    def probability(self) -> float:
        return math.prod(self.probabilities)

    def _choose(self, possible: Sequence[tuple[int, float]]) -> int:
        place = len(self.taken)
        if place < len(self.script):
            chosen, probability = next(option for option in possible if option[0] == self.script[place])
            self.others.append(())
        else:
            chosen, probability = possible[0]
            self.others.append([option for option, _ in possible[1:]])
        self.taken.append(chosen)
        self.probabilities.append(probability)
        return chosen

    def accept(self, probability: float) -> tuple[bool, float]:
        options = ((1, probability), (0, 1.0 - probability))
        return bool(self._choose([option for option in options if option[1] > 0])), 0.0

    def draw(self, masses) -> DrawnPair:
        return DrawnPair(self._choose(_normalised(masses.tobytes())), 0.0, 0.0, 0.0)

    def layer_done(self, layer: VerifiedLayer) -> None:
        self.layers.append(layer)
        if self.stop_after is not None and len(self.layers) == self.stop_after:
            raise _StopError


@lru_cache(100_000)
def _normalised(masses: bytes) -> list[tuple[int, float]]:
    """The indices that can be drawn, with their probabilities."""
    values = np.frombuffer(masses).tolist()
    total = math.fsum(values)
    return [(index, mass / total) for index, mass in enumerate(values) if mass > 0]


class _Reporting(dsbd.law.verify._Verifier):
    """Tells the choices of every layer it has entered and every draft layer it has decided; decides nothing itself."""

    def enter(self, *args) -> dsbd.law.verify._State:
        state = next(self.choices.entered, None) or super().enter(*args)
        self.choices.states.append(state)
        return state

    def draft_layer(self, *args) -> VerifiedLayer:
        layer = next(self.choices.decided, None) or super().draft_layer(*args)
        self.choices.layer_done(layer)
        return layer


class Step(NamedTuple):
    """One way a layer can go, given the beams of the layers above."""

    probability: float
    history: tuple[Multiset, ...]
    """Beams of the layers above."""
    slots: tuple[Path, ...] | None
    """What the layer drew, accepted drafts first; None where verification ended without this layer."""
    beams: Multiset
    living: Multiset
    ended: bool
    """Verification ends with this layer."""


def steps(run: DraftedRun, case: Case, until: int, merge: bool = True) -> list[Step]:
    """Every way the first ``until`` layers of a forest's verification can go."""
    found: list[Step] = []
    states: dict[tuple[Multiset, ...], tuple[float, _Branching | None]] = {(): (run.probability, None)}
    with _reporting():
        for number in range(1, until + 1):
            following: dict[tuple[Multiset, ...], tuple[float, _Branching | None]] = {}
            for history, (mass, above) in states.items():
                for branch in leaves(run, case, above, number if merge else None):
                    probability = mass * branch.probability
                    if merge:
                        step = _step(probability, history, branch, number)
                        found.append(step)
                        if not step.ended and number < until:
                            key = (*history, step.beams)
                            known = following.get(key)
                            following[key] = (probability + (known[0] if known else 0.0), branch)
                    else:
                        found += _unmerged(probability, branch.layers, until)
            states = following
    return found


@contextmanager
def _reporting() -> Iterator[None]:
    """Verification reports its layers."""
    before, dsbd.law.verify._Verifier = dsbd.law.verify._Verifier, _Reporting
    try:
        yield
    finally:
        dsbd.law.verify._Verifier = before


def leaves(
    run: DraftedRun, case: Case, above: _Branching | None = None, stop_after: int | None = None
) -> Iterator[_Branching]:
    """Every way verification can go below the layers that ``above`` decided."""
    scripts: list[list[int]] = [[] if above is None else above.taken]
    while scripts:
        script = scripts.pop()
        branch = _Branching(script, stop_after, above)
        try:
            shipped = dsbd.law.verify.verify
            branch.layers = shipped(run.forest, run.next_tokens, case.settings, case.tables.eos, branch)
        except _StopError:
            branch.goes_on = branch.layers[-1].continues
        yield branch
        for place in range(len(script), len(branch.taken)):
            scripts += [[*branch.taken[:place], other] for other in branch.others[place]]


def slots_of(layer: VerifiedLayer) -> tuple[Path, ...]:
    """Beams of a layer, one per slot: accepted drafts in their order, then what was drawn."""
    accepted = [path_of(trial.node) for trial in layer.trials if trial.verdict == "accepted"]
    return (*accepted, *(path_of(draw.node) for draw in layer.draws))


def _beams(beams: Sequence[Beam]) -> Multiset:
    return tuple(sorted((path_of(beam.node), beam.multiplicity) for beam in beams))


def _step(probability: float, history: tuple[Multiset, ...], branch: _Branching, number: int) -> Step:
    if len(branch.layers) < number:
        return Step(probability, history, None, (), _beams(branch.layers[-1].living), True)
    layer = branch.layers[number - 1]
    return Step(probability, history, slots_of(layer), _beams(layer.beams), _beams(layer.living), not branch.goes_on)


def _unmerged(probability: float, layers: Sequence[VerifiedLayer], until: int) -> list[Step]:
    last = min(len(layers), until)
    history = tuple(_beams(layer.beams) for layer in layers[: last - 1])
    final = layers[last - 1]
    return [Step(probability, history, slots_of(final), _beams(final.beams), _beams(final.living), True)]


def drawn_layer(case: Case) -> dict[tuple[Path, ...], float]:
    """Law of the ordered slots of the only layer of an iteration that drafts nothing."""
    law: dict[tuple[Path, ...], float] = defaultdict(float)
    for run in forests(case, case.process()):
        for branch in leaves(run, case):
            (layer,) = branch.layers
            assert not layer.trials
            law[slots_of(layer)] += run.probability * branch.probability
    return dict(law)


def run_law(case: Case, layers: int, merge: bool = True) -> dict:
    """Law over (finished, alive) after ``layers`` layers, runs that end earlier being completed by plain draws."""
    process, law = case.process(), defaultdict(float)
    for run in forests(case, process):
        for step in steps(run, case, layers, merge):
            decided = len(step.history) + (step.slots is not None)
            if not step.ended and decided < layers:
                continue
            beams = [entry for layer in (*step.history, step.beams) for entry in layer]
            ended = tuple(entry for entry in beams if process.ends(entry[0]))
            for (finished, alive), mass in process.after(
                step.living, layers - decided, case.settings.max_width
            ).items():
                law[tuple(sorted(ended + finished)), alive] += step.probability * mass
    return dict(law)


def plain_law(case: Case, layers: int) -> dict:
    """What :func:`run_law` must equal: beam sampling of a fixed width from the input beams."""
    alive = tuple((beam.path, beam.multiplicity) for beam in case.inputs)
    return case.process().after(alive, layers, case.settings.max_width)


def worst_layer(case: Case, number: int) -> tuple[float, int, set[int]]:
    """What :func:`worst_layers` says of one layer."""
    return worst_layers(case, [number])[0]


def worst_layers(case: Case, numbers: Sequence[int]) -> list[tuple[float, int, set[int]]]:
    """Largest distance of a layer's ordered slots from ``width`` draws of the target's law, given all that is above.

    Given are the drafts and the beams of every layer above; where verification ended above, the layer is completed
    by plain draws. Returns the distance, how many conditions were met, and the widths seen, of each layer asked for.
    """
    process = case.process()
    laws: dict[int, dict] = {number: defaultdict(lambda: defaultdict(float)) for number in numbers}
    conditions: dict[int, dict] = {number: {} for number in numbers}
    for run in forests(case, process):
        for step in steps(run, case, max(numbers)):
            above, decided = len(step.history), len(step.history) + (step.slots is not None)
            if decided > above and above + 1 in laws:
                key = (run.drafts[:above], step.history)
                laws[above + 1][key][step.slots] += step.probability
                conditions[above + 1][key] = run
            if step.ended and decided and decided + 1 in laws:
                history = step.history if step.slots is None else (*step.history, step.beams)
                laws[decided + 1][run.drafts[:decided], history][None] += step.probability
    return [_compare(case, process, laws[number], conditions[number], number) for number in numbers]


def _compare(case: Case, process: Process, laws, conditions, number: int) -> tuple[float, int, set[int]]:
    worst, widths = 0.0, set()
    for key, law in laws.items():
        if key not in conditions:
            continue  # never reached: completed by plain draws alone
        history = key[1]
        inputs = tuple((beam.path, beam.multiplicity) for beam in case.inputs)
        alive = process.living(history[-1]) if history else inputs
        target = process.target_law(alive)
        run = conditions[key]
        draft_law = list(run.draft_laws[number - 1]) if number <= len(run.draft_laws) else []
        if case.settings.forest == "likely":
            nodes = [path_of(node) for node in run.forest.layers[number - 1].covers] if draft_law else []
            on_alive = [path for path in nodes if path[:-1] in dict(alive)]
            width = likely_forest_width_of(target, on_alive, case.widths, case.warp)
        else:
            on_alive = [path for path, _ in draft_law if path[:-1] in dict(alive)]
            width = width_of(target, draft_law, case.widths, case.warp)
        width = width if on_alive else case.settings.max_width
        expected = sequences(target, width, case.warp)
        total = math.fsum(law.values())
        completed = {slots: mass / total for slots, mass in law.items() if slots is not None}
        for slots, probability in expected.items():
            completed[slots] = completed.get(slots, 0.0) + law.get(None, 0.0) / total * probability
        distance = 0.5 * math.fsum(
            abs(completed.get(slots, 0.0) - expected.get(slots, 0.0)) for slots in completed.keys() | expected.keys()
        )
        worst = max(worst, distance)
        widths.add(width)
    return worst, len(conditions), widths
