"""Audits P, the target's law, in the layers of an iteration: ratios, scale, support; at temperature 0 the best pairs.

Within a layer the ratio of two probabilities follows from the log-weights, the multiplicities and the temperature
alone, because normalising divides both by the same number.

*Source:* docs/algorithm.md, *The joint law*.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from dsbd.settings import ResolvedSettings
from dsbd.tracing.checks import LOOSEST, Checks, ranks_are_greedy
from dsbd.tracing.records import ALTERNATIVES, InputBeam, Iteration, Layer, Node

ROUNDING = 1e-12
"""Of a score in double precision, relative to the largest score of its layer."""
SCALE_ROUNDING = 1e-2
"""Of the logarithm of a probability, where only its size is checked."""
SHARPEST = 1e30
"""Largest 1 / temperature that scores are compared at; the draft model's are not made with a larger one."""
LEAST = 1e-290
"""Smaller probabilities have lost digits."""
LARGEST_GAP = 660.0
"""Between the scores of the likeliest pair and of one whose probability is above the least."""
WARM = 0.5
"""From this temperature on no pair of a language model is so unlikely that its probability becomes 0."""


class ScoredPair(NamedTuple):
    """One pair of a joint law."""

    name: str
    probability: float
    score: float
    """(log-weight / temperature) plus the logarithm of its beam's multiplicity."""


def keeps_all(settings: ResolvedSettings) -> bool:
    """True where only top-k takes pairs out of a law."""
    return settings.top_p == 1 and settings.temperature >= WARM


def is_full(settings: ResolvedSettings, support: int) -> bool:
    """True where the settings alone say how many pairs P has."""
    if settings.temperature == 0 and settings.replacement:
        return True
    return support == settings.top_k and (keeps_all(settings) or ranks_are_greedy(settings))


def sharpness(settings: ResolvedSettings) -> float:
    """1 / temperature, bounded; 1 at temperature 0."""
    return min(1.0 / settings.temperature, SHARPEST) if settings.temperature > 0 else 1.0


def check_ratios(checks: Checks, law: str, pairs: Sequence[ScoredPair], rounding: float) -> None:
    """Probabilities have the ratios of their scores, and those that were cut off are no likelier than the others."""
    known = [pair for pair in pairs if pair.probability > LEAST]
    if known:
        best = max(known, key=lambda pair: pair.probability)
        allowed, unit = _rounded(known, rounding)
        for pair in known:
            if pair is not best:
                what = f"log {law} of {pair.name} less that of {best.name}"
                ratio = math.log(pair.probability) - math.log(best.probability)
                checks.close(what, ratio * unit, (pair.score - best.score) * unit, allowed)
    kept, lost = [pair.score for pair in known], [pair.score for pair in pairs if pair.probability <= LEAST]
    if kept and lost:
        cuts = checks.settings.top_k > 0 or checks.settings.top_p < 1  # without them only the impossible is cut
        limit = min(kept) if cuts else max(kept) - LARGEST_GAP
        allowed, unit = _rounded(pairs, rounding)
        checks.at_most(f"score of a pair without {law}", max(lost) * unit, limit * unit, allowed)


def _rounded(pairs: Iterable[ScoredPair], rounding: float) -> tuple[float, float]:
    """What rounding may do to scores, and the unit in which they are compared.

    Where it is so cold that even their whole part is rounded, the unit is so small that the rounding stays bounded.
    """
    allowed = rounding * max(1.0, *(abs(pair.score) for pair in pairs))
    unit = min(1.0, LOOSEST / allowed)
    return allowed * unit, unit


class LawAudit:
    """P in the layers of one iteration."""

    def __init__(self, checks: Checks, iteration: Iteration) -> None:
        self.checks, self.settings, self.iteration = checks, checks.settings, iteration
        self.log_weights = checks.log_weights
        self.vocabulary = checks.trace.models.target.vocabulary_size
        tried = {trial.node for trial in iteration.trials}
        scored = [node for node in iteration.nodes if self.settings.lossless or node.id in tried]
        self.has_impossible = any(node.target_log_prob is None for node in scored)

    def layer(self, layer: Layer, alive: Sequence[InputBeam]) -> None:
        """Check one layer that was reached: the ratios of P, its support and its likeliest pairs."""
        parents = {beam.node: beam for beam in alive}
        own = [node for node in self.iteration.nodes if node.layer == layer.layer]
        others = {node.target_prob for node in own if node.parent not in parents}
        self.checks.same("P below other beams", others <= {0.0 if self.settings.branching is None else None}, True)
        nodes = [node for node in own if node.parent in parents]
        self._support(layer, nodes, len(alive))
        self._alternatives(layer, nodes)
        if self.settings.temperature == 0:
            self._greedy(layer, nodes)
        self._scale(nodes, alive)
        if self.settings.temperature == 0:
            return
        pairs = [
            ScoredPair(f"node {node.id}", node.target_prob or 0.0, self._score(node, parents[node.parent].multiplicity))
            for node in nodes
            if self.log_weights[node.id] > -math.inf
        ]
        check_ratios(self.checks, "P", pairs, ROUNDING)

    def _greedy(self, layer: Layer, nodes: Sequence[Node]) -> None:
        """What a layer took at temperature 0 are the best known pairs, the best one first, which has all of P."""
        checks, taken = self.checks, [beam.node for beam in layer.beams]
        draws = [draw for draw in self.iteration.draws if draw.layer == layer.layer]
        listed = [pair.target_prob for pair in layer.alternatives]
        checks.same("P of the likeliest pairs", listed, [1.0] + [0.0] * (len(listed) - 1))
        if not self.settings.lossless and not draws:  # a joint test takes what the draft model finds likely
            return
        checks.same("beams are present", bool(taken), True)
        for better, worse in pairwise(taken):
            checks.at_most(f"log-weight of node {worse}", self.log_weights[worse], self.log_weights[better])
        for node in nodes:
            name = f"node {node.id}"
            if node.id not in taken and node.target_log_prob is not None:
                checks.at_most(f"log-weight of {name}", self.log_weights[node.id], self.log_weights[taken[-1]])
            certain = node.id == taken[0] or node.kind == "drawn"
            checks.close(f"P of {name}", node.target_prob, float(certain))
        for draw in draws:
            held = draw.target_prob, draw.cdf_low, draw.cdf_high
            checks.same(f"P and the interval, draw of node {draw.node}", held, (1.0, 0.0, 1.0))

    def _scale(self, nodes: Sequence[Node], alive: Sequence[InputBeam]) -> None:
        """Compare P of each pair with its log-weight and those of the beams: the vocabulary bounds the difference.

        The next tokens of a beam have the probability 1 together. So the sum of p**(1/T) over a vocabulary of V tokens
        lies between 1 and V**(1 - 1/T), and top-k pairs have at least their share of it. All is times T here.
        """
        settings, T = self.settings, self.settings.temperature
        size = math.log(self.vocabulary)
        pairs = math.log(len(alive)) + size
        share = pairs if settings.top_k == 0 else min(pairs, math.log(settings.top_k))
        loss = T * (pairs - share - math.log(settings.top_p)) + max(0.0, 1.0 - T) * size
        gain = max(0.0, T - 1.0) * size
        beams = {beam.node: beam.log_weight + T * math.log(beam.multiplicity) for beam in alive}
        most = max(beams.values())
        whole = most + T * math.log(math.fsum(math.exp((one - most) / T) for one in beams.values())) if T > 0 else most
        likeliest = max((self.log_weights[node.id] for node in nodes), default=-math.inf)
        for node in nodes:
            if node.kind == "drawn" and self.checks.is_greedy and self.log_weights[node.id] < likeliest:
                continue  # certain in its turn, not by P
            if (node.target_prob or 0.0) > LEAST and self.log_weights[node.id] > -math.inf:
                own = self.log_weights[node.id] - self.log_weights[node.parent] + beams[node.parent] - whole
                found, name = T * math.log(node.target_prob or 1.0), f"temperature * log P of node {node.id}"
                self.checks.at_most(name, found, own + loss, SCALE_ROUNDING)
                self.checks.at_most(f"least {name}", own - gain, found, SCALE_ROUNDING)

    def _score(self, node: Node, multiplicity: int) -> float:
        return self.log_weights[node.id] * sharpness(self.settings) + math.log(max(multiplicity, 1))

    def _support(self, layer: Layer, nodes: Sequence[Node], beams: int) -> None:
        """Check how many pairs P has, as far as the settings tell."""
        settings, support, checks = self.settings, layer.target_support, self.checks
        if settings.temperature == 0 and settings.replacement:
            checks.same("support of P", support, 1)
            return
        most = min(settings.top_k or beams * self.vocabulary, beams * self.vocabulary)
        checks.at_most("support of P", support, most)
        if (keeps_all(settings) or checks.is_greedy) and not self.has_impossible:
            # a padded vocabulary may have a few ids that no text has
            is_certain = 0 < settings.top_k <= self.vocabulary // 2
            checks.at_most("least support of P", most if is_certain else most // 2, support)
        if settings.temperature > 0 and settings.top_p < 1 and support == most:
            # nothing was cut, so that all pairs but the least likely are below top_p
            known = [node.target_prob for node in nodes if node.target_prob]
            known += [pair.target_prob for pair in layer.alternatives if pair.target_prob]
            checks.at_most("1 - top_p", 1.0 - settings.top_p, min(known, default=1.0))

    def _alternatives(self, layer: Layer, nodes: Sequence[Node]) -> None:
        """Check that the likeliest pairs are in order, and that those that are nodes have the same probabilities."""
        pairs, by_content = layer.alternatives, {(node.parent, node.token_id): node for node in nodes}
        probs = [pair.target_prob for pair in pairs]
        self.checks.same("parents of the likeliest pairs", {pair.parent for pair in pairs} <= set(layer.alive), True)
        order = [(-pair.target_prob, layer.alive.index(pair.parent), pair.token_id) for pair in pairs]
        self.checks.same("order of the likeliest pairs", order, sorted(order))
        self.checks.same("number of likeliest pairs", len(pairs), min(ALTERNATIVES, layer.target_support))
        for pair in pairs:
            node = by_content.get((pair.parent, pair.token_id))
            forest_node = node.id if node is not None and node.kind != "drawn" else None
            name = f"token {pair.token_id} below node {pair.parent}"
            self.checks.same(f"node of {name}", pair.node, forest_node)
            if node is not None and (forest_node is not None or not self.checks.is_greedy):
                self.checks.close(f"P of {name}", pair.target_prob, node.target_prob or 0.0)
                if layer.kind == "draft" and node.draft_prob is not None:
                    self.checks.close(f"Q of {name}", pair.draft_prob, node.draft_prob)
        if pairs and not self.checks.is_greedy:
            known = {content: node.target_prob or 0.0 for content, node in by_content.items()}
            known |= {(pair.parent, pair.token_id): pair.target_prob for pair in pairs}
            self.checks.at_most("sum of P over the known pairs", math.fsum(known.values()), 1.0)
            listed = {(pair.parent, pair.token_id) for pair in pairs}
            others = [node.target_prob or 0.0 for content, node in by_content.items() if content not in listed]
            self.checks.at_most("P of a node beside the likeliest", max(others, default=0.0), probs[-1])
