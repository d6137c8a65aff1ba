"""Audits a joint test: the best beam, its sums, its verdicts, and the layers that follow from them.

*Source:* docs/algorithm.md, *Joint tests*.
"""

import math

from dsbd.law.verdicts import TAKEN
from dsbd.tracing.checks import Checks
from dsbd.tracing.layer_audit import LayerAudit
from dsbd.tracing.records import Iteration, JointSums, Trial


class JointAudit:
    """The joint test of one iteration; its layers are for :class:`JointLayerAudit`."""

    def __init__(self, checks: Checks, iteration: Iteration) -> None:
        self.checks, self.settings, self.iteration = checks, checks.settings, iteration
        self.nodes = {node.id: node for node in iteration.nodes if node.kind == "drafted"}

    def run(self) -> None:
        """Decide it again."""
        trials, checks, start = self.iteration.trials, self.checks, self.checks.place
        self._best_beam()
        target = draft = 0.0
        passed = 0
        for place, trial in enumerate(trials, 1):
            checks.place = f"{start}, layer {place}"
            node, name = self.nodes[trial.node], f"trial of node {trial.node}"
            target += -math.inf if node.target_log_prob is None else node.target_log_prob
            draft += node.draft_log_prob or 0.0
            sums = self._sums(trial, target, draft, name)
            acceptance = 0.0 if sums.target is None else math.exp(min(sums.target - sums.draft, 0.0))
            checks.close(f"acceptance probability, {name}", trial.acceptance, acceptance)
            if self._passes(trial):
                passed = place
        for place, trial in enumerate(trials, 1):
            checks.place = f"{start}, layer {place}"
            verdict = "rejected" if place > passed else "accepted" if self._passes(trial) else "carried"
            checks.same(f"verdict, trial of node {trial.node}", trial.verdict, verdict)
        checks.place = start
        ends = bool(trials) and passed == len(trials) and self.nodes[trials[-1].node].ends
        is_whole = ends or (self.settings.searches_blocks and bool(trials))
        checks.same("layers of the joint test", len(self.iteration.layers), passed + (not is_whole))

    def _passes(self, trial: Trial) -> bool:
        """True where the beam up to a draft reaches the threshold; no impossible beam does."""
        possible = trial.joint is not None and trial.joint.target is not None
        return possible and (trial.acceptance or 0.0) >= self.settings.joint_threshold

    def _best_beam(self) -> None:
        """The trials go down the beam with the largest sum under the draft model: to the last layer, or to an end."""
        depth, checks, start = self.iteration.draft_depth, self.checks, self.checks.place
        ends = [node.id for node in self.nodes.values() if node.layer == depth or node.ends]
        checks.same("a joint test", bool(self.iteration.trials), bool(ends))
        parent = self.iteration.input_beams[0].node
        for place, trial in enumerate(self.iteration.trials, 1):
            checks.place = f"{start}, layer {place}"
            node, name = self.nodes.get(trial.node), f"trial of node {trial.node}"
            if node is None or node.parent != parent or node.draft_log_prob is None:
                checks.broken(f"{name}: it does not go on with the best beam")
            held = (trial.layer, trial.order, trial.residual_prob, trial.c, trial.S, trial.uniform)
            checks.same(f"layer, order and numbers of other tests, {name}", held, (place, 0, None, None, None, None))
            checks.close(f"draft probability, {name}", trial.draft_prob, node.draft_prob or 0.0)
            parent = node.id
        checks.place = start
        if ends:
            draft_sums = self._draft_sums()
            checks.same("end of the best beam", parent in ends, True)
            best = max(draft_sums[end] for end in ends)
            checks.close("sum of the best beam under the draft model", draft_sums[parent], best)

    def _sums(self, trial: Trial, target: float, draft: float, name: str) -> JointSums:
        sums = trial.joint
        if sums is None:
            self.checks.broken(f"joint sums, {name}: they are missing")
        self.checks.close(f"threshold, {name}", sums.threshold, self.settings.joint_threshold)
        self.checks.close(f"draft's sum, {name}", sums.draft, draft)
        if target == -math.inf:
            self.checks.same(f"target's sum, {name}", sums.target, None)
        else:
            self.checks.close(f"target's sum, {name}", sums.target, target)
        return sums

    def _draft_sums(self) -> dict[int, float]:
        sums = {beam.node: 0.0 for beam in self.iteration.input_beams}
        for node in self.nodes.values():
            log_prob = -math.inf if node.draft_log_prob is None else node.draft_log_prob
            sums[node.id] = sums.get(node.parent, -math.inf) + log_prob
        return sums


class JointLayerAudit(LayerAudit):
    """A layer after a joint test: one token, which was accepted or drawn."""

    def _width(self) -> None:
        layer, checks = self.layer, self.checks
        drafted = layer.kind == "draft"
        chain = [0, [0.0], [1.0], [], [1.0]] if drafted else [0, [], [], [], []]
        held = [layer.draws_planned, layer.chain_c, layer.chain_S, layer.acceptance_chain, layer.accepted_distribution]
        checks.same("chain of the layer", held, chain)
        checks.same("width", (layer.width, layer.width_reason), (1, "joint" if drafted else "bonus"))
        checks.same("a bonus layer has no trials", drafted, bool(self.trials))

    def _trial(self, trial: Trial) -> None:
        """The verdict was decided for the whole beam; here the token only takes its place."""
        if trial.verdict in TAKEN:
            self.state.accepted.append(trial.node)

    def _outcome(self) -> str:
        return "block" if self.settings.searches_blocks and self.is_last and self.trials else super()._outcome()
