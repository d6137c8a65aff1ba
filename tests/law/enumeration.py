"""Every run of the shipped ``dsbd.law.verify.verify`` on a table model, with its probability.

Draft draws are enumerated under Q, verification by branching in the :class:`Choices` it is given. Runs that
reach the same beams by different verdicts are merged at the end of a layer (``merge=False`` does not).

The forests of a case differ in their drafts only, so they share nodes, next tokens and draft laws, and what the shipped
code computes from equal arguments (joint laws, restricted draft laws, widths) is computed once (:class:`_Shared`).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

import dsbd.law.verify
from dsbd.law.beams import Beam, Node
from dsbd.law.choices import DrawnPair
from dsbd.law.forest import DraftLaw, Forest, ForestLayer
from dsbd.law.laws import TopTokens
from dsbd.law.verify import VerifiedLayer
from dsbd.settings import ResolvedSettings
from tests.law.oracle import (
    Multiset,
    Path,
    Process,
    Tables,
    Warp,
    Weighted,
    Widths,
    landing_width_of,
    multiset,
    sequences,
    width_of,
)

ROOT = (Weighted((), 0.0, 1),)


@dataclass(frozen=True)
class Case:
    """A table model, the beams an iteration starts from, and settings."""

    tables: Tables
    settings: ResolvedSettings
    inputs: tuple[Weighted, ...] = ROOT
    firsts: tuple[tuple[int, ...], ...] | None = None
    """Only these token sequences as the drafts of layer 1 (from the root); all where None."""

    @property
    def warp(self) -> Warp:
        chosen = self.settings
        return Warp(chosen.temperature, chosen.top_k, chosen.top_p, chosen.replacement)

    @property
    def widths(self) -> Widths:
        chosen = self.settings
        return Widths(chosen.draft_width, chosen.min_width, chosen.max_width, chosen.width_threshold)

    def process(self) -> Process:
        return Process(self.tables, list(self.inputs), self.warp)


class DraftedRun(NamedTuple):
    """One forest, what verification needs beside it, and how it came about."""

    probability: float
    forest: Forest
    rows: dict[Node, TopTokens]
    """Of the input beams and the unfinished forest nodes: verification may ask for no others."""
    drafts: tuple[tuple[Path, ...], ...]
    """Drawn pairs per layer, in order."""
    draft_laws: tuple[list[tuple[Path, float]], ...]
    shared: "_Shared"

    def next_tokens(self, nodes: Sequence[Node]) -> list[TopTokens]:
        return [self.rows[node] for node in nodes]


@lru_cache(100_000)
def path_of(node: Node) -> Path:
    return tuple(node.token_ids())


def forests(case: Case, process: Process) -> Iterator[DraftedRun]:
    """Every forest that the draft model can draw."""
    alive = tuple((beam.path, beam.multiplicity) for beam in case.inputs)
    drafted: list[tuple[Multiset, tuple[Path, ...], list[tuple[Path, float]], list[Path]]] = []
    shared = _Shared(case)

    def grow(parents: Multiset, probability: float) -> Iterator[DraftedRun]:
        if len(drafted) == case.settings.draft_depth:
            yield _build(shared, process, probability, drafted)
            return
        law = process.law(parents, "draft")
        if case.settings.forest == "likely":
            nodes = [path for path, _ in law][: case.settings.draft_width]
            drafted.append((parents, (), law, nodes))
            yield from grow(process.living(multiset(nodes)), probability)
            drafted.pop()
            return
        for drawn, mass in sequences(law, case.settings.draft_width if law else 0, case.warp).items():
            if case.firsts is not None and not drafted and tuple(path[-1] for path in drawn) not in case.firsts:
                continue
            left = [path for path, _ in law if path not in drawn and not process.ends(path)]
            drafted.append((parents, drawn, law, left[: case.settings.cover_width]))
            yield from grow(process.living(multiset(drawn)), probability * mass)
            drafted.pop()

    yield from grow(alive, 1.0)


class _Shared:
    """What the forests of one case have in common. Nothing here outlives one enumeration."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.nodes: dict[Path, Node] = {(): Node(None, -1, 0)}
        self.paths: dict[Node, Path] = {self.nodes[()]: ()}
        self._rows: dict[Path, TopTokens] = {}
        self._draft_laws: dict[Multiset, DraftLaw] = {}
        self._computed: dict = {}

    def node_at(self, path: Path) -> Node:
        if path not in self.nodes:
            self.nodes[path] = self.node_at(path[:-1]).child(path[-1])
            self.paths[self.nodes[path]] = path
        return self.nodes[path]

    def row(self, path: Path) -> TopTokens:
        if path not in self._rows:
            probs = self.case.tables.next_token["target"](path)
            order = sorted(range(len(probs)), key=lambda token: (-probs[token], token))
            order = order[: self.case.settings.top_k or None]
            log_probs = np.log(np.array([probs[token] for token in order]))
            self._rows[path] = TopTokens(np.array(order, dtype=np.int64), log_probs)
        return self._rows[path]

    def draft_law(self, above: Multiset, law: list[tuple[Path, float]]) -> DraftLaw:
        """Q of the layer below the beams ``above``."""
        if above not in self._draft_laws:
            chosen = self.case.settings
            parents = list(dict.fromkeys(path[:-1] for path, _ in law))
            places = np.array([parents.index(path[:-1]) for path, _ in law], dtype=np.int64)
            tokens = np.array([path[-1] for path, _ in law], dtype=np.int64)
            probs = np.array([mass for _, mass in law], dtype=np.float64)
            ranked = chosen.temperature == 0 and not chosen.replacement
            if ranked:
                probs[1:] = 0.0
            nodes = [self.node_at(path) for path in parents]
            self._draft_laws[above] = _SharedDraftLaw(nodes, places, tokens, probs, ranked, self)
        return self._draft_laws[above]

    def once(self, function: Callable, key: tuple, *arguments):
        """The value of ``function`` at ``arguments``, which ``key`` stands for."""
        key = (function, *key)
        if key not in self._computed:
            self._computed[key] = function(*arguments), arguments  # holds the arguments, so that no id is used twice
        return self._computed[key][0]

    def joint_law(self, shipped: Callable) -> Callable:
        def law(rows, log_weights, multiplicities, settings):
            key = (tuple(map(id, rows)), tuple(log_weights), tuple(multiplicities))
            return self.once(shipped, key, rows, log_weights, multiplicities, settings)

        return law

    def choose_width(self, shipped: Callable) -> Callable:
        def width(target_probs, draft_probs, drafts, support, settings):
            key = (target_probs.tobytes(), draft_probs.tobytes(), drafts, support)
            return self.once(shipped, key, target_probs, draft_probs, drafts, support, settings)

        return width


@dataclass(frozen=True)
class _SharedDraftLaw(DraftLaw):
    """The shipped draft law, restricted once per target law and places."""

    shared: _Shared | None = None

    def restrict(self, law, places):
        assert self.shared is not None
        key = (id(self), id(law), tuple(places.items()))
        return self.shared.once(DraftLaw.restrict, key, self, law, places)


def _build(shared: _Shared, process: Process, probability: float, drafted) -> DraftedRun:
    beams = [Beam(shared.node_at(beam.path), beam.log_weight, beam.multiplicity) for beam in shared.case.inputs]
    layers, scored = [], [beam.node for beam in beams]
    for above, drawn, law, covers in drafted:
        of_pair = dict(law)
        layer = ForestLayer(
            [shared.node_at(path) for path in drawn],
            [of_pair[path] for path in drawn],
            [shared.node_at(path) for path in covers],
            shared.draft_law(above, law),
        )
        scored += [*layer.drafts, *layer.covers]
        layers.append(layer)
    rows = {node: shared.row(shared.paths[node]) for node in scored if not process.ends(shared.paths[node])}
    drafts, laws = tuple(entry[1] for entry in drafted), tuple(entry[2] for entry in drafted)
    return DraftedRun(probability, Forest(beams, layers), rows, drafts, laws, shared)


class _StopError(Exception):
    """A layer is complete, and what follows is explored from its beams."""


class _Branching:
    """Choices by a script of decisions; beyond its end the first possible one, the others being noted.

    ``above`` are the layers that the script's first decisions led to before: they are taken as they were decided.
    """

    def __init__(self, script: Sequence[int], stop_after: int | None, above: "_Branching | None" = None) -> None:
        self.script, self.stop_after = script, stop_after
        self.decided = iter(() if above is None else above.layers)
        self.taken: list[int] = [] if above is None else list(above.taken)
        self.probabilities: list[float] = [1.0] * len(self.taken)
        self.others: list[Sequence[int]] = [()] * len(self.taken)
        self.layers: list[VerifiedLayer] = []

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
    """Tells the choices of every draft layer it has decided; decides nothing itself."""

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


def steps(run: DraftedRun, case: Case, until: int, verify: Callable | None = None, merge: bool = True) -> list[Step]:
    """Every way the first ``until`` layers of a forest's verification can go."""
    verify = verify or dsbd.law.verify.verify
    found: list[Step] = []
    states: dict[tuple[Multiset, ...], tuple[float, _Branching | None]] = {(): (run.probability, None)}
    with _instrumented(run.shared):
        for number in range(1, until + 1):
            following: dict[tuple[Multiset, ...], tuple[float, _Branching | None]] = {}
            for history, (mass, above) in states.items():
                for branch, stopped in _leaves(run, case, verify, above, number if merge else None):
                    probability = mass * math.prod(branch.probabilities)
                    if merge:
                        step = _step(probability, history, branch.layers, stopped, number)
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
def _instrumented(shared: _Shared) -> Iterator[None]:
    """Verification reports its layers, and takes from ``shared`` what it computed before."""
    module = dsbd.law.verify
    before = module._Verifier, module.joint_law, module.choose_width
    module._Verifier = _Reporting
    module.joint_law, module.choose_width = shared.joint_law(module.joint_law), shared.choose_width(module.choose_width)
    try:
        yield
    finally:
        module._Verifier, module.joint_law, module.choose_width = before


def _leaves(run: DraftedRun, case: Case, verify: Callable, above: _Branching | None, stop_after: int | None):
    """Every way verification can go below the layers that ``above`` decided."""
    scripts: list[list[int]] = [[] if above is None else above.taken]
    while scripts:
        script = scripts.pop()
        branch = _Branching(script, stop_after, above)
        try:
            layers, stopped = verify(run.forest, run.next_tokens, case.settings, case.tables.eos, branch), False
        except _StopError:
            layers, stopped = branch.layers, branch.layers[-1].continues
        branch.layers = layers
        yield branch, stopped
        for place in range(len(script), len(branch.taken)):
            scripts += [[*branch.taken[:place], other] for other in branch.others[place]]


def slots_of(layer: VerifiedLayer) -> tuple[Path, ...]:
    """Beams of a layer, one per slot: accepted drafts in their order, then what was drawn."""
    accepted = [path_of(trial.node) for trial in layer.trials if trial.verdict == "accepted"]
    return (*accepted, *(path_of(draw.node) for draw in layer.draws))


def _beams(beams: Sequence[Beam]) -> Multiset:
    return tuple(sorted((path_of(beam.node), beam.multiplicity) for beam in beams))


def _step(probability: float, history, layers: Sequence[VerifiedLayer], goes_on: bool, number: int) -> Step:
    if len(layers) < number:
        return Step(probability, history, None, (), _beams(layers[-1].living), True)
    layer = layers[number - 1]
    return Step(probability, history, slots_of(layer), _beams(layer.beams), _beams(layer.living), not goes_on)


def _unmerged(probability: float, layers: Sequence[VerifiedLayer], until: int) -> list[Step]:
    last = min(len(layers), until)
    history = tuple(_beams(layer.beams) for layer in layers[: last - 1])
    final = layers[last - 1]
    return [Step(probability, history, slots_of(final), _beams(final.beams), _beams(final.living), True)]


def run_law(case: Case, layers: int, verify: Callable | None = None, merge: bool = True) -> dict:
    """Law over (finished, alive) after ``layers`` layers, runs that end earlier being completed by plain draws."""
    process, law = case.process(), defaultdict(float)
    for run in forests(case, process):
        for step in steps(run, case, layers, verify, merge):
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


def worst_layer(case: Case, number: int, verify: Callable | None = None) -> tuple[float, int, set[int]]:
    """What :func:`worst_layers` says of one layer."""
    return worst_layers(case, [number], verify)[0]


def worst_layers(
    case: Case, numbers: Sequence[int], verify: Callable | None = None
) -> list[tuple[float, int, set[int]]]:
    """Largest distance of a layer's ordered slots from ``width`` draws of the target's law, given all that is above.

    Given are the drafts and the beams of every layer above; where verification ended above, the layer is completed
    by plain draws. Returns the distance, how many conditions were met, and the widths seen, of each layer asked for.
    """
    process = case.process()
    laws: dict[int, dict] = {number: defaultdict(lambda: defaultdict(float)) for number in numbers}
    conditions: dict[int, dict] = {number: {} for number in numbers}
    for run in forests(case, process):
        for step in steps(run, case, max(numbers), verify):
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
            width = landing_width_of(target, on_alive, case.widths, case.warp)
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
