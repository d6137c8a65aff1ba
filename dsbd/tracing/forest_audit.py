"""Audits Q, the draft model's law in the layers of a forest: how many nodes each has, and their ratios.

*Source:* docs/algorithm.md, *The joint law* and *SpecInfer's tree*.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from dsbd.tracing.checks import Checks
from dsbd.tracing.law_audit import ScoredPair, check_ratios, keeps_all, sharpness
from dsbd.tracing.records import Iteration, Node
from dsbd.tracing.width_audit import drafts_asked

ROUNDING = 1e-6
"""Of a draft model's score, relative to the largest of its layer: they are added up in single precision."""
ENDS = 8
"""Most end-of-sequence tokens that a model is expected to have."""


class ForestAudit:
    """The forest of one iteration."""

    def __init__(self, checks: Checks, iteration: Iteration) -> None:
        self.checks, self.settings, self.iteration = checks, checks.settings, iteration
        self.draft = checks.trace.models.draft
        self.deepest = max([iteration.draft_depth, *(node.layer for node in iteration.nodes)])

    def run(self) -> None:
        """Check how many nodes each drafted layer has, and the ratios of Q."""
        if self.settings.branching is None:
            self._joint_forest()
        else:
            self._tree()

    def _joint_forest(self) -> None:
        sources = {beam.node: beam.log_weight for beam in self.iteration.input_beams}
        slots = {beam.node: beam.multiplicity for beam in self.iteration.input_beams}
        is_sure = self.checks.is_likely or not self.settings.replacement or self.settings.temperature == 0
        tried = {trial.layer for trial in self.iteration.trials}
        for number in range(1, self.deepest + 1):
            nodes = self._nodes(number)
            self._counts(number, nodes, len(sources))
            weights = {node.id: sources[node.parent] + (node.draft_log_prob or 0.0) for node in nodes
                       if node.parent in sources and node.draft_log_prob is not None}  # fmt: skip
            if number == 1 or is_sure or (self.settings.lossless and number - 1 in tried):
                self._ratios(number, [node for node in nodes if node.id in weights], weights, slots)
            kind = "cover" if self.checks.is_likely else "drafted"
            sources = {node.id: weights[node.id] for node in nodes
                       if node.kind == kind and not node.ends and node.id in weights}  # fmt: skip
            slots = self._slots(number)

    def _tree(self) -> None:
        """A forest drawn per parent: each family has a separate law, and only nodes that live have one."""
        checks, settings = self.checks, self.settings
        parents = {beam.node for beam in self.iteration.input_beams}
        for number in range(1, self.deepest + 1):
            nodes = self._nodes(number)
            checks.same(f"cover nodes of layer {number}", sum(node.kind == "cover" for node in nodes), 0)
            asked = drafts_asked(settings, number) if number <= self.iteration.draft_depth else 0
            checks.same(f"parents of layer {number}", {node.parent for node in nodes} <= parents, True)
            tried = dict.fromkeys(self._tried(number))
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
        if self.draft is not None and not settings.replacement:
            pairs = min(settings.top_k or math.inf, self.draft.vocabulary_size // 2)
            if asked <= pairs and self._has_all_asked():
                checks.same(f"children of node {parent}", len(family), asked)
        known = [node for node in family if node.draft_log_prob is not None]
        self._ratios(number, known, {node.id: node.draft_log_prob or 0.0 for node in known}, {})

    def _counts(self, number: int, nodes: Sequence[Node], beams: int) -> None:
        """The nodes of a drafted layer: as many as asked for, unless the law had no more pairs."""
        settings, checks = self.settings, self.checks
        kinds: Counter[str] = Counter(node.kind for node in nodes)
        is_drafted = number <= self.iteration.draft_depth
        asked = (0, settings.draft_width) if self.checks.is_likely else (settings.draft_width, settings.cover_width)
        for kind, most in zip(("drafted", "cover"), asked, strict=True):
            checks.at_most(f"{kind} nodes of layer {number}", kinds[kind], most if is_drafted and beams else 0)
        if not is_drafted or not beams or self.draft is None:
            return
        pairs = min(settings.top_k or math.inf, beams * (self.draft.vocabulary_size // 2))
        used = kinds["drafted"] if settings.replacement else asked[0]  # draws of probability 0 use up pairs too
        if used + kinds["cover"] + ENDS * beams < pairs and (keeps_all(settings) or not self.checks.is_likely):
            checks.same(f"cover nodes of layer {number}", kinds["cover"], asked[1])
        trials = self._tried(number)
        if trials and not self.checks.is_likely and settings.lossless:
            drafted = [node.id for node in nodes if node.kind == "drafted"]
            checks.same(f"nodes tried in layer {number}", [*dict.fromkeys(trials)], drafted)
            if not settings.replacement and settings.draft_width <= pairs and self._has_all_asked():
                checks.same(f"drafts of layer {number}", len(trials), settings.draft_width)

    def _has_all_asked(self) -> bool:
        """True where draws without replacement end only after as many as asked for, or where no token is left."""
        return keeps_all(self.settings) or self.checks.is_greedy

    def _ratios(
        self, number: int, nodes: Sequence[Node], weights: Mapping[int, float], slots: Mapping[int, int]
    ) -> None:
        """The ratios of one draft law; ``weights`` are the nodes' log-weights under the draft model."""
        if self.settings.temperature == 0:
            self._greedy(number, nodes, weights)
            return
        scale = sharpness(self.settings)
        pairs = [
            ScoredPair(f"node {node.id}", node.draft_prob or 0.0,
                 weights[node.id] * scale + math.log(slots.get(node.parent, 1)))
            for node in nodes
        ]  # fmt: skip
        self.checks.at_most(f"sum of Q in layer {number}", math.fsum(pair.probability for pair in pairs), 1.0)
        check_ratios(self.checks, "Q", pairs, ROUNDING)

    def _greedy(self, number: int, nodes: Sequence[Node], weights: Mapping[int, float]) -> None:
        """At temperature 0 the nodes of a draft law are its best pairs, the best one first, which has all of Q."""
        held = [node.draft_prob for node in nodes]
        self.checks.same(f"Q in layer {number}", held, [1.0, 0.0][: len(nodes)] + [0.0] * (len(nodes) - 2))
        allowed = ROUNDING * max([1.0, *(abs(weights[node.id]) for node in nodes)])
        for better, worse in pairwise(nodes):
            name = f"draft's log-weight of node {worse.id}"
            self.checks.at_most(name, weights[worse.id], weights[better.id], allowed)

    def _nodes(self, number: int) -> list[Node]:
        return [node for node in self.iteration.nodes if node.layer == number and node.kind != "drawn"]

    def _tried(self, number: int) -> list[int]:
        return [trial.node for trial in self.iteration.trials if trial.layer == number]

    def _slots(self, number: int) -> dict[int, int]:
        """Return how often each draft of a layer was drawn; empty if no draft can repeat."""
        return {} if self.checks.is_likely or not self.settings.replacement else Counter(self._tried(number))
