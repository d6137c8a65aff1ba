"""The laws of an iteration, held against each other: what the record shows of P, of Q, and of how many pairs they had.

Within a layer the ratio of two probabilities follows from the log-weights, the multiplicities and the temperature
alone, because normalising divides both by the same number.

*Source:* docs/algorithm.md, *The joint law* and *SpecInfer's tree*.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dsbd.settings import ResolvedSettings
from dsbd.tracing.checks import LOOSEST, Checks
from dsbd.tracing.greedy_audit import GreedyAudit
from dsbd.tracing.records import ALTERNATIVES, InputBeam, Iteration, Layer, Models, Node
from dsbd.tracing.width_audit import drafts_asked, ranks_are_greedy

ROUNDING = 1e-12
"""Of a score in double precision, relative to the largest score of its layer."""
SINGLE_ROUNDING = 1e-6
"""The same in single precision, in which the draft model's scores are added up."""
SCALE_ROUNDING = 1e-2
"""Of the logarithm of a probability, where only its size is asked for."""
SHARPEST = 1e30
"""Largest 1 / temperature that scores are compared at; the draft model's are not made with a larger one."""
LEAST = 1e-290
"""Smaller probabilities have lost digits."""
LARGEST_GAP = 660.0
"""Between the scores of the likeliest pair and of one whose probability is above the least."""
WARM = 0.5
"""From this temperature on no pair of a language model is so unlikely that its probability becomes 0."""
ENDS = 8
"""Most end-of-sequence tokens that a model is expected to have."""


class Pair(NamedTuple):
    """One pair of a joint law."""

    name: str
    probability: float
    score: float
    """(log-weight / temperature) plus the logarithm of its beam's multiplicity."""


def is_full(settings: ResolvedSettings, support: int) -> bool:
    """True where the settings alone say how many pairs P has."""
    if settings.temperature == 0 and settings.replacement:
        return True
    keeps_all = settings.top_p == 1 and settings.temperature >= WARM
    return support == settings.top_k and (keeps_all or ranks_are_greedy(settings))


class LawAudit:
    """The laws of one iteration.

    Args:
        checks: where the audit stands.
        settings: of the decode.
        models: for the size of their vocabularies.
        iteration: whose laws they are.
        log_weights: of the nodes so far, by id; minus infinity for impossible ones.
    """

    def __init__(
        self,
        checks: Checks,
        settings: ResolvedSettings,
        models: Models,
        iteration: Iteration,
        log_weights: Mapping[int, float],
    ) -> None:
        self.checks, self.settings, self.models, self.iteration = checks, settings, models, iteration
        self.log_weights = log_weights
        self.of_layer: dict[int, list[Node]] = {}
        for node in iteration.nodes:
            self.of_layer.setdefault(node.layer, []).append(node)
        tried = {trial.node for trial in iteration.trials}
        scored = [node for node in iteration.nodes if settings.lossless or node.id in tried]
        self.has_impossible = any(node.target_log_prob is None for node in scored)
        self.keeps_all = settings.top_p == 1 and settings.temperature >= WARM
        self.sharpness = min(1.0 / settings.temperature, SHARPEST) if settings.temperature > 0 else 1.0
        self.is_likely = settings.forest == "likely"
        self.greedy = GreedyAudit(checks, settings, log_weights)

    def forest(self) -> None:
        """How many nodes each drafted layer has, and the ratios of Q."""
        if self.settings.branching is None:
            self._joint_forest()
        else:
            self._tree()

    def _joint_forest(self) -> None:
        sources = {beam.node: beam.log_weight for beam in self.iteration.input_beams}
        slots = {beam.node: beam.multiplicity for beam in self.iteration.input_beams}
        tried = {trial.layer for trial in self.iteration.trials}
        for number in range(1, max([self.iteration.draft_depth, *self.of_layer]) + 1):
            nodes = [node for node in self.of_layer.get(number, []) if node.kind != "drawn"]
            self._counts(number, nodes, len(sources))
            is_known = number == 1 or self.is_likely or not self.settings.replacement or self.settings.temperature == 0
            is_known = is_known or (self.settings.lossless and number - 1 in tried)
            for node in nodes:
                if node.draft_log_prob is None:
                    sources.setdefault(node.id, -math.inf)
            weights = {node.id: sources[node.parent] + (node.draft_log_prob or 0.0) for node in nodes
                       if node.parent in sources and node.draft_log_prob is not None}  # fmt: skip
            if is_known:
                self._draft_ratios(number, [node for node in nodes if node.id in weights], weights, slots)
            kind = "cover" if self.is_likely else "drafted"
            sources = {node.id: weights[node.id] for node in nodes
                       if node.kind == kind and not node.ends and node.id in weights}  # fmt: skip
            slots = self._slots(number, sources)

    def _tree(self) -> None:
        """A forest drawn per parent: each family has a law of its own, and only nodes that live have one."""
        checks, settings = self.checks, self.settings
        parents = {beam.node for beam in self.iteration.input_beams}
        for number in range(1, max([self.iteration.draft_depth, *self.of_layer]) + 1):
            nodes = [node for node in self.of_layer.get(number, []) if node.kind != "drawn"]
            checks.same(f"cover nodes of layer {number}", sum(node.kind == "cover" for node in nodes), 0)
            asked = drafts_asked(settings, number) if number <= self.iteration.draft_depth else 0
            checks.same(f"parents of layer {number}", {node.parent for node in nodes} <= parents, True)
            tried = dict.fromkeys(trial.node for trial in self.iteration.trials if trial.layer == number)
            for parent in sorted(parents):
                family = [node for node in nodes if node.parent == parent]
                self._family(number, parent, family, asked)
                if any(node.id in tried for node in family):
                    checks.same(f"nodes tried in layer {number}", [*tried], [node.id for node in family])
            parents = {node.id for node in nodes if not node.ends}

    def _family(self, number: int, parent: int, family: Sequence[Node], asked: int) -> None:
        """The children of one parent: as many as asked for, unless its law had no more tokens, and ratios of Q."""
        settings, checks = self.settings, self.checks
        checks.at_most(f"children of node {parent}", len(family), asked)
        if self.models.draft is not None and not settings.replacement:
            pairs = min(settings.top_k or math.inf, self.models.draft.vocabulary_size // 2)
            if asked <= pairs and (self.keeps_all or ranks_are_greedy(settings)):
                checks.same(f"children of node {parent}", len(family), asked)
        known = [node for node in family if node.draft_log_prob is not None]
        self._draft_ratios(number, known, {node.id: node.draft_log_prob or 0.0 for node in known}, {})

    def layer(self, layer: Layer, alive: Sequence[InputBeam]) -> None:
        """The ratios of P in one layer that was reached, its support and its likeliest pairs."""
        parents = {beam.node: beam for beam in alive}
        others = {node.target_prob for node in self.of_layer.get(layer.layer, []) if node.parent not in parents}
        self.checks.same("P below other beams", others <= {0.0 if self.settings.branching is None else None}, True)
        nodes = [node for node in self.of_layer.get(layer.layer, []) if node.parent in parents]
        self._support(layer, nodes, len(alive))
        self._alternatives(layer, nodes)
        if self.settings.temperature == 0:
            draws = [draw for draw in self.iteration.draws if draw.layer == layer.layer]
            self.greedy.layer(layer, nodes, draws)
        self._scale(nodes, alive)
        if self.settings.temperature == 0:
            return
        pairs = [
            Pair(f"node {node.id}", node.target_prob or 0.0, self._score(node, parents[node.parent].multiplicity))
            for node in nodes
            if self.log_weights[node.id] > -math.inf
        ]
        self._ratios("P", pairs, ROUNDING)
        self._cut_off("P", pairs, ROUNDING)

    def _scale(self, nodes: Sequence[Node], alive: Sequence[InputBeam]) -> None:
        """P of a pair against its log-weight and those of the beams, of which a vocabulary cannot leave much room.

        The next tokens of a beam have the probability 1 together. So the sum of p**(1/T) over a vocabulary of V tokens
        lies between 1 and V**(1 - 1/T), and top-k pairs have at least their share of it. All is times T here.
        """
        settings, T = self.settings, self.settings.temperature
        size = math.log(self.models.target.vocabulary_size)
        pairs = math.log(len(alive)) + size
        share = pairs if settings.top_k == 0 else min(pairs, math.log(settings.top_k))
        loss = T * (pairs - share - math.log(settings.top_p)) + max(0.0, 1.0 - T) * size
        gain = max(0.0, T - 1.0) * size
        beams = {beam.node: beam.log_weight + T * math.log(beam.multiplicity) for beam in alive}
        most = max(beams.values())
        whole = most + T * math.log(math.fsum(math.exp((one - most) / T) for one in beams.values())) if T > 0 else most
        for node in nodes:
            if (node.target_prob or 0.0) > LEAST and self.log_weights[node.id] > -math.inf:
                own = self.log_weights[node.id] - self.log_weights[node.parent] + beams[node.parent] - whole
                found, name = T * math.log(node.target_prob or 1.0), f"temperature * log P of node {node.id}"
                self.checks.at_most(name, found, own + loss, SCALE_ROUNDING)
                self.checks.at_most(f"least {name}", own - gain, found, SCALE_ROUNDING)

    def _score(self, node: Node, multiplicity: int) -> float:
        return self.log_weights[node.id] * self.sharpness + math.log(max(multiplicity, 1))

    def _ratios(self, law: str, pairs: Iterable[Pair], rounding: float) -> None:
        known = [pair for pair in pairs if pair.probability > LEAST]
        if len(known) < 2:
            return
        best = max(known, key=lambda pair: pair.probability)
        allowed, unit = _rounded(known, rounding)
        for pair in known:
            if pair is not best:
                what = f"log {law} of {pair.name} less that of {best.name}"
                ratio = math.log(pair.probability) - math.log(best.probability)
                self.checks.close(what, ratio * unit, (pair.score - best.score) * unit, allowed)

    def _cut_off(self, law: str, pairs: Sequence[Pair], rounding: float) -> None:
        """What top-k or top-p cut off is no likelier than what they kept; without them only the impossible is cut."""
        kept = [pair.score for pair in pairs if pair.probability > LEAST]
        lost = [pair.score for pair in pairs if pair.probability <= LEAST]
        if not kept or not lost:
            return
        cuts = self.settings.top_k > 0 or self.settings.top_p < 1
        limit = min(kept) if cuts else max(kept) - LARGEST_GAP
        allowed, unit = _rounded(pairs, rounding)
        self.checks.at_most(f"score of a pair without {law}", max(lost) * unit, limit * unit, allowed)

    def _support(self, layer: Layer, nodes: Sequence[Node], beams: int) -> None:
        """How many pairs P has, where the settings say it."""
        settings, support, checks = self.settings, layer.target_support, self.checks
        if settings.temperature == 0 and settings.replacement:
            checks.same("support of P", support, 1)
            return
        vocabulary = self.models.target.vocabulary_size
        most = min(settings.top_k or beams * vocabulary, beams * vocabulary)
        checks.at_most("support of P", support, most)
        if (self.keeps_all or ranks_are_greedy(settings)) and not self.has_impossible:
            # a padded vocabulary may have a few ids that no text has
            is_certain = 0 < settings.top_k <= vocabulary // 2
            checks.at_most("least support of P", most if is_certain else most // 2, support)
        if settings.temperature > 0 and settings.top_p < 1 and support == most:
            # nothing was cut, so that all pairs but the least likely are below top_p
            known = [node.target_prob for node in nodes if node.target_prob]
            known += [pair.target_prob for pair in layer.alternatives if pair.target_prob]
            checks.at_most("1 - top_p", 1.0 - settings.top_p, min(known, default=1.0))

    def _alternatives(self, layer: Layer, nodes: Sequence[Node]) -> None:
        """The likeliest pairs are in order, and those that are nodes have their probabilities."""
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
            if node is not None and (forest_node is not None or not ranks_are_greedy(self.settings)):
                self.checks.close(f"P of {name}", pair.target_prob, node.target_prob or 0.0)
                if layer.kind == "draft" and node.draft_prob is not None:
                    self.checks.close(f"Q of {name}", pair.draft_prob, node.draft_prob)
        if pairs and not ranks_are_greedy(self.settings):
            known = {content: node.target_prob or 0.0 for content, node in by_content.items()}
            known |= {(pair.parent, pair.token_id): pair.target_prob for pair in pairs}
            self.checks.at_most("sum of P over the known pairs", math.fsum(known.values()), 1.0)
            listed = {(pair.parent, pair.token_id) for pair in pairs}
            others = [node.target_prob or 0.0 for content, node in by_content.items() if content not in listed]
            self.checks.at_most("P of a node beside the likeliest", max(others, default=0.0), probs[-1])

    def _counts(self, number: int, nodes: Sequence[Node], beams: int) -> None:
        """The nodes of a drafted layer: as many as asked for, unless the law had no more pairs."""
        settings, checks = self.settings, self.checks
        kinds: Counter[str] = Counter(node.kind for node in nodes)
        is_drafted = number <= self.iteration.draft_depth
        asked = (0, settings.draft_width) if self.is_likely else (settings.draft_width, settings.cover_width)
        if not settings.draws_drafts:
            asked = (0, 0)
        for kind, most in zip(("drafted", "cover"), asked, strict=True):
            checks.at_most(f"{kind} nodes of layer {number}", kinds[kind], most if is_drafted and beams else 0)
        if not is_drafted or not beams or self.models.draft is None:
            return
        pairs = min(settings.top_k or math.inf, beams * (self.models.draft.vocabulary_size // 2))
        used = kinds["drafted"] if settings.replacement else asked[0]  # draws of probability 0 use up pairs too
        if used + kinds["cover"] + ENDS * beams < pairs and (self.keeps_all or not self.is_likely):
            checks.same(f"cover nodes of layer {number}", kinds["cover"], asked[1])
        trials = [trial.node for trial in self.iteration.trials if trial.layer == number]
        if trials and not self.is_likely and settings.lossless:
            drafted = [node.id for node in nodes if node.kind == "drafted"]
            checks.same(f"nodes tried in layer {number}", [*dict.fromkeys(trials)], drafted)
            if not settings.replacement and settings.draft_width <= pairs and (
                self.keeps_all or ranks_are_greedy(settings)
            ):  # fmt: skip
                checks.same(f"drafts of layer {number}", len(trials), settings.draft_width)

    def _draft_ratios(
        self, number: int, nodes: Sequence[Node], weights: Mapping[int, float], slots: Mapping[int, int]
    ) -> None:
        if self.settings.temperature == 0:
            self.greedy.forest(number, nodes, weights)
            return
        pairs = [
            Pair(f"node {node.id}", node.draft_prob or 0.0,
                 weights[node.id] * self.sharpness + math.log(slots.get(node.parent, 1)))
            for node in nodes
        ]  # fmt: skip
        self.checks.at_most(f"sum of Q in layer {number}", math.fsum(pair.probability for pair in pairs), 1.0)
        self._ratios("Q", pairs, SINGLE_ROUNDING)
        self._cut_off("Q", pairs, SINGLE_ROUNDING)

    def _slots(self, number: int, sources: Mapping[int, float]) -> dict[int, int]:
        """How many draws each draft of a layer stands for; 1 where draws cannot repeat."""
        if self.is_likely or not self.settings.replacement:
            return dict.fromkeys(sources, 1)
        return Counter(trial.node for trial in self.iteration.trials if trial.layer == number)


def _rounded(pairs: Iterable[Pair], rounding: float) -> tuple[float, float]:
    """What rounding may do to scores, and the unit in which they are compared.

    Where it is so cold that even their whole part is rounded, the unit is so small that the rounding stays bounded.
    """
    allowed = rounding * max(1.0, *(abs(pair.score) for pair in pairs))
    unit = min(1.0, LOOSEST / allowed)
    return allowed * unit, unit
