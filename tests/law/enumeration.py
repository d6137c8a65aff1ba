"""Every run of the shipped ``dsbd.law.verify.verify`` on a table model, with its probability.

Draft draws are enumerated under Q, verification by branching in the :class:`Choices` it is given. Runs that
reach the same beams by different verdicts are merged at the end of a layer.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

import dsbd.law.verify
from dsbd.law.beams import Beam, Node
from dsbd.law.choices import DrawnPair
from dsbd.law.verified import VerifiedLayer
from tests.law.drafted import Case, DraftedRun, forests, path_of
from tests.law.oracle import (
    Multiset,
    Path,
    Process,
    likely_forest_width_of,
    sequences,
    total_variation,
    width_of,
)


class _Branching:
    """Choices by a script of decisions; beyond its end the first possible one, the others being noted.

    Below layer ``until`` the first possible one is taken, and nothing is noted.
    """

    def __init__(self, script: Sequence[int], until: float) -> None:
        self.script, self.until = script, until
        self.asked: list[Sequence[Node]] = []
        """The alive beams of every layer that was entered."""
        self.taken: list[int] = []
        self.chances: list[float] = []
        self.others: list[Sequence[int]] = []

    def _choose(self, possible: Sequence[tuple[int, float]]) -> int:
        if len(self.asked) > self.until:
            return possible[0][0]
        place = len(self.taken)
        if place < len(self.script):
            possible = [option for option in possible if option[0] == self.script[place]]
        chosen, probability = possible[0]
        self.others.append([option for option, _ in possible[1:]])
        self.taken.append(chosen)
        self.chances.append(probability)
        return chosen

    def accept(self, probability: float) -> tuple[bool, float]:
        options = ((1, probability), (0, 1.0 - probability))
        return bool(self._choose([option for option in options if option[1] > 0])), 0.0

    def draw(self, masses) -> DrawnPair:
        return DrawnPair(self._choose(_normalised(masses.tobytes())), 0.0, 0.0, 0.0)


@lru_cache(100_000)
def _normalised(masses: bytes) -> list[tuple[int, float]]:
    """The indices that can be drawn, with their probabilities."""
    values = np.frombuffer(masses).tolist()
    total = math.fsum(values)
    return [(index, mass / total) for index, mass in enumerate(values) if mass > 0]


class Leaf(NamedTuple):
    """One way verification can go: its probability given the first decisions, all decisions, and its layers."""

    probability: float
    taken: list[int]
    layers: list[VerifiedLayer]


def leaves(run: DraftedRun, case: Case, first: Sequence[int] = (), until: float = math.inf) -> Iterator[Leaf]:
    """Every way the layers down to ``until`` can go after the ``first`` decisions."""
    scripts: list[Sequence[int]] = [first]
    while scripts:
        script = scripts.pop()
        branch = _Branching(script, until)

        def next_tokens(nodes, branch=branch):
            if nodes not in branch.asked:  # a layer that Q cannot reach is entered twice
                branch.asked.append(nodes)
            return run.next_tokens(nodes)

        layers = dsbd.law.verify.verify(run.forest, next_tokens, case.settings, case.tables.eos, branch)
        yield Leaf(math.prod(branch.chances[len(first) :]), branch.taken, layers)
        for place in range(len(script), len(branch.taken)):
            scripts += [[*branch.taken[:place], other] for other in branch.others[place]]


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


def steps(run: DraftedRun, case: Case, until: int) -> list[Step]:
    """Every way the first ``until`` layers of a forest's verification can go."""
    found: list[Step] = []
    states: dict[tuple[Multiset, ...], tuple[float, Sequence[int]]] = {(): (run.probability, ())}
    for number in range(1, until + 1):
        following: dict[tuple[Multiset, ...], tuple[float, Sequence[int]]] = {}
        for mass, first in states.values():
            for leaf in leaves(run, case, first, number):
                step = _step(mass * leaf.probability, leaf.layers, number)
                found.append(step)
                if not step.ended:
                    key = (*step.history, step.beams)
                    known, _ = following.get(key, (0.0, ()))
                    following[key] = (known + step.probability, leaf.taken)
        states = following
    return found


def slots_of(layer: VerifiedLayer) -> tuple[Path, ...]:
    """Beams of a layer, one per slot: accepted drafts in their order, then what was drawn."""
    accepted = [path_of(trial.node) for trial in layer.trials if trial.verdict == "accepted"]
    return (*accepted, *(path_of(draw.node) for draw in layer.draws))


def _beams(beams: Sequence[Beam]) -> Multiset:
    return tuple(sorted((path_of(beam.node), beam.multiplicity) for beam in beams))


def _step(probability: float, layers: Sequence[VerifiedLayer], number: int) -> Step:
    history = tuple(_beams(layer.beams) for layer in layers[: number - 1])
    if len(layers) < number:
        return Step(probability, history, None, (), _beams(layers[-1].living), True)
    layer = layers[number - 1]
    return Step(probability, history, slots_of(layer), _beams(layer.beams), _beams(layer.living), not layer.continues)


def run_law(case: Case, layers: int) -> dict:
    """Law over (finished, alive) after ``layers`` layers, runs that end earlier being completed by plain draws."""
    process, law = case.process(), defaultdict(float)
    for run in forests(case, process):
        for step in steps(run, case, layers):
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
        worst = max(worst, total_variation(completed, expected))
        widths.add(width)
    return worst, len(conditions), widths
