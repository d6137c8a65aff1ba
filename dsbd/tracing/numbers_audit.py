"""Audits which numbers a record holds, and their range.

What is checked here follows from the settings and the verdicts alone, not from other numbers.
"""

import math
from collections import defaultdict

from dsbd.tracing.checks import Checks
from dsbd.tracing.records import Iteration, Layer, Node, Trial

TRIAL_NUMBERS = {
    "accepted": ("residual_prob", "c", "S", "acceptance", "uniform"),
    "rejected": ("residual_prob", "c", "S", "acceptance", "uniform"),
    "orphaned": ("c", "S"),
    "unneeded": (),
}
"""The numbers of a trial that is not part of a joint test, by verdict; the others are null."""
SINGLE = 1e-4
"""What single precision may add to a sum of probabilities, or to a log-probability."""


class NumbersAudit:
    """The numbers of one iteration."""

    def __init__(self, checks: Checks, iteration: Iteration) -> None:
        self.checks, self.settings, self.iteration = checks, checks.settings, iteration
        self.named = {trial.node for trial in iteration.trials} | {draw.node for draw in iteration.draws}
        self.taken = {beam.node for layer in iteration.layers for beam in layer.beams}

    def run(self) -> None:
        """Check them all."""
        nodes = self.iteration.nodes
        for node in nodes:
            self._node(node)
        contents = {(node.parent, node.token_id) for node in nodes}
        self.checks.same("number of different nodes", len(contents), len(nodes))
        self._masses("target_log_prob")
        self._masses("draft_log_prob")
        if self.settings.lossless:
            for trial in self.iteration.trials:
                self._trial(trial)
        for layer in self.iteration.layers:
            self._layer(layer)

    def _node(self, node: Node) -> None:
        """A drawn node has numbers of the target only, a forest node those of both, as far as its layer was reached."""
        checks, of_forest, name = self.checks, node.kind != "drawn", f"node {node.id}"
        self._token(f"token of {name}", node.token_id)
        checks.same(f"draft_log_prob of {name} is a number", node.draft_log_prob is not None, of_forest)
        checks.same(f"draft_prob of {name} is a number", node.draft_prob is not None, of_forest)
        checks.same(f"target_prob of {name} is a number", node.target_prob is not None, self._is_reached(node))
        possible = node.target_log_prob is not None
        if not self.settings.lossless and node.id not in self.named:  # the target scores the best beam only
            checks.same(f"target_log_prob of {name} is a number", possible, False)
        elif (node.target_prob or 0.0) > 0 or node.id in self.taken:
            checks.same(f"target_log_prob of {name} is a number", possible, True)
        if self.settings.temperature > 0 and (node.kind == "drafted" or (of_forest and checks.is_likely)):
            checks.same(f"{name} could be drafted", (node.draft_prob or 0.0) > 0, True)
        self._probabilities(f"a probability of {name}", node.target_prob, node.draft_prob)

    def _is_reached(self, node: Node) -> bool:
        layers = self.iteration.layers
        if node.layer > len(layers):
            return False
        return self.settings.branching is None or node.parent in layers[node.layer - 1].alive

    def _token(self, what: str, token: int) -> None:
        fits = 0 <= token < self.checks.trace.models.target.vocabulary_size
        self.checks.same(f"{what} is in the vocabulary", fits, True)

    def _masses(self, name: str) -> None:
        """The next tokens of one beam have at most the probability 1 together."""
        known = defaultdict[int, list[float]](list)
        for node in self.iteration.nodes:
            number = getattr(node, name)
            if number is not None:
                self.checks.at_most(f"{name} of node {node.id}", number, 0.0, SINGLE)
                known[node.parent].append(math.exp(min(number, 0.0)))
        for parent, masses in known.items():
            self.checks.at_most(f"sum of exp({name}) below node {parent}", math.fsum(masses), 1.0, SINGLE)

    def _trial(self, trial: Trial) -> None:
        held = TRIAL_NUMBERS.get(trial.verdict, ())
        for name in TRIAL_NUMBERS["rejected"]:
            what = f"{name} is a number, trial of node {trial.node}"
            self.checks.same(what, getattr(trial, name) is not None, name in held)

    def _layer(self, layer: Layer) -> None:
        has_mass = self.checks.is_likely and layer.kind == "draft"
        self.checks.same("mass of the forest is a number", layer.forest_mass is not None, has_mass)
        for pair in layer.alternatives:
            self._token(f"token {pair.token_id}", pair.token_id)
            self._probabilities(f"a probability of token {pair.token_id}", pair.target_prob, pair.draft_prob)

    def _probabilities(self, what: str, *numbers: float | None) -> None:
        for number in numbers:
            if number is not None:
                self.checks.at_most(f"0 to {what}", 0.0, number)
                self.checks.at_most(what, number, 1.0)
