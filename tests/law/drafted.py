"""Every forest that the draft model of a table model can draw, with its probability.

The forests of a case differ in their drafts only, so they share nodes, next tokens and draft laws (:class:`Shared`).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from dsbd.law.beams import Beam, Node
from dsbd.law.forest import BranchedLayer, DraftLaw, Forest, ForestLayer
from dsbd.law.laws import TopTokens
from dsbd.settings import ResolvedSettings
from tests.law.oracle import (
    Multiset,
    Path,
    Process,
    Tables,
    Warp,
    Weighted,
    Widths,
    multiset,
    sequences,
)

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

    def next_tokens(self, nodes: Sequence[Node]) -> list[TopTokens]:
        return [self.rows[node] for node in nodes]


@lru_cache(100_000)
def path_of(node: Node) -> Path:
    return tuple(node.token_ids())


Drafted = tuple[Multiset, list[tuple[Path, float]], tuple[Path, ...], list[Path]]
"""Drafts from one law: the beams above it, the law, the pairs drawn, the cover nodes."""


def forests(case: Case, process: Process) -> Iterator[DraftedRun]:
    """Every forest that the draft model can draw."""
    shared = Shared(case)

    def grow(above: Multiset, layers: list[list[Drafted]], probability: float) -> Iterator[DraftedRun]:
        if len(layers) == case.settings.draft_depth:
            yield _build(shared, process, probability, layers)
            return
        for mass, drafted, below in _layers_below(case, process, above, len(layers)):
            yield from grow(below, [*layers, drafted], probability * mass)

    yield from grow(tuple((beam.path, beam.multiplicity) for beam in case.inputs), [], 1.0)


def _layers_below(
    case: Case, process: Process, above: Multiset, number: int
) -> Iterator[tuple[float, list[Drafted], Multiset]]:
    """Every layer that can be drawn below some nodes: its probability, the drafts of its laws, what it extends to."""
    chosen = case.settings
    if chosen.branching is not None:
        families = [((parent,), process.law((parent,), "draft")) for parent in above]
        laws = [sequences(law, chosen.branching[number], case.warp).items() for _, law in families]
        for drawn in product(*laws):
            drafted = [(*family, paths) for family, (paths, _) in zip(families, drawn, strict=True)]
            below = dict.fromkeys(path for paths, _ in drawn for path in paths)
            alive = process.living(tuple((path, 1) for path in below))
            yield math.prod(mass for _, mass in drawn), [(*one, []) for one in drafted], alive
        return
    law = process.law(above, "draft")
    if chosen.forest == "likely":
        nodes = [path for path, _ in law][: chosen.draft_width]
        yield 1.0, [(above, law, (), nodes)], process.living(multiset(nodes))
    else:
        for drawn, mass in sequences(law, chosen.draft_width if law else 0, case.warp).items():
            left = [path for path, _ in law if path not in drawn and not process.ends(path)]
            yield mass, [(above, law, drawn, left[: chosen.cover_width])], process.living(multiset(drawn))


class Shared:
    """What the forests of one case have in common."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.nodes: dict[Path, Node] = {(): Node(None, -1, 0)}
        self._rows: dict[Path, TopTokens] = {}
        self._draft_laws: dict[Multiset, DraftLaw] = {}

    def node_at(self, path: Path) -> Node:
        if path not in self.nodes:
            self.nodes[path] = self.node_at(path[:-1]).child(path[-1])
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
            self._draft_laws[above] = DraftLaw(nodes, places, tokens, probs, ranked)
        return self._draft_laws[above]


def _build(shared: Shared, process: Process, probability: float, drafted: Sequence[Sequence[Drafted]]) -> DraftedRun:
    """Build the forest of one run. ``drafted`` holds, per layer, what was drawn from each of its laws."""
    beams = [Beam(shared.node_at(beam.path), beam.log_weight, beam.multiplicity) for beam in shared.case.inputs]
    layers, scored = list[ForestLayer | BranchedLayer](), [beam.node for beam in beams]
    for entries in drafted:
        parts = [_layer(shared, entry) for entry in entries]
        scored += [node for part in parts for node in (*part.drafts, *part.covers)]
        if shared.case.settings.branching is None:
            layers += parts
        else:
            layers.append(BranchedLayer({part.law.parents[0]: part for part in parts}))
    rows = {node: shared.row(path_of(node)) for node in scored if not process.ends(path_of(node))}
    drafts = tuple(tuple(path for entry in entries for path in entry[2]) for entries in drafted)
    laws = tuple([pair for entry in entries for pair in entry[1]] for entries in drafted)
    return DraftedRun(probability, Forest(beams, layers), rows, drafts, laws)


def _layer(shared: Shared, drafted: Drafted) -> ForestLayer:
    above, law, drawn, covers = drafted
    of_pair = dict(law)
    return ForestLayer(
        [shared.node_at(path) for path in drawn],
        [of_pair[path] for path in drawn],
        [shared.node_at(path) for path in covers],
        shared.draft_law(above, law),
    )
