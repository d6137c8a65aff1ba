"""Every run of the shipped ``dsbd.verification.verify.verify`` on a table model, with its probability.

Draft draws are enumerated under Q, verification by branching in the :class:`Choices` it is given. Runs that
reach the same beams by different verdicts are merged at the end of a layer.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

import dsbd.verification.verify
from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import TopTokens
from dsbd.verification.forest import BranchedLayer, DraftDistribution, Forest, ForestLayer
from dsbd.verification.verified import DrawnCandidate, VerifiedLayer, up_to_end
from tests.verification import oracle
from tests.verification.oracle import Multiset, Path, Process, Tables, Warp, Weighted

ROOT = (Weighted((), 0.0, 1),)


@dataclass(frozen=True)
class Case:
    """A table model, the beams an iteration starts from, and settings."""

    tables: Tables
    settings: ResolvedSettings
    inputs: tuple[Weighted, ...] = ROOT

    @property
    def warp(self) -> Warp:
        chosen = self.settings
        return Warp(chosen.temperature, chosen.top_k, chosen.top_p, chosen.replacement)

    def process(self) -> Process:
        return Process(self.tables, list(self.inputs), self.warp, self.settings)


def rows_of(tables, top_k: int = 0) -> list[TopTokens]:
    with np.errstate(divide="ignore"):
        logs = [np.log(np.array(table)) for table in tables]
    orders = [np.argsort(-log, kind="stable")[: top_k or None] for log in logs]
    return [TopTokens(order, log[order]) for order, log in zip(orders, logs, strict=True)]


class DraftedRun(NamedTuple):
    """One forest, what verification needs beside it, and how it came about."""

    probability: float
    forest: Forest
    rows: dict[Node, TopTokens]
    """Of the input beams and the unfinished forest nodes: verification may ask for no others."""
    drafts: tuple[tuple[Path, ...], ...]
    """The candidates drawn in each layer, in order."""
    draft_distributions: tuple[list[tuple[Path, float]], ...]

    def next_tokens(self, nodes: Sequence[Node]) -> list[TopTokens]:
        return [self.rows[node] for node in nodes]


@lru_cache(100_000)
def path_of(node: Node) -> Path:
    return tuple(node.token_ids())


Drafted = tuple[Multiset, list[tuple[Path, float]], tuple[Path, ...], list[Path]]
"""Drafts from one distribution: the beams above it, the distribution, the candidates drawn, the extra candidates."""


def forests(case: Case, process: Process) -> Iterator[DraftedRun]:
    """Every forest that the draft model can draw."""
    shared = Shared(case)

    def grow(above: Multiset, layers: list[list[Drafted]], probability: float) -> Iterator[DraftedRun]:
        if len(layers) == case.settings.draft_depth:
            yield _build(shared, process, probability, layers)
            return
        for mass, drafted, below in _layers_below(case, process, above, len(layers)):
            if drafted:
                yield from grow(below, [*layers, drafted], probability * mass)
            else:  # no draft is known below any node
                yield _build(shared, process, probability, layers)

    yield from grow(tuple((beam.path, beam.multiplicity) for beam in case.inputs), [], 1.0)


def _layers_below(
    case: Case, process: Process, above: Multiset, number: int
) -> Iterator[tuple[float, list[Drafted], Multiset]]:
    """Every layer that can be drawn below some nodes: its probability, the drafts of its distributions, what it extends
    to.
    """
    chosen = case.settings
    if chosen.branching is not None:
        families = [
            ((parent,), distribution) for parent in above if (distribution := process.distribution((parent,), "draft"))
        ]
        distributions = [
            oracle.sequences(distribution, chosen.branching[number], case.warp).items() for _, distribution in families
        ]
        for drawn in product(*distributions):
            drafted = [(*family, paths) for family, (paths, _) in zip(families, drawn, strict=True)]
            below = dict.fromkeys(path for paths, _ in drawn for path in paths)
            alive = process.living(tuple((path, 1) for path in below))
            yield math.prod(mass for _, mass in drawn), [(*one, []) for one in drafted], alive
        return
    distribution = process.distribution(above, "draft")
    for drawn, mass in oracle.sequences(distribution, chosen.draft_width if distribution else 0, case.warp).items():
        left = [path for path, _ in distribution if path not in drawn and not process.ends(path)]
        drafted = [(above, distribution, drawn, left[: chosen.cover_width])]
        yield mass, drafted, process.living(oracle.multiset(drawn))


class Shared:
    """What the forests of one case have in common."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.nodes: dict[Path, Node] = {(): Node(None, -1, 0)}
        self._rows: dict[Path, TopTokens] = {}
        self._draft_distributions: dict[Multiset, DraftDistribution] = {}

    def node_at(self, path: Path) -> Node:
        if path not in self.nodes:
            self.nodes[path] = self.node_at(path[:-1]).child(path[-1])
        return self.nodes[path]

    def row(self, path: Path) -> TopTokens:
        if path not in self._rows:
            [self._rows[path]] = rows_of([self.case.tables.next_token["target"](path)], self.case.settings.top_k)
        return self._rows[path]

    def draft_distribution(self, above: Multiset, distribution: list[tuple[Path, float]]) -> DraftDistribution:
        """Q of the layer below the beams ``above``."""
        if above not in self._draft_distributions:
            chosen = self.case.settings
            parents = list(dict.fromkeys(path[:-1] for path, _ in distribution))
            indices = np.array([parents.index(path[:-1]) for path, _ in distribution], dtype=np.int64)
            tokens = np.array([path[-1] for path, _ in distribution], dtype=np.int64)
            probs = np.array([mass for _, mass in distribution], dtype=np.float64)
            ranked = chosen.temperature == 0 and not chosen.replacement
            if ranked:
                probs[1:] = 0.0
            nodes = [self.node_at(path) for path in parents]
            self._draft_distributions[above] = DraftDistribution(nodes, indices, tokens, probs, ranked)
        return self._draft_distributions[above]


def _build(shared: Shared, process: Process, probability: float, drafted: Sequence[Sequence[Drafted]]) -> DraftedRun:
    """Build the forest of one run. ``drafted`` holds, per layer, what was drawn from each of its distributions."""
    beams = [Beam(shared.node_at(beam.path), beam.log_weight, beam.multiplicity) for beam in shared.case.inputs]
    layers, scored = list[ForestLayer | BranchedLayer](), [beam.node for beam in beams]
    for entries in drafted:
        parts = [
            ForestLayer(
                [shared.node_at(path) for path in drawn],
                [dict(distribution)[path] for path in drawn],
                [shared.node_at(path) for path in extras],
                shared.draft_distribution(above, distribution),
            )
            for above, distribution, drawn, extras in entries
        ]
        scored += [node for part in parts for node in (*part.drafts, *part.untested)]
        if shared.case.settings.branching is None:
            layers += parts
        else:
            layers.append(BranchedLayer({part.distribution.parents[0]: part for part in parts}))
    rows = {node: shared.row(path_of(node)) for node in scored if not process.ends(path_of(node))}
    drafts = tuple(tuple(path for entry in entries for path in entry[2]) for entries in drafted)
    distributions = tuple([one for entry in entries for one in entry[1]] for entries in drafted)
    return DraftedRun(probability, Forest(beams, layers), rows, drafts, distributions)


class _Branching:
    """Choices by a script of decisions; beyond its end the first possible one, the others being noted.

    Below layer ``until`` the first possible one is taken, and nothing is noted.
    """

    def __init__(self, script: Sequence[int], until: float) -> None:
        self.script, self.until = script, until
        self.entered: list[Sequence[Node]] = []
        """The alive beams of every layer that was entered."""
        self.taken: list[int] = []
        self.chances: list[float] = []
        self.others: list[Sequence[int]] = []

    def _choose(self, possible: Sequence[tuple[int, float]]) -> int:
        if len(self.entered) > self.until:
            return possible[0][0]
        number = len(self.taken)
        if number < len(self.script):
            possible = [option for option in possible if option[0] == self.script[number]]
        chosen, probability = possible[0]
        self.others.append([option for option, _ in possible[1:]])
        self.taken.append(chosen)
        self.chances.append(probability)
        return chosen

    def accept(self, probability: float) -> tuple[bool, float]:
        options = ((1, probability), (0, 1.0 - probability))
        return bool(self._choose([option for option in options if option[1] > 0])), 0.0

    def draw(self, masses) -> DrawnCandidate:
        return DrawnCandidate(self._choose(_normalised(masses.tobytes())), 0.0, 0.0, 0.0)


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
            if nodes not in branch.entered:  # a layer that Q cannot reach is entered twice
                branch.entered.append(nodes)
            return run.next_tokens(nodes)

        layers = dsbd.verification.verify.verify(run.forest, next_tokens, case.settings, case.tables.eos, branch)
        layers = up_to_end(layers, [], case.settings, case.tables.eos)
        yield Leaf(math.prod(branch.chances[len(first) :]), branch.taken, layers)
        for number in range(len(script), len(branch.taken)):
            scripts += [[*branch.taken[:number], other] for other in branch.others[number]]


class Step(NamedTuple):
    """One way a layer can go, given the beams of the layers above."""

    probability: float
    history: tuple[Multiset, ...]
    """Beams of the layers above."""
    ordered: tuple[Path, ...] | None
    """What the layer drew, accepted drafts first; None where verification ended without this layer."""
    beams: Multiset
    living: Multiset
    ended: bool
    """Verification ends with this layer."""


def steps(run: DraftedRun, case: Case, until: int) -> list[Step]:
    """Every way the first ``until`` layers of a forest's verification can go."""
    every: list[Step] = []
    states: dict[tuple[Multiset, ...], tuple[float, Sequence[int]]] = {(): (run.probability, ())}
    for number in range(1, until + 1):
        following: dict[tuple[Multiset, ...], tuple[float, Sequence[int]]] = {}
        for mass, first in states.values():
            for leaf in leaves(run, case, first, number):
                step = _step(mass * leaf.probability, leaf.layers, number)
                every.append(step)
                if not step.ended:
                    key = (*step.history, step.beams)
                    known, _ = following.get(key, (0.0, ()))
                    following[key] = (known + step.probability, leaf.taken)
        states = following
    return every


def in_order(layer: VerifiedLayer) -> tuple[Path, ...]:
    """Beams of a layer, duplicates repeated: accepted drafts in their order, then what was drawn."""
    accepted = [path_of(trial.node) for trial in layer.trials if trial.verdict == "accepted"]
    return (*accepted, *(path_of(draw.node) for draw in layer.draws))


def _beams(beams: Sequence[Beam]) -> Multiset:
    return tuple(sorted((path_of(beam.node), beam.multiplicity) for beam in beams))


def _step(probability: float, layers: Sequence[VerifiedLayer], number: int) -> Step:
    history = tuple(_beams(layer.beams) for layer in layers[: number - 1])
    if len(layers) < number:
        return Step(probability, history, None, (), _beams(layers[-1].living), True)
    layer = layers[number - 1]
    return Step(probability, history, in_order(layer), _beams(layer.beams), _beams(layer.living), not layer.continues)


def run_distribution(case: Case, layers: int) -> dict:
    """Return the distribution of (finished, alive) after ``layers``; plain draws complete runs that end earlier."""
    process, distribution = case.process(), defaultdict(float)
    for run in forests(case, process):
        for step in steps(run, case, layers):
            decided = len(step.history) + (step.ordered is not None)
            if not step.ended and decided < layers:
                continue
            beams = [entry for layer in (*step.history, step.beams) for entry in layer]
            ended = tuple(entry for entry in beams if process.ends(entry[0]))
            left = layers - decided, case.settings.max_width, tuple(sorted(ended))
            for ends, mass in process.after(step.living, *left).items():
                distribution[ends] += step.probability * mass
    return dict(distribution)


def plain_distribution(case: Case, layers: int) -> dict:
    """What :func:`run_distribution` must equal: beam sampling of a fixed width from the input beams."""
    alive = tuple((beam.path, beam.multiplicity) for beam in case.inputs)
    return case.process().after(alive, layers, case.settings.max_width)


def worst_layers(case: Case, numbers: Sequence[int]) -> list[tuple[float, int, set[int]]]:
    """Return how far a layer's ordered draws are at most from ``width`` draws of the target, given all that is above.

    Given are the drafts and the beams of every layer above; where verification ended above, the layer is completed
    by plain draws. Returns of each layer the distance, how many conditions were met, and the widths seen.
    """
    process = case.process()
    distributions: dict[int, dict] = {number: defaultdict(lambda: defaultdict(float)) for number in numbers}
    conditions: dict[int, dict] = {number: {} for number in numbers}
    for run in forests(case, process):
        for step in steps(run, case, max(numbers)):
            above, decided = len(step.history), len(step.history) + (step.ordered is not None)
            if decided > above and above + 1 in distributions:
                key = (run.drafts[:above], step.history)
                distributions[above + 1][key][step.ordered] += step.probability
                conditions[above + 1][key] = run
            if step.ended and decided and decided + 1 in distributions:
                history = step.history if step.ordered is None else (*step.history, step.beams)
                distributions[decided + 1][run.drafts[:decided], history][None] += step.probability
    return [_compare(case, process, distributions[number], conditions[number], number) for number in numbers]


def _compare(case: Case, process: Process, distributions, conditions, number: int) -> tuple[float, int, set[int]]:
    worst, widths = 0.0, set()
    for key, distribution in distributions.items():
        if key not in conditions:
            continue  # never reached: completed by plain draws alone
        history = key[1]
        inputs = tuple((beam.path, beam.multiplicity) for beam in case.inputs)
        alive = process.living(history[-1]) if history else inputs
        target = process.target_distribution(alive)
        run = conditions[key]
        draft_distribution = list(run.draft_distributions[number - 1]) if number <= len(run.draft_distributions) else []
        is_drafted = any(path[:-1] in dict(alive) for path, _ in draft_distribution)
        width = oracle.width_of(target, draft_distribution, case.settings) if is_drafted else case.settings.max_width
        expected = oracle.sequences(target, width, case.warp)
        total = math.fsum(distribution.values())
        completed = {beams: mass / total for beams, mass in distribution.items() if beams is not None}
        for beams, probability in expected.items():
            completed[beams] = completed.get(beams, 0.0) + distribution.get(None, 0.0) / total * probability
        worst = max(worst, oracle.total_variation(completed, expected))
        widths.add(width)
    return worst, len(conditions), widths
