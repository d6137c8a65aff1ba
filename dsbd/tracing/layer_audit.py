"""Decides one layer of a trace again: its width, trials, draws and beams.

The distribution's own arithmetic (``Residual``, ``Width``) runs on the recorded candidates, and behind them on one more
candidate for all others: of these the sum of P is known, and nothing of Q. So S is only bounded where it follows from
them, too.

*Source:* docs/algorithm.md, *One iteration*, *The residual in closed form*, *The dynamic width* and *Joint tests*.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from operator import add

import numpy as np

from dsbd.tracing.distribution_audit import BrokenError, Checks
from dsbd.tracing.records import ROOT, Draw, InputBeam, IterationRecord, Layer, NodeRecord, Trial
from dsbd.verification.distributions import Floats, JointDistribution, Residual, excess
from dsbd.verification.joint import ONE_SEQUENCE, acceptance, passes
from dsbd.verification.verified import TAKEN
from dsbd.verification.width import BONUS, COUPLED, Width, cap_width, width_after_chain

LEAST_LEFT = 1e-280
"""Where less of P is left, recorded probabilities have lost the digits that P' follows from."""
TRIED = ("residual_prob", "c", "S", "acceptance", "uniform")
NUMBERS = {"accepted": TRIED, "rejected": TRIED, "orphaned": ("c", "S"), "unneeded": ()}
"""The numbers of a trial that is not part of a joint test, by verdict; the others are null."""


class LayerAudit:
    """One layer of an iteration."""

    def __init__(self, checks: Checks, iteration: IterationRecord, layer: Layer) -> None:
        self.checks, self.settings, self.layer = checks, checks.settings, layer
        self.trials = [trial for trial in iteration.trials if trial.layer == layer.layer]
        self.draws = [draw for draw in iteration.draws if draw.layer == layer.layer]
        self.nodes = {node.id: node for node in iteration.nodes if node.layer == layer.layer}
        self.is_last = layer.layer == len(iteration.layers)
        self.is_below_forest = layer.layer > iteration.draft_depth
        self.distribution, self.draft_probs = self._recorded_distribution()
        self.residual = Residual(self.distribution, self.draft_probs, self.settings.replacement)
        self.drafted = 0.0
        """Q of the drafts so far."""
        self.rejections = 0
        """Since the last acceptance or draw: each one moved the residual."""
        self.taken = set[int]()
        """The candidates that coupled draws without replacement have taken."""
        self.finished: dict[int, InputBeam] = {}
        """The beams that ended, by node."""
        self.outcome = ""
        """What the layer's outcome is, if the decode goes on."""

    def run(self) -> list[InputBeam]:
        """Decide it again; returns the beams that live on."""
        layer, checks, yielded = self.layer, self.checks, list[int]()
        self._width()
        for order, trial in enumerate(self.trials):
            checks.same("order of a trial", trial.order, order)
            self._trial(trial, len(yielded))
            yielded += [trial.node] * (trial.verdict in TAKEN)
        checks.same("accepted drafts", layer.accepted, len(yielded))
        checks.same("draws", len(self.draws), layer.width - len(yielded))
        for order, draw in enumerate(self.draws):
            checks.same("order of a draw", draw.order, order)
            self._draw(draw)
        return self._yielded(yielded + [draw.node for draw in self.draws])

    def _recorded_distribution(self) -> tuple[JointDistribution, Floats]:
        """Return P and Q of the recorded candidates, in their order, and of one candidate for all others."""
        alive = self.layer.alive
        beam_index = {node: index for index, node in enumerate(alive)}
        drawn = {draw.node: draw.draft_prob for draw in self.draws}  # a drawn node holds no Q
        candidates = {
            (beam_index[node.parent], node.token_id): (
                node.target_prob or 0.0,
                node.draft_prob or drawn.get(node.id, 0.0),
            )
            for node in self.nodes.values()
            if node.parent in beam_index
        }
        listed = {
            (beam_index[one.parent], one.token_id): one for one in self.layer.alternatives if one.parent in beam_index
        }
        candidates |= {content: (one.target_prob, one.draft_prob) for content, one in listed.items()}
        self.index = {candidate: index for index, candidate in enumerate(sorted(candidates))}
        self.index_of = {
            node.id: self.index[beam_index[node.parent], node.token_id]
            for node in self.nodes.values()
            if node.parent in beam_index
        }
        target, draft = np.array([candidates[candidate] for candidate in self.index] + [(0.0, 0.0)]).T
        known, ranks = math.fsum(target), None
        self.rest = target[-1] = max(1.0 - known, LEAST_LEFT)
        if not self.checks.is_greedy:
            self.checks.at_most("sum of P over the known candidates", known, 1.0)
        else:  # certain in their turn are the beams of the layer
            first = [self.index_of[beam.node] for beam in self.layer.beams if beam.node in self.index_of]
            ranks = np.array([*first, *(index for index in range(target.size) if index not in first)])
            self.rest = 0.0
        keys = np.array([(beam << 32) | token for beam, token in self.index] + [len(alive) << 32])
        with np.errstate(divide="ignore"):
            return JointDistribution(keys, target, np.zeros(target.size), np.log(target), ranks), draft

    # ---- the width

    def _width(self) -> None:
        layer, checks = self.layer, self.checks
        width = self._expected_width()
        checks.same("chosen width", layer.width, width.width)
        checks.same("reason of the width", layer.width_reason, width.numbers.width_reason)
        for name in ("chain_c", "chain_S", "acceptance_chain", "accepted_distribution"):
            checks.all_close("chain of the width", getattr(layer, name), getattr(width.numbers, name), name)

    def _expected_width(self) -> Width:
        """Return the width that follows from the recorded S; that of a coupled forest is fixed."""
        layer, checks, settings = self.layer, self.checks, self.settings
        own = [node for node in self.nodes.values() if node.parent in layer.alive]
        is_waiting = not self.is_below_forest and any(node.kind == checks.tried_kind for node in own)
        if self.is_below_forest or layer.kind == "bonus":
            checks.same("kind of the layer", layer.kind, "draft" if is_waiting else "bonus")
        checks.same("trials", len(self.trials), layer.draws_planned)
        if layer.kind == "draft":
            below = own if settings.branching else self.nodes.values()
            drafted = [node.id for node in below if node.kind == "drafted"]
            checks.same("nodes tried", [*dict.fromkeys(trial.node for trial in self.trials)], drafted)
        if layer.kind == "bonus":
            return Width(cap_width(settings.max_width, layer.target_support, settings), lambda: BONUS)
        if checks.is_coupled:
            return Width(cap_width(settings.max_width, layer.target_support, settings), lambda: COUPLED)
        if settings.replacement:
            planned = settings.branching[layer.layer - 1] if settings.branching else settings.draft_width
            checks.same("planned drafts", layer.draws_planned, planned)
        target = self.distribution.masses()
        for c, S in zip(layer.chain_c, layer.chain_S, strict=True):
            self._bound(S, float(excess(target, self.draft_probs, c).sum()), self.rest if c else 0.0, "chain")
        chain_c = [0.0, *map(add, layer.chain_c, layer.chain_S[:-1])]
        return width_after_chain(chain_c, layer.chain_S, layer.target_support, settings)

    # ---- trials

    def _trial(self, trial: Trial, accepted: int) -> None:
        """Decide one draft again, of which ``accepted`` came before, and move the residual on."""
        node, checks, name = self.nodes[trial.node], self.checks, f"trial of node {trial.node}"
        checks.same("joint sums", trial.joint, None, name)
        draft_prob = node.draft_prob or 0.0
        rest = 1.0 if self.settings.replacement or checks.is_greedy else 1.0 - self.drafted
        self.drafted += draft_prob
        checks.close("Q of a trial", trial.draft_prob * rest, 1.0 if checks.is_greedy else draft_prob, name)
        verdict = self._verdict(trial, node, accepted, name)
        checks.same("verdict", trial.verdict, verdict, name)
        numbers = tuple(number for number in TRIED if getattr(trial, number) is not None)
        checks.same("numbers of a trial", numbers, NUMBERS.get(trial.verdict), name)
        if trial.verdict == "accepted":
            self.residual.accept(self.index_of[trial.node])
            self.rejections = 0
        elif trial.verdict != "unneeded":
            gain = 1.0 if checks.is_greedy or draft_prob <= 0 else trial.draft_prob / draft_prob
            self._reject(self.index_of.get(trial.node), gain)

    def _verdict(self, trial: Trial, node: NodeRecord, accepted: int, name: str) -> str:
        if accepted == self.layer.width:
            return "unneeded"
        self._adopt(trial, name)
        if node.parent not in self.layer.alive:
            return "orphaned"
        left = self._left(node.id, trial.residual_prob or 0.0)
        self.checks.close("residual", trial.residual_prob, left, name)
        acceptance = min(1.0, left / trial.draft_prob) if trial.draft_prob > 0 else 1.0
        self.checks.close("acceptance", trial.acceptance, acceptance, name)
        return "accepted" if self.checks.uniform(trial.uniform, name) < (trial.acceptance or 0.0) else "rejected"

    def _adopt(self, record: Trial | Draw, name: str) -> None:
        """Check c and S of a record, and go on with them: a small S has digits that 1 - mass has lost."""
        self.checks.close("c", record.c, self.residual.c, name)
        unknown = self.rest if self.rejections and not self.settings.replacement else 0.0
        self._bound(record.S, self.residual.S, unknown, name)
        self.residual.c, self.residual.S = record.c or 0.0, record.S or 0.0

    def _bound(self, S: float | None, most: float, unknown: float, name: str) -> None:
        """Check S, of which the candidates that are not recorded can take ``unknown`` at most."""
        self.checks.at_most("S", S, most, name)
        self.checks.at_most("least S", most - unknown, S or 0.0, name)

    def _left(self, node: int, recorded: float) -> float:
        """Return P' at a node; what is recorded where nearly nothing of P is left."""
        index = self.index_of.get(node)
        if self.residual.S < LEAST_LEFT:
            return min(max(recorded, 0.0), 1.0)
        return 0.0 if index is None else self.residual.probability(index)

    def _reject(self, index: int | None, gain: float) -> None:
        """Move the residual on. Its S stands in the chain or, without replacement, in the next record."""
        S = self.layer.chain_S[self.rejections + 1] if self.settings.replacement else 1.0
        if S > 0:  # else nothing is left, and the residual stays
            self.residual.reject(index, gain)
            self.rejections += 1
        if self.settings.replacement and S > 0:
            self.residual.S = S

    # ---- draws

    def _draw(self, draw: Draw) -> None:
        """Decide one draw again: its kind, its distribution, and the interval its uniform fell in or the noise."""
        checks, layer, name = self.checks, self.layer, f"draw of node {draw.node}"
        node = self.nodes[draw.node]
        kind = "recovered" if self.rejections else self._kind()
        is_guessed = checks.is_coupled and kind == "fresh" and node.kind != "drawn"
        checks.same("kind of a draw", draw.kind, "guessed" if is_guessed else kind, name)
        checks.same("draw of a forest node", draw.landed, node.kind != "drawn", name)
        if not checks.is_coupled:
            self._adopt(draw, name)
        index = self.index_of.get(draw.node, -1)  # -1: its parent is not alive
        target, draft = (0.0, 0.0) if index < 0 else (self.distribution.probability(index), self.draft_probs[index])
        checks.close("P of a draw", draw.target_prob, target, name)
        if node.kind == "drawn":
            checks.close("P of a drawn node", node.target_prob, draw.target_prob, name)
        checks.close("Q of a draw", draw.draft_prob, 0.0 if layer.kind == "bonus" else draft, name)
        numbers = (draw.c, draw.S, draw.uniform, draw.cdf_low, draw.cdf_high)
        checks.same(
            "numbers of a draw",
            [number is None for number in (*numbers, draw.noise)],
            [checks.is_coupled] * 5 + [not checks.is_coupled],
            name,
        )
        self._by_noise(draw, index, name) if checks.is_coupled else self._by_interval(draw, index, name)
        self.residual.take(index)
        self.rejections = 0

    def _by_noise(self, draw: Draw, index: int, name: str) -> None:
        """Check the noise of a draw, and that no recorded candidate that is left has more score + noise."""
        noise = self.noise[draw.order if self.settings.replacement else 0]
        if not self.checks.is_greedy and self.distribution.probs[index] >= LEAST_LEFT:
            values = self.values(noise).tolist()
            left = [value for at, value in enumerate(values) if at not in self.taken]
            self.checks.at_most("score + noise of a recorded candidate", max(left), values[index], name)
        self.checks.close("noise", draw.noise, float(noise[index]), name)
        self.taken |= set() if self.settings.replacement else {index}

    def values(self, noise: Floats) -> Floats:
        """Return score + noise [n] of the candidates; of all others together there is none."""
        values: Floats = self.distribution.scores + noise
        values[-1] = -math.inf
        return values

    @cached_property
    def noise(self) -> Floats:
        """The noise [draws, n] of the candidates, which follows from the seed; at temperature 0 there is none."""
        draws = self.layer.width if self.settings.replacement else 1
        if self.checks.is_greedy:
            return np.zeros((1, self.distribution.support))
        parents = [self.checks.path(node) for node in (*self.layer.alive, ROOT)]  # the last for the rest of P
        return self.checks.noise.gumbel(self.distribution, parents, draws)

    def _by_interval(self, draw: Draw, index: int, name: str) -> None:
        checks, low, high = self.checks, draw.cdf_low or 0.0, draw.cdf_high or 0.0
        width = high - low
        checks.close("interval", width, self._left(draw.node, width), name)
        masses = self.residual.masses() / self.residual.S if self.residual.S >= LEAST_LEFT else np.zeros(index + 1)
        checks.at_most("recorded candidates before the interval", float(masses[: max(index, 0)].sum()), low, name)
        checks.at_most("recorded candidates after it", float(masses[index + 1 : -1].sum()), 1.0 - high, name)
        uniform = checks.uniform(draw.uniform, name)
        checks.same("uniform in its interval", low <= uniform < high, True, name)

    def _kind(self) -> str:
        return "bonus" if self.layer.kind == "bonus" else "fresh"

    # ---- what comes out

    def _yielded(self, yielded: Sequence[int]) -> list[InputBeam]:
        """Check the layer's beams, which of them ended, and the outcome; return those that live on."""
        layer, checks = self.layer, self.checks
        counts = {node: yielded.count(node) for node in yielded}
        checks.same("beams", [(beam.node, beam.multiplicity) for beam in layer.beams], list(counts.items()))
        for beam in layer.beams:
            checks.close("log-weight", beam.log_weight, checks.log_weights[beam.node], f"beam {beam.node}")
        checks.same("finished beams", layer.finished, [node for node in counts if checks.nodes[node].ends])
        self.finished = {beam.node: beam for beam in layer.beams if beam.node in layer.finished}
        living = [beam for beam in layer.beams if beam.node not in layer.finished]
        self.outcome = self._outcome() if living else "finished"
        return living

    def _outcome(self) -> str:
        """Return the outcome of a layer with a beam that lives on."""
        if self.layer.kind == "bonus":
            return "bonus"
        if not self.draws:
            return "passed"
        all_in_forest = all(draw.landed or self.nodes[draw.node].ends for draw in self.draws)
        return "landed" if self.settings.landing and all_in_forest else "short"


class JointLayerAudit(LayerAudit):
    """A layer after a joint test: one token, which was accepted or drawn."""

    def _expected_width(self) -> Width:
        self.checks.same("kind of the layer", self.layer.kind, "draft" if self.trials else "bonus")
        return ONE_SEQUENCE if self.layer.kind == "draft" else Width(1, lambda: BONUS)

    def _trial(self, trial: Trial, accepted: int) -> None:
        """The verdict was decided for the whole beam; here the token only takes its place."""

    def _outcome(self) -> str:
        return "block" if self.settings.searches_blocks and self.is_last and self.trials else super()._outcome()


def check_joint_test(checks: Checks, iteration: IterationRecord) -> None:
    """Decide a joint test again: the best beam, its sums and its verdicts; its layers are for JointLayerAudit."""
    trials, settings = iteration.trials, checks.settings
    nodes = {node.id: node for node in iteration.nodes if node.kind == "drafted"}
    sums = {beam.node: 0.0 for beam in iteration.input_beams}
    for node in nodes.values():
        sums[node.id] = sums.get(node.parent, -math.inf) + (node.draft_log_prob or 0.0)
    ends = [node.id for node in nodes.values() if node.layer == iteration.draft_depth or node.ends]
    parent, target, passing = iteration.input_beams[0].node, 0.0, list[bool]()
    for number, trial in enumerate(trials, 1):
        tried, name, joint = nodes.get(trial.node), f"trial of node {trial.node}", trial.joint
        if tried is None or joint is None or tried.parent != parent:
            raise BrokenError(f"{checks.where}: {name} does not go on with the best beam, or has no sums")
        numbers = trial.layer, trial.order, trial.residual_prob, trial.c, trial.S, trial.uniform
        checks.same("numbers of a joint trial", numbers, (number, 0, None, None, None, None), name)
        checks.close("Q of a joint trial", trial.draft_prob, tried.draft_prob or 0.0, name)
        checks.close("threshold", joint.threshold, settings.joint_threshold, name)
        checks.close("draft's sum", joint.draft, sums[tried.id], name)
        target += -math.inf if tried.target_log_prob is None else tried.target_log_prob
        checks.close("target's sum", joint.target, None if target == -math.inf else target, name)
        checks.close("acceptance of a beginning", trial.acceptance, acceptance(joint), name)
        passing.append(passes(joint))
        parent = tried.id
    passed = max((number for number, one in enumerate(passing, 1) if one), default=0)
    for number, (trial, one) in enumerate(zip(trials, passing, strict=True), 1):
        verdict = "rejected" if number > passed else "accepted" if one else "carried"
        checks.same("verdict of a beginning", trial.verdict, verdict, f"trial of node {trial.node}")
    if ends:
        checks.close("sum of the best beam under the draft model", sums[parent], max(sums[end] for end in ends))
    has_end = bool(trials) and passed == len(trials) and nodes[trials[-1].node].ends
    is_whole = has_end or (settings.searches_blocks and bool(trials))
    checks.same("layers of the joint test", len(iteration.layers), passed + (not is_whole))
