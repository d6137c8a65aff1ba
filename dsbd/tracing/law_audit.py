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
from dsbd.tracing.checks import Checks
from dsbd.tracing.records import InputBeam, Iteration, Layer, Models, Node
from dsbd.tracing.width_audit import drafts_asked, ranks_are_greedy

ROUNDING = 1e-12
"""Of a score in double precision, relative to the largest score of its layer."""
SINGLE_ROUNDING = 1e-6
"""The same in single precision, in which the draft model's scores are added up."""
LEAST = 1e-290
"""Smaller probabilities have lost digits."""
WARM = 0.5
"""From this temperature on no pair of a language model is so unlikely that its probability becomes 0."""
ENDS = 8
"""Most end-of-sequence tokens that a model is expected to have."""
COLDEST = 1e-6
"""Below this temperature, scores are too large to compare."""


class Pair(NamedTuple):
    """One pair of a joint law."""

    name: str
    probability: float
    score: float
    """(log-weight / temperature) plus the logarithm of its beam's multiplicity."""


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
        self.has_impossible = any(node.target_log_prob is None for node in iteration.nodes)
        self.keeps_all = settings.top_p == 1 and settings.temperature >= WARM
        self.is_likely = settings.forest == "likely"

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
            is_known = number == 1 or self.is_likely or not self.settings.replacement
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
            tried = {trial.node for trial in self.iteration.trials if trial.layer == number}
            for parent in sorted(parents):
                family = [node for node in nodes if node.parent == parent]
                self._family(number, parent, family, asked)
                if tried & {node.id for node in family}:
                    checks.same(f"nodes tried in layer {number}", tried, {node.id for node in family})
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
        if self.settings.branching is not None:
            others = [node for node in self.of_layer.get(layer.layer, []) if node.parent not in parents]
            self.checks.same("P below other beams", {node.target_prob for node in others} <= {None}, True)
        nodes = [node for node in self.of_layer.get(layer.layer, []) if node.parent in parents]
        self._support(layer, nodes, len(alive))
        self._alternatives(layer, nodes)
        if self.settings.temperature < COLDEST:
            return
        pairs = [
            Pair(f"node {node.id}", node.target_prob or 0.0, self._score(node, parents[node.parent].multiplicity))
            for node in nodes
            if self.log_weights[node.id] > -math.inf
        ]
        self._ratios("P", pairs, ROUNDING)
        self._cut_off(pairs)

    def _score(self, node: Node, multiplicity: int) -> float:
        return self.log_weights[node.id] / self.settings.temperature + math.log(max(multiplicity, 1))

    def _ratios(self, law: str, pairs: Iterable[Pair], rounding: float) -> None:
        known = [pair for pair in pairs if pair.probability > LEAST]
        if len(known) < 2:
            return
        best = max(known, key=lambda pair: pair.probability)
        allowed = rounding * max(1.0, *(abs(pair.score) for pair in known))
        for pair in known:
            if pair is not best:
                what = f"log {law} of {pair.name} less that of {best.name}"
                ratio = math.log(pair.probability) - math.log(best.probability)
                self.checks.close(what, ratio, pair.score - best.score, allowed)

    def _cut_off(self, pairs: Sequence[Pair]) -> None:
        """What top-k or top-p cut off is no likelier than what they kept; without them only the impossible is cut."""
        kept = [pair.score for pair in pairs if pair.probability > 0]
        lost = [pair.score for pair in pairs if pair.probability == 0]
        if not kept or not lost:
            return
        cuts = self.settings.top_k > 0 or self.settings.top_p < 1
        limit = min(kept) if cuts else max(kept) - 700.0
        self.checks.at_most("score of a pair that has no probability", max(lost), limit)

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
        self.checks.same("order of the likeliest pairs", probs, sorted(probs, reverse=True))
        self.checks.at_most("number of likeliest pairs", len(pairs), layer.target_support)
        self.checks.same("parents of the likeliest pairs", {pair.parent for pair in pairs} <= set(layer.alive), True)
        for pair in pairs:
            node = by_content.get((pair.parent, pair.token_id))
            forest_node = node.id if node is not None and node.kind != "drawn" else None
            name = f"token {pair.token_id} below node {pair.parent}"
            self.checks.same(f"node of {name}", pair.node, forest_node)
            if node is not None and not ranks_are_greedy(self.settings):
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
            drafted = {node.id for node in nodes if node.kind == "drafted"}
            checks.same(f"nodes tried in layer {number}", set(trials), drafted)
            if not settings.replacement and settings.draft_width <= pairs and (
                self.keeps_all or ranks_are_greedy(settings)
            ):  # fmt: skip
                checks.same(f"drafts of layer {number}", len(trials), settings.draft_width)

    def _draft_ratios(
        self, number: int, nodes: Sequence[Node], weights: Mapping[int, float], slots: Mapping[int, int]
    ) -> None:
        if self.settings.temperature < COLDEST:
            return
        pairs = [
            Pair(f"node {node.id}", node.draft_prob or 0.0,
                 weights[node.id] / self.settings.temperature + math.log(slots.get(node.parent, 1)))
            for node in nodes
        ]  # fmt: skip
        self.checks.at_most(f"sum of Q in layer {number}", math.fsum(pair.probability for pair in pairs), 1.0)
        self._ratios("Q", pairs, SINGLE_ROUNDING)

    def _slots(self, number: int, sources: Mapping[int, float]) -> dict[int, int]:
        """How many draws each draft of a layer stands for; 1 where draws cannot repeat."""
        if self.is_likely or not self.settings.replacement:
            return dict.fromkeys(sources, 1)
        return Counter(trial.node for trial in self.iteration.trials if trial.layer == number)
