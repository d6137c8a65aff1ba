"""Checks of a trace, and the distributions of its iterations: which numbers its nodes hold, and P in its layers.

Q is not decided: verification gives the target's distribution whatever Q is, so it may be as recorded.
Each check is counted, and the first that fails ends the audit. Within a layer the ratio of two probabilities follows
from the log-weights, the multiplicities and the temperature alone, because normalising divides both by one number.

*Source:* docs/algorithm.md, *The joint distribution* and *SpecInfer's tree*.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from dsbd.tracing.records import ALTERNATIVES, ROOT, InputBeam, IterationRecord, Layer, NodeRecord
from dsbd.tracing.trace import Trace
from dsbd.verification import beams
from dsbd.verification.noise import Noise

TOLERANCE = 1e-9
"""Allowed difference between a recorded number and the one computed again; rounding stays below 1e-12."""
ROUNDING = 1e-12
"""Of a sum of log-probabilities, relative to the largest one."""
LEAST = 1e-290
"""Smaller probabilities have lost digits."""


class BrokenError(Exception):
    """A check failed; the message says which."""


class Checks:
    """The checks of one trace: how many were made, where the audit is, and what every part of it reads.

    Each check has a name and, where there are several, says ``of`` what; it raises :class:`BrokenError` if it fails.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace, self.settings = trace, trace.settings
        self.count, self.where = 0, "trace"
        self.nodes = trace.node_index()
        self.log_weights: dict[int, float] = {ROOT: 0.0}
        """Of the nodes so far, by id; minus infinity for impossible ones."""
        self.paths: dict[int, beams.Node] = {ROOT: beams.Node(None, -1, 0)}
        self.vocabulary = trace.models.target.vocabulary_size
        self.is_coupled = trace.settings.forest == "coupled"
        self.tried_kind = "cover" if self.is_coupled else "drafted"
        """The kind of the nodes below which a forest goes on."""
        self.is_greedy = trace.settings.temperature == 0 and not trace.settings.replacement
        """True where a layer's likeliest candidates are taken in order, each with certainty."""

    @cached_property
    def noise(self) -> Noise:
        """That of coupled draws: it follows from the seed and the prompt, which are checked before."""
        return Noise(self.trace.seed, [piece.token_id for piece in self.trace.prompt.pieces], self.paths[ROOT])

    def path(self, node: int) -> beams.Node:
        """Return the path that a node ends."""
        if node not in self.paths:
            self.paths[node] = self.path(self.nodes[node].parent).child(self.nodes[node].token_id)
        return self.paths[node]

    def same(self, name: str, recorded: object, expected: object, of: object = "") -> None:
        """Check that two values are equal."""
        self.count += 1
        if recorded != expected:
            self.broken(name, of, f"is {_short(recorded)}, but {_short(expected)} follows")

    def close(self, name: str, recorded: float | None, expected: float | None, of: object = "") -> None:
        """Check that two numbers are finite, and equal up to rounding; or that there is none."""
        self.count += 1
        one, other = (math.nan if number is None else number for number in (recorded, expected))
        if recorded is not expected and (_exceeds(one, other) or _exceeds(-one, -other)):
            self.broken(name, of, f"is {_short(recorded)}, but {_short(expected)} follows")

    def all_close(self, name: str, recorded: Sequence[float], expected: Sequence[float], of: object = "") -> None:
        """Check that two lists have one length, and close numbers."""
        self.same(name, len(recorded), len(expected), of)
        for one, other in zip(recorded, expected, strict=False):
            self.close(name, one, other, of)

    def at_most(self, name: str, recorded: float | None, limit: float, of: object = "", allowed: float = 0.0) -> None:
        """Check that two numbers are finite and the first is at most the second, up to rounding or ``allowed``."""
        self.count += 1
        if recorded is None or _exceeds(recorded, limit, allowed):
            self.broken(name, of, f"is {_short(recorded)}, but at most {_short(limit)} follows")

    def uniform(self, recorded: float | None, of: object) -> float:
        """Check that a random number is there, from 0 to below 1, and return it."""
        self.same("uniform", recorded is not None and 0.0 <= recorded < 1.0, True, of)
        return recorded or 0.0

    def broken(self, name: str, of: object, why: str) -> None:
        """Raise what does not follow."""
        raise BrokenError(f"{self.where}: {name}{f' ({of})' if of != '' else ''} {why}")


def _exceeds(recorded: float, limit: float, allowed: float = 0.0) -> bool:
    """True where a number is larger than a limit, beyond rounding; what is not finite exceeds every limit."""
    if not (math.isfinite(recorded) and math.isfinite(limit)):
        return True
    return recorded - limit > max(allowed, TOLERANCE * max(1.0, abs(limit)))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


class ScoredNode(NamedTuple):
    """A node's probability in one joint distribution, and what that follows from."""

    node: NodeRecord
    probability: float
    log_weight: float
    multiplicity: int
    """Of its parent."""


def check_numbers(checks: Checks, iteration: IterationRecord) -> None:
    """Check which numbers the nodes hold: this follows from the settings and the layers alone."""
    settings, layers, seen = checks.settings, iteration.layers, set[tuple[int, int]]()
    named = {trial.node for trial in iteration.trials} | {draw.node for draw in iteration.draws}
    taken = {beam.node for layer in layers for beam in layer.beams}
    for node in iteration.nodes:
        of_forest, possible = node.kind != "drawn", node.target_log_prob is not None
        is_reached = node.layer <= len(layers)
        if is_reached and settings.branching is not None:
            is_reached = node.parent in layers[node.layer - 1].alive
        present = node.draft_log_prob is not None, node.draft_prob is not None, node.target_prob is not None
        checks.same("numbers of a node", present, (of_forest, of_forest, is_reached), node.id)
        if not settings.lossless and node.id not in named:  # the target scores the best beam only
            checks.same("a node that is not scored", possible, False, node.id)
        elif (node.target_prob or 0.0) > 0 or node.id in taken:
            checks.same("a node that is possible", possible, True, node.id)
        checks.same("tokens below one node differ", (node.parent, node.token_id) in seen, False, node.id)
        seen.add((node.parent, node.token_id))


def check_target(checks: Checks, iteration: IterationRecord, layer: Layer, alive: Sequence[InputBeam]) -> None:
    """Check P in one layer that was reached: its support, its likeliest candidates and its ratios."""
    parents = {beam.node: beam.multiplicity for beam in alive}
    own = [node for node in iteration.nodes if node.layer == layer.layer]
    others = {node.target_prob for node in own if node.parent not in parents}
    checks.same("P below other beams", others <= {0.0 if checks.settings.branching is None else None}, True)
    nodes = [node for node in own if node.parent in parents]
    _check_likeliest(checks, layer, nodes, len(alive))
    if checks.settings.temperature == 0:
        _check_best(checks, iteration, layer, nodes)
    scored = [
        ScoredNode(node, node.target_prob or 0.0, checks.log_weights[node.id], parents[node.parent])
        for node in nodes
        if checks.log_weights[node.id] > -math.inf and not (node.kind == "drawn" and checks.is_greedy)
    ]
    check_ratios(checks, scored)


def _check_likeliest(checks: Checks, layer: Layer, nodes: Sequence[NodeRecord], beams: int) -> None:
    """Check how many candidates P has, as far as the record tells, and that its likeliest ones are in order."""
    settings, support, candidates = checks.settings, layer.target_support, layer.alternatives
    most = min(settings.top_k or support, beams * checks.vocabulary)
    checks.at_most("most of P's support", support, most)
    checks.same(
        "parents of the likeliest candidates", {candidate.parent for candidate in candidates} <= {*layer.alive}, True
    )
    beam_index = {node: index for index, node in enumerate(layer.alive)}
    order = [
        (-candidate.target_prob, beam_index.get(candidate.parent, -1), candidate.token_id) for candidate in candidates
    ]
    checks.same("order of the likeliest candidates", order, sorted(order))
    checks.same("number of likeliest candidates", len(candidates), min(ALTERNATIVES, support))
    by_content = {(node.parent, node.token_id): node for node in nodes}
    for candidate in candidates:
        node = by_content.get((candidate.parent, candidate.token_id))
        name = f"token {candidate.token_id} below node {candidate.parent}"
        checks.same(
            "node of a likely candidate", candidate.node, node.id if node and node.kind != "drawn" else None, name
        )
        if node is not None and not (node.kind == "drawn" and checks.is_greedy):
            checks.close("P of a likely candidate", candidate.target_prob, node.target_prob or 0.0, name)
        if layer.kind == "bonus":
            checks.same("Q below the forest", candidate.draft_prob, 0.0, name)
        elif node is not None and node.draft_prob is not None:
            checks.close("Q of a likely candidate", candidate.draft_prob, node.draft_prob, name)


def _check_best(checks: Checks, iteration: IterationRecord, layer: Layer, nodes: Sequence[NodeRecord]) -> None:
    """Check that a layer took the best known candidates at temperature 0, the best one first."""
    taken, weights = [beam.node for beam in layer.beams], checks.log_weights
    listed = [candidate.target_prob for candidate in layer.alternatives]
    checks.same("P of the likeliest candidates", listed, [1.0, *[0.0] * (len(listed) - 1)])
    if not checks.settings.lossless and not any(draw.layer == layer.layer for draw in iteration.draws):
        return  # a joint test takes what the draft model finds likely
    for better, worse in pairwise(taken):
        checks.at_most("log-weights of the beams in order", weights[worse], weights[better], worse)
    for node in nodes:
        if taken and node.id not in taken and node.target_log_prob is not None:
            checks.at_most("log-weight of a node that was left", weights[node.id], weights[taken[-1]], node.id)


def check_ratios(checks: Checks, scored: Iterable[ScoredNode]) -> None:
    """Check that one number divides all masses of a distribution.

    All is times the temperature here, so that nothing overflows where it is very cold.
    """
    T = checks.settings.temperature
    scores = {one.node.id: one.log_weight + T * math.log(max(one.multiplicity, 1)) for one in scored}
    probs = {one.node.id: one.probability for one in scored}
    kept = {node: score - T * math.log(probs[node]) for node, score in scores.items() if probs[node] > LEAST}
    if not kept:
        return
    allowed = ROUNDING * max(1.0, *map(abs, scores.values()))
    least, most = min(kept, key=kept.__getitem__), max(kept, key=kept.__getitem__)
    checks.at_most("ratio of two probabilities", kept[most], kept[least], f"nodes {least} and {most}", allowed)
