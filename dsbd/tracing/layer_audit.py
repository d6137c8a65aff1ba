"""Audits one layer: its trials and draws in turn, and the beams that it yields."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dsbd.tracing.checks import TOLERANCE, Checks
from dsbd.tracing.records import Draw, InputBeam, Iteration, Layer, Node, Trial
from dsbd.tracing.width_audit import WidthAudit


@dataclass
class _Residual:
    """The residual of the target's law after the trials so far, from recorded numbers only."""

    c: float = 0.0
    S: float = 1.0
    rejections: int = 0  # since the last acceptance
    accepted: list[int] = field(default_factory=list)  # nodes
    drafted_mass: float = 0.0
    taken_mass: float = 0.0
    spent: set[int] = field(default_factory=set)  # nodes drafted up to the last acceptance

    def adopt(self, record: Trial | Draw) -> None:
        """Go on with the recorded c and S, which agree: a small S has digits that 1 - mass has lost."""
        if record.c is not None and record.S is not None:
            self.c, self.S = record.c, record.S


class LayerAudit:
    """One layer of an iteration.

    Args:
        checks: of the trace.
        iteration: the layer's.
        layer: the layer.
    """

    def __init__(self, checks: Checks, iteration: Iteration, layer: Layer) -> None:
        self.checks, self.settings, self.layer = checks, checks.settings, layer
        self.is_greedy = checks.is_greedy
        self.trials = [trial for trial in iteration.trials if trial.layer == layer.layer]
        self.draws = [draw for draw in iteration.draws if draw.layer == layer.layer]
        self.own = {node.id: node for node in iteration.nodes if node.layer == layer.layer}
        self.is_last = layer.layer == len(iteration.layers)
        self.is_below_forest = layer.layer > iteration.draft_depth
        self.state = _Residual()
        self.finished: dict[int, InputBeam] = {}
        """The beams that ended, by node."""

    def run(self) -> list[InputBeam]:
        """Decide it again; returns the beams that live on."""
        layer, checks, accepted = self.layer, self.checks, self.state.accepted
        self._width()
        for order, trial in enumerate(self.trials):
            checks.same("order of a trial", trial.order, order)
            self._trial(trial)
        checks.same("accepted drafts", layer.accepted, len(accepted))
        checks.same("draws", len(self.draws), layer.width - len(accepted))
        for order, draw in enumerate(self.draws):
            checks.same("order of a draw", draw.order, order)
            self._draw(draw)
        return self._yielded(accepted + [draw.node for draw in self.draws])

    def _width(self) -> None:
        layer, checks, settings = self.layer, self.checks, self.settings
        below = [node for node in self.own.values() if node.parent in layer.alive]
        deciding = WidthAudit(checks, layer, self.draws, below)
        if self.is_below_forest:
            checks.same("kind of the layer", layer.kind, "bonus")
        if layer.kind == "draft":
            checks.same("trials", len(self.trials), layer.draws_planned)
        if layer.kind == "draft":
            deciding.run()
            return
        held = (len(self.trials), layer.draws_planned, layer.chain_c, layer.chain_S, layer.accepted_distribution)
        checks.same("drafts of the bonus layer", held, (0, 0, [], [], []))
        checks.same("reason of the width", layer.width_reason, "bonus")
        widest = settings.max_width
        width = widest if settings.replacement else min(widest, layer.target_support)
        checks.same("width of the bonus layer", layer.width, width)

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
        verdict = self._verdict(trial, node, name)
        self.checks.same(f"verdict, {name}", trial.verdict, verdict)
        if verdict == "accepted":
            state.accepted.append(node.id)
            state.spent = {earlier.node for earlier in self.trials if earlier.order <= trial.order}
            self._take(node.target_prob or 0.0)
        elif verdict in ("rejected", "orphaned"):
            self._reject(trial, gain)

    def _verdict(self, trial: Trial, node: Node, name: str) -> str:
        state = self.state
        if len(state.accepted) == self.layer.width:
            return "unneeded"
        self.checks.close(f"c, {name}", trial.c, state.c)
        self.checks.close(f"S, {name}", trial.S, state.S)
        state.adopt(trial)
        if node.parent not in self.layer.alive:
            self.checks.same(f"draft law shared by all beams, {name}", self.settings.branching, None)
            return "orphaned"
        left = self._residual_at(node)
        if self.is_greedy:
            left = 1.0 if (trial.residual_prob or 0.0) > 0 else 0.0
        self.checks.close(f"residual, {name}", trial.residual_prob, left)
        if trial.acceptance is None or trial.uniform is None:
            self.checks.broken(f"{name}: its acceptance or its uniform is missing")
        # Where rounding leaves no residual, the laws are equal and the draft is accepted with certainty.
        certain = trial.acceptance == 1.0 and left / trial.draft_prob > 1.0 - TOLERANCE
        acceptance = 1.0 if certain else min(1.0, left / trial.draft_prob)
        self.checks.close(f"acceptance probability, {name}", trial.acceptance, acceptance)
        self.checks.same(f"uniform in [0, 1), {name}", 0.0 <= trial.uniform < 1.0, True)
        return "accepted" if trial.uniform < trial.acceptance else "rejected"

    def _residual_at(self, node: Node) -> float:
        """max(P - c Q, 0) / S; a pair that is spent takes no part in Q, one that was taken has nothing left."""
        state = self.state
        target, draft = node.target_prob or 0.0, node.draft_prob or 0.0
        if not self.settings.replacement:
            draft = 0.0 if node.id in state.spent else draft
            target = 0.0 if node.id in state.accepted else target
        return max(target - state.c * draft, 0.0) / state.S

    def _reject(self, trial: Trial, gain: float) -> None:
        """Move c by S * gain. S comes from the chain or, without replacement, from the next record that has one."""
        state, chain = self.state, self.layer.chain_S
        if self.is_greedy:  # every pair is certain in its turn, and the best one that is left stays so
            state.c += 1.0
            return
        c = state.c + state.S * gain
        if self.settings.replacement:
            state.rejections += 1
            S = chain[state.rejections] if state.rejections < len(chain) else 0.0
            if S > 0:
                state.c, state.S = c, S
            return
        later: list[Trial | Draw] = [other for other in self.trials if other.order > trial.order]
        for item in [*later, *self.draws]:
            if item.c is not None and item.S is not None:
                self.checks.close("c after a rejection", item.c, c)
                self.checks.same("the residual shrinks", 0.0 < item.S <= state.S + TOLERANCE, True)
                state.adopt(item)
                return

    def _draw(self, draw: Draw) -> None:
        """Decide one draw again: its kind, its law and the interval its uniform fell in."""
        state, layer = self.state, self.layer
        node, name = self.checks.nodes[draw.node], f"draw of node {draw.node}"
        fresh = "bonus" if layer.kind == "bonus" else "fresh"
        self.checks.same(f"kind, {name}", draw.kind, "recovered" if state.c > 0 else fresh)
        self.checks.same(f"landing, {name}", draw.landed, node.kind != "drawn")
        self.checks.same(f"parent alive, {name}", node.parent in layer.alive, True)
        self.checks.close(f"c, {name}", draw.c, state.c)
        self.checks.close(f"S, {name}", draw.S, state.S)
        state.adopt(draw)
        if not self.is_greedy:
            self.checks.close(f"target probability, {name}", draw.target_prob, node.target_prob or 0.0)
            self.checks.at_most(f"0 to the interval, {name}", 0.0, draw.cdf_low)
            self.checks.at_most(f"end of the interval, {name}", draw.cdf_high, 1.0)
            draft = 0.0 if not self.settings.replacement and node.id in state.spent else draw.draft_prob
            left = max(draw.target_prob - state.c * draft, 0.0) / state.S
            self.checks.close(f"interval, {name}", draw.cdf_high - draw.cdf_low, left)
        self.checks.same(f"uniform in its interval, {name}", draw.cdf_low <= draw.uniform < draw.cdf_high, True)
        if layer.kind == "bonus":
            self.checks.same(f"draft probability, {name}", draw.draft_prob, 0.0)
        elif node.kind != "drawn" and layer.kind == "draft":
            self.checks.close(f"draft probability, {name}", draw.draft_prob, node.draft_prob or 0.0)
        self._take(draw.target_prob)

    def _take(self, mass: float) -> None:
        """Take an accepted or drawn beam: the residual is P again, without replacement less all that was taken."""
        state = self.state
        state.taken_mass += mass
        state.c, state.rejections = 0.0, 0
        state.S = 1.0 if self.settings.replacement or self.is_greedy else 1.0 - state.taken_mass

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
        self.checks.same("outcome", layer.outcome, self._outcome() if living else "finished")
        return living

    def _outcome(self) -> str:
        """Return the outcome of a layer with a beam that lives on."""
        if self.layer.kind == "bonus":
            return "bonus"
        if not self.draws:
            return "passed"
        all_land = all(draw.landed or self.checks.nodes[draw.node].ends for draw in self.draws)
        return "landed" if self.settings.landing and all_land else "short"
