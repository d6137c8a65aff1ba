"""Decides one layer of a trace again: its width, trials, draws and beams, from the recorded numbers alone.

It shares no code with ``verify``. A joint test decides all layers of an iteration at once.

*Source:* docs/algorithm.md, *One iteration*, *The dynamic width* and *Joint tests*.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dsbd.law.verified import TAKEN
from dsbd.tracing.law_audit import TOLERANCE, Checks, drafts_asked, known_pairs
from dsbd.tracing.records import Draw, InputBeam, Iteration, Layer, Node, Trial

LEAST_LEFT = 1e-280
"""Where less of P is left, recorded probabilities have lost the digits that P' follows from."""
TRIED = ("residual_prob", "c", "S", "acceptance", "uniform")
HELD = {"accepted": TRIED, "rejected": TRIED, "orphaned": ("c", "S"), "unneeded": ()}
"""The numbers of a trial that is not part of a joint test, by verdict; the others are null."""


@dataclass
class _Residual:
    """The residual of the target's law after the trials so far, from recorded numbers only."""

    c: float = 0.0
    S: float = 1.0
    rejections: int = 0  # since the last acceptance
    accepted: list[int] = field(default_factory=list)  # nodes
    drafted_mass: float = 0.0
    taken_mass: float = 0.0
    taken: set[int] = field(default_factory=set)  # nodes accepted or drawn
    spent: set[int] = field(default_factory=set)  # nodes drafted up to the last acceptance

    def adopt(self, record: Trial | Draw) -> None:
        """Go on with the recorded c and S, which agree: a small S has digits that 1 - mass has lost."""
        if record.c is not None and record.S is not None:
            self.c, self.S = record.c, record.S


class LayerAudit:
    """One layer of an iteration."""

    def __init__(self, checks: Checks, iteration: Iteration, layer: Layer) -> None:
        self.checks, self.settings, self.layer = checks, checks.settings, layer
        self.is_greedy = checks.is_greedy
        self.trials = [trial for trial in iteration.trials if trial.layer == layer.layer]
        self.draws = [draw for draw in iteration.draws if draw.layer == layer.layer]
        self.own = {node.id: node for node in iteration.nodes if node.layer == layer.layer}
        self.is_last = layer.layer == len(iteration.layers)
        self.is_below_forest = layer.layer > iteration.draft_depth
        self.state = _Residual()
        self.known = known_pairs(checks, layer, self.own.values())
        listed = {(pair.parent, pair.token_id): pair.draft_prob for pair in layer.alternatives}
        for draw in self.draws:  # a drawn node holds no Q; its draw does
            node = checks.nodes[draw.node]
            pair = node.parent, node.token_id
            checks.close(f"Q of the draw of node {draw.node}", draw.draft_prob, listed.get(pair, draw.draft_prob))
            if node.kind == "drawn" and not self.is_greedy and pair in self.known:
                self.known[pair] = draw.target_prob, draw.draft_prob
        self.finished: dict[int, InputBeam] = {}
        """The beams that ended, by node."""
        self.outcome = ""
        """What the layer's outcome is, if the decode goes on."""

    def run(self) -> list[InputBeam]:
        """Decide it again; returns the beams that live on."""
        layer, checks, accepted = self.layer, self.checks, self.state.accepted
        self._width()
        for order, trial in enumerate(self.trials):
            checks.same("order of a trial", trial.order, order)
            self._trial(trial)
        checks.same("accepted drafts", layer.accepted, len(accepted))
        checks.same("draws", len(self.draws), layer.width - len(accepted))
        before = list[tuple[tuple[int, int], float]]()
        for order, draw in enumerate(self.draws):
            checks.same("order of a draw", draw.order, order)
            unknown = self._draw(draw)
            if self.settings.replacement and draw.kind != "recovered":
                before.append((self._place(checks.nodes[draw.node]), unknown))
        for (pair, low), (other, high) in zip(sorted(before), sorted(before)[1:], strict=False):
            checks.at_most(f"mass below pair {pair}", low, high)
            if pair == other:
                checks.close(f"mass below pair {pair}", low, high)
        return self._yielded(accepted + [draw.node for draw in self.draws])

    # ---- the width

    def _width(self) -> None:
        layer, checks, settings = self.layer, self.checks, self.settings
        if self.is_below_forest or layer.kind == "bonus":
            kind = "cover" if checks.is_likely else "drafted"
            waiting = [node for node in self.own.values() if node.kind == kind and node.parent in layer.alive]
            checks.same("kind of the layer", layer.kind, "draft" if waiting and not self.is_below_forest else "bonus")
        has_mass = checks.is_likely and layer.kind == "draft"
        checks.same("mass of the forest is a number", layer.forest_mass is not None, has_mass)
        if layer.kind == "draft":
            checks.same("trials", len(self.trials), layer.draws_planned)
            distribution = self._chain()
            likely = self._landing_count() if checks.is_likely else self._accepted_count(distribution)
            width, reason = self._bounded(likely)
        else:
            held = (len(self.trials), layer.draws_planned, layer.chain_c, layer.chain_S, layer.accepted_distribution)
            checks.same("drafts of the bonus layer", held, (0, 0, [], [], []))
            widest = settings.max_width
            width, reason = widest if settings.replacement else min(widest, layer.target_support), "bonus"
        checks.same("chosen width", layer.width, width)
        checks.same("reason of the width", layer.width_reason, reason)

    def _chain(self) -> list[float]:
        """Check the residual after rejections in a row, and their acceptance; returns how many drafts are accepted."""
        layer, checks = self.layer, self.checks
        drafts, c, S = layer.draws_planned, layer.chain_c, layer.chain_S
        checks.close("c of the chain", c[0], 0.0)
        checks.close("S of the chain", S[0], 1.0)
        if checks.is_likely or self.settings.replacement:
            asked = 0 if checks.is_likely else drafts_asked(self.settings, layer.layer)
            checks.same("planned drafts", drafts, asked)
        for step in range(drafts):
            checks.close(f"c_{step + 2}", c[step + 1], c[step] + S[step])
            checks.at_most(f"S_{step + 2}", S[step + 1], S[step])
            alpha = max(1.0 - S[step + 1] / S[step], 0.0) if S[step] > 0 else 1.0
            checks.close(f"alpha_{step + 1}", layer.acceptance_chain[step], alpha)
        if not checks.is_likely:  # pairs that are not recorded add at most the rest of P
            known = self.known.values()
            rest = 1.0 - math.fsum(target for target, _ in known)
            for step, (c_now, S_now) in enumerate(zip(c, S, strict=True), 1):
                least = math.fsum(max(target - c_now * draft, 0.0) for target, draft in known)
                checks.at_most(f"least S_{step}", least, S_now)
                if not self.is_greedy:
                    checks.at_most(f"S_{step}", S_now, least + rest)
        distribution = _accepted_distribution(layer.acceptance_chain)
        for count, probability in enumerate(distribution):
            checks.close(f"P({drafts}, {count})", layer.accepted_distribution[count], probability)
        return distribution

    def _accepted_count(self, distribution: Sequence[float]) -> int:
        """The largest K with P(accepted >= K) >= threshold."""
        tail = 0.0
        for count in range(len(distribution) - 1, 0, -1):
            tail += distribution[count]
            if tail >= self.settings.width_threshold:
                return count
        return 0

    def _landing_count(self) -> int:
        """The largest K with P(K draws land) >= threshold: the power of the mass that the forest holds.

        Greedy draws without replacement are certain: as many as land, of which only the drawn ones can be seen.
        """
        recorded, threshold = self.layer.forest_mass, self.settings.width_threshold
        if self.is_greedy:
            landed = [draw.landed for draw in self.draws]
            self.checks.close("mass of the forest", recorded, float(landed[0]))
            if threshold == 0:  # reached by draws that do not land as well
                return min(self.settings.max_width, self.layer.target_support)
            return [*landed, False].index(False)
        nodes = [node for node in self.own.values() if node.parent in self.layer.alive and node.kind == "cover"]
        held = math.fsum(node.target_prob or 0.0 for node in nodes)
        self.checks.close("mass of the forest", recorded, min(held, 1.0))
        count, mass = 0, recorded or 0.0
        while count < self.settings.max_width and mass ** (count + 1) >= threshold:
            count += 1
        return count

    def _bounded(self, likely: int) -> tuple[int, str]:
        width, reason, support = likely, "threshold", self.layer.target_support
        if width < self.settings.min_width:
            width, reason = self.settings.min_width, "min_width"
        if width > self.settings.max_width:
            width, reason = self.settings.max_width, "max_width"
        if not self.settings.replacement and width > support:
            width, reason = support, "support"
        return width, reason

    # ---- trials

    def _trial(self, trial: Trial) -> None:
        """Decide one draft again and move the residual on."""
        state = self.state
        node, name = self.own.get(trial.node), f"trial of node {trial.node}"
        if node is None or node.kind != "drafted" or node.draft_prob is None:
            self.checks.broken(f"{name}: it is not a draft of this layer")
        self.checks.same(f"joint sums, {name}", trial.joint, None)
        rest = 1.0  # of Q, less the earlier drafts
        if not self.settings.replacement and not self.is_greedy:
            rest -= state.drafted_mass
        state.drafted_mass += node.draft_prob
        drawn_from = 1.0 if self.is_greedy else node.draft_prob
        self.checks.close(f"draft probability, {name}", trial.draft_prob * rest, drawn_from)
        gain = 1.0 if self.is_greedy or node.draft_prob <= 0 else trial.draft_prob / node.draft_prob
        if trial.draft_prob <= 0:
            self.checks.broken(f"{name}: it could not be drawn")
        verdict = self._verdict(trial, node, name)
        self.checks.same(f"verdict, {name}", trial.verdict, verdict)
        held = tuple(number for number in TRIED if getattr(trial, number) is not None)
        self.checks.same(f"numbers, {name}", held, HELD[verdict])
        if verdict == "accepted":
            state.accepted.append(node.id)
            state.spent = {earlier.node for earlier in self.trials if earlier.order <= trial.order}
            self._take(node.id, node.target_prob or 0.0)
        elif verdict in ("rejected", "orphaned"):
            self._reject(trial, gain)

    def _verdict(self, trial: Trial, node: Node, name: str) -> str:
        state, checks = self.state, self.checks
        if len(state.accepted) == self.layer.width:
            return "unneeded"
        checks.close(f"c, {name}", trial.c, state.c)
        checks.close(f"S, {name}", trial.S, state.S)
        state.adopt(trial)
        if node.parent not in self.layer.alive:
            checks.same(f"draft law shared by all beams, {name}", self.settings.branching, None)
            return "orphaned"
        if self.is_greedy:
            left = 1.0 if (trial.residual_prob or 0.0) > 0 else 0.0
        else:
            left = self._left(node.id, node.target_prob or 0.0, node.draft_prob or 0.0, trial.residual_prob)
        checks.close(f"residual, {name}", trial.residual_prob, left)
        # Where rounding leaves no residual, the laws are equal and the draft is accepted with certainty.
        certain = trial.acceptance == 1.0 and left / trial.draft_prob > 1.0 - TOLERANCE
        acceptance = 1.0 if certain else min(1.0, left / trial.draft_prob)
        checks.close(f"acceptance probability, {name}", trial.acceptance, acceptance)
        return "accepted" if checks.uniform(name, trial.uniform) < (trial.acceptance or 0.0) else "rejected"

    def _left(self, node: int, target: float, draft: float, recorded: float | None) -> float:
        """max(P - c Q, 0) / S; a pair that is spent takes no part in Q, one that was taken has nothing left."""
        state = self.state
        if state.S < LEAST_LEFT:
            self.checks.same("some of P is left", self.settings.replacement, False)
            return min(max(recorded or 0.0, 0.0), 1.0)
        if not self.settings.replacement:
            draft = 0.0 if node in state.spent else draft
            target = 0.0 if node in state.taken else target
        return max(target - state.c * draft, 0.0) / state.S

    def _reject(self, trial: Trial, gain: float) -> None:
        """Move c by S * gain. S comes from the chain or, without replacement, from the next record that has one."""
        state, chain = self.state, self.layer.chain_S
        if self.is_greedy:  # every pair is certain in its turn, and the best one that is left stays so
            state.c += 1.0
            return
        c = state.c + state.S * gain
        state.rejections += 1
        if self.settings.replacement:
            S = chain[state.rejections] if state.rejections < len(chain) else 0.0
            if S > 0:
                state.c, state.S = c, S
            return
        later: list[Trial | Draw] = [other for other in self.trials if other.order > trial.order]
        for item in [*later, *self.draws]:
            if item.c is not None and item.S is not None:
                most, state.c, state.S = state.S, c, 1.0
                least = math.fsum(self._known_left().values())  # pairs that are not recorded add at most the rest of P
                most = min(most, least + 1.0 - math.fsum(target for target, _ in self.known.values()))
                self.checks.close("c after a rejection", item.c, c)
                self.checks.at_most("S after a rejection", item.S, most)
                self.checks.at_most("least S after a rejection", least, item.S)
                state.adopt(item)
                return

    # ---- draws

    def _draw(self, draw: Draw) -> float:
        """Decide one draw again: its kind, its law and the interval its uniform fell in.

        Returns how much mass pairs that are not recorded have below the interval.
        """
        state, layer, checks = self.state, self.layer, self.checks
        node, name = checks.nodes[draw.node], f"draw of node {draw.node}"
        fresh = "bonus" if layer.kind == "bonus" else "fresh"
        is_cold = not self.settings.replacement and state.S < LEAST_LEFT and state.rejections > 0
        checks.same(f"kind, {name}", draw.kind, "recovered" if state.c > 0 or is_cold else fresh)
        checks.same(f"landing, {name}", draw.landed, node.kind != "drawn")
        checks.same(f"parent alive, {name}", node.parent in layer.alive, True)
        checks.close(f"c, {name}", draw.c, state.c)
        checks.close(f"S, {name}", draw.S, state.S)
        state.adopt(draw)
        uniform, unknown = checks.uniform(name, draw.uniform), 0.0
        if not self.is_greedy:
            checks.close(f"target probability, {name}", draw.target_prob, node.target_prob or 0.0)
            width = draw.cdf_high - draw.cdf_low
            left = self._left(node.id, draw.target_prob, draw.draft_prob, width)
            checks.close(f"interval, {name}", width, left)
            checks.at_most(f"0 to the interval, {name}", 0.0, draw.cdf_low)
            checks.at_most(f"end of the interval, {name}", draw.cdf_high, 1.0)
            unknown = self._unknown_below(draw, node, name)
        checks.same(f"uniform in its interval, {name}", draw.cdf_low <= uniform < draw.cdf_high, True)
        if layer.kind == "bonus":
            checks.same(f"draft probability, {name}", draw.draft_prob, 0.0)
        elif node.kind != "drawn":
            checks.close(f"draft probability, {name}", draw.draft_prob, node.draft_prob or 0.0)
        self._take(node.id, draw.target_prob)
        return unknown

    def _unknown_below(self, draw: Draw, node: Node, name: str) -> float:
        """Check the interval's place: all recorded pairs before it lie below it, and the others fill what is left."""
        if self.state.S < LEAST_LEFT and not self.settings.replacement:
            return 0.0
        place, whole = self._place(node), self._known_left()
        unknown = draw.cdf_low - math.fsum(left for pair, left in whole.items() if pair < place)
        self.checks.at_most(f"mass of the pairs before the interval, {name}", 0.0, unknown)
        rest = 1.0 - math.fsum(whole.values())
        self.checks.at_most(f"start of the interval less recorded pairs, {name}", unknown, rest)
        return unknown

    def _known_left(self) -> dict[tuple[int, int], float]:
        """What the residual gives to each recorded pair, by its place."""
        ids, bonus = {(own.parent, own.token_id): own.id for own in self.own.values()}, self.layer.kind == "bonus"
        return {
            (self.layer.alive.index(parent), token): self._left(
                ids.get((parent, token), -1), target, 0.0 if bonus else draft, None
            )
            for (parent, token), (target, draft) in self.known.items()
        }

    def _place(self, node: Node) -> tuple[int, int]:
        return self.layer.alive.index(node.parent), node.token_id

    def _take(self, node: int, mass: float) -> None:
        """Take an accepted or drawn beam: the residual is P again, without replacement less all that was taken."""
        state = self.state
        state.taken_mass += mass
        state.taken.add(node)
        state.c, state.rejections = 0.0, 0
        state.S = 1.0 if self.settings.replacement or self.is_greedy else 1.0 - state.taken_mass

    # ---- what comes out

    def _yielded(self, yielded: Sequence[int]) -> list[InputBeam]:
        """Check the layer's beams, which of them ended, and the outcome; return those that live on."""
        layer, nodes = self.layer, self.checks.nodes
        counts = {node: yielded.count(node) for node in yielded}
        self.checks.same("beams", [(beam.node, beam.multiplicity) for beam in layer.beams], list(counts.items()))
        for beam in layer.beams:
            self.checks.close(f"log-weight of beam {beam.node}", beam.log_weight, self.checks.log_weights[beam.node])
        ended = [node for node in counts if nodes[node].ends]
        self.checks.same("finished beams", layer.finished, ended)
        self.finished = {beam.node: beam for beam in layer.beams if beam.node in ended}
        living = [beam for beam in layer.beams if beam.node not in ended]
        self.outcome = self._outcome() if living else "finished"
        return living

    def _outcome(self) -> str:
        """Return the outcome of a layer with a beam that lives on."""
        if self.layer.kind == "bonus":
            return "bonus"
        if not self.draws:
            return "passed"
        all_land = all(draw.landed or self.checks.nodes[draw.node].ends for draw in self.draws)
        return "landed" if self.settings.landing and all_land else "short"


def _accepted_distribution(acceptance: Sequence[float]) -> list[float]:
    """P(m, k), draft by draft: how many were accepted so far, and how many were rejected since the last of them."""
    drafts = len(acceptance)
    alpha = np.asarray([*acceptance, 0.0])
    chance = np.zeros((drafts + 1, drafts + 1))  # [accepted, rejections in a row]
    chance[0, 0] = 1.0
    for _ in range(drafts):
        accepted, rejected = chance * alpha, chance * (1.0 - alpha)
        chance = np.zeros_like(chance)
        chance[1:, 0] = accepted[:-1].sum(axis=1)
        chance[:, 1:] = rejected[:, :-1]
    return [float(total) for total in chance.sum(axis=1)]


class JointLayerAudit(LayerAudit):
    """A layer after a joint test: one token, which was accepted or drawn."""

    def _width(self) -> None:
        layer, checks = self.layer, self.checks
        drafted = layer.kind == "draft"
        chain = [0, [0.0], [1.0], [], [1.0], None] if drafted else [0, [], [], [], [], None]
        held = [layer.draws_planned, layer.chain_c, layer.chain_S, layer.acceptance_chain, layer.accepted_distribution]
        checks.same("chain of the layer", [*held, layer.forest_mass], chain)
        checks.same("width", (layer.width, layer.width_reason), (1, "joint" if drafted else "bonus"))
        checks.same("a bonus layer has no trials", drafted, bool(self.trials))

    def _trial(self, trial: Trial) -> None:
        """The verdict was decided for the whole beam; here the token only takes its place."""
        if trial.verdict in TAKEN:
            self.state.accepted.append(trial.node)

    def _outcome(self) -> str:
        return "block" if self.settings.searches_blocks and self.is_last and self.trials else super()._outcome()
