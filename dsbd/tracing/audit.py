"""A trace as evidence: decide everything again from what it holds, and name what no longer follows.

Pure arithmetic on the trace, written apart from the decoder (it shares no code with ``verify``). What
the audit cannot see is whether the models really gave these probabilities: that takes the models.

*Source:* DESIGN.md sections 3 to 5 and 7.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dsbd.depth import DepthPolicy
from dsbd.tracing.records import ROOT, Draw, InputBeam, Iteration, Layer, Node, Trial, path_to
from dsbd.tracing.trace import Trace, canonical_digest

TOLERANCE = 1e-9
"""Allowed difference between a recorded number and the one computed again; rounding stays below 1e-12."""


@dataclass(frozen=True)
class AuditReport:
    """Outcome of an audit."""

    passed: bool
    checks: int
    """Decisions and identities that were decided again."""
    failure: str | None
    """The first that does not follow, where one does not."""


class _BrokenError(Exception):
    """Something does not follow; the message says what."""


def verify_trace(trace: Trace) -> AuditReport:
    """Decide again every verdict, width, draw and identity, then compare the digest."""
    audit = _Audit(trace)
    try:
        audit.run()
    except _BrokenError as broken:
        return AuditReport(False, audit.checks, str(broken))
    return AuditReport(True, audit.checks, None)


@dataclass
class _LayerState:
    """The residual of a layer as its trials go by, from recorded numbers only."""

    c: float = 0.0
    S: float = 1.0
    rejections: int = 0  # since the last acceptance
    accepted: list[int] = field(default_factory=list)  # nodes
    drafted_mass: float = 0.0
    taken_mass: float = 0.0
    spent: set[int] = field(default_factory=set)  # nodes drafted up to the last acceptance

    def adopt(self, record: Trial | Draw) -> None:
        """Go on with the recorded c and S once they agree: a small S has digits that 1 - mass has lost."""
        if record.c is not None and record.S is not None:
            self.c, self.S = record.c, record.S


class _Audit:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.settings = trace.settings
        self.checks = 0
        self.nodes = trace.node_index()
        self.log_weights: dict[int, float] = {ROOT: 0.0}
        self.finished: dict[int, InputBeam] = {}
        self.length = 0
        chosen = trace.settings
        self.depth = DepthPolicy(chosen.draft_depth, chosen.depth_costs, chosen.continuation)
        self.place = "trace"

    def run(self) -> None:
        beams = [InputBeam(ROOT, 1, 0.0)]
        for number, iteration in enumerate(self.trace.iterations):
            self.place = f"iteration {number}"
            self._same("index", iteration.index, number)
            self._same("input beams", iteration.input_beams, beams)
            beams = _IterationAudit(self, iteration).run()
        self._result(beams)
        self.place = "trace"
        self._same("seed", self.trace.seed, self.settings.seed)
        self._same("digest", self.trace.digest, canonical_digest(self.trace))

    def weigh(self, node: Node) -> float:
        """A node's log-weight: its parent's plus its own log-probability under the target."""
        own = -math.inf if node.target_log_prob is None else node.target_log_prob
        return self.log_weights[node.parent] + own

    def _result(self, alive: Sequence[InputBeam]) -> None:
        result, self.place = self.trace.result, "result"
        if result is None:
            return
        held = self.finished | {beam.node: beam for beam in alive}
        self._same("hypotheses", sorted(beam.node for beam in result.beams), sorted(held))
        if alive:
            self._same("tokens decoded", self.length, self.settings.max_new_tokens)
        for beam in result.beams:
            ids = [node.token_id for node in path_to(beam.node, self.nodes)]
            self._same(f"tokens of beam {beam.node}", beam.token_ids, ids)
            self._close(f"log-weight of beam {beam.node}", beam.log_weight, held[beam.node].log_weight)
            self._same(f"multiplicity of beam {beam.node}", beam.multiplicity, held[beam.node].multiplicity)
            score = beam.log_weight / max(len(ids), 1) ** self.settings.length_penalty
            self._close(f"score of beam {beam.node}", beam.score, score)
            self._same(f"end of beam {beam.node}", beam.finished, beam.node in self.finished)
        scores = [beam.score for beam in result.beams]
        self._same("ranking", scores, sorted(scores, reverse=True))
        self._same("returned tokens", result.token_ids, result.beams[0].token_ids)
        self._same("returned text", result.text, result.beams[0].text)
        self._stats(result.stats)

    def _stats(self, stats: dict[str, object]) -> None:
        trials = [trial.verdict for iteration in self.trace.iterations for trial in iteration.trials]
        draws = [draw.kind for iteration in self.trace.iterations for draw in iteration.draws]
        expected = {name: trials.count(name) for name in ("accepted", "rejected", "orphaned", "unneeded")}
        expected |= {name: draws.count(name) for name in ("recovered", "fresh", "bonus")}
        expected |= {"layers": self.length, "iterations": len(self.trace.iterations)}
        for name, count in expected.items():
            self._same(f"statistic {name}", stats.get(name), count)

    def _same(self, what: str, recorded: object, expected: object) -> None:
        self.checks += 1
        if recorded != expected:
            raise _BrokenError(f"{self.place}: {what} is {_short(recorded)}, but {_short(expected)} follows")

    def _close(self, what: str, recorded: float | None, expected: float) -> None:
        self.checks += 1
        scale = max(1.0, abs(expected))
        if recorded is None or not abs(recorded - expected) <= TOLERANCE * scale:
            raise _BrokenError(f"{self.place}: {what} is {_short(recorded)}, but {_short(expected)} follows")


class _IterationAudit:
    """One iteration, layer by layer."""

    def __init__(self, audit: _Audit, iteration: Iteration) -> None:
        self.audit, self.iteration, self.settings = audit, iteration, audit.settings
        self.same, self.close = audit._same, audit._close
        self.is_likely = self.settings.forest == "likely"
        self.greedy_ranks = self.settings.temperature == 0 and not self.settings.replacement
        self.own = {node.id: node for node in iteration.nodes}
        for node in iteration.nodes:
            audit.log_weights[node.id] = audit.weigh(node)

    def run(self) -> list[InputBeam]:
        iteration, audit = self.iteration, self.audit
        start = audit.place
        alive, last = list(iteration.input_beams), len(iteration.layers)
        room = self.settings.max_new_tokens - audit.length
        self.same("draft depth", iteration.draft_depth, min(audit.depth.choose(), room - 1))
        self.same("layers are present", last > 0, True)
        for number, layer in enumerate(iteration.layers, 1):
            audit.place = f"{start}, layer {number}"
            self.same("layer number", layer.layer, number)
            self.same("alive beams", layer.alive, [beam.node for beam in alive])
            alive = self._layer(layer)
            self.same("verification goes on", number < last, layer.outcome in ("passed", "landed"))
        audit.place = start
        for kind, items in (("trial", iteration.trials), ("draw", iteration.draws)):
            self.same(f"every {kind} has its layer", all(1 <= item.layer <= last for item in items), True)
        outcomes = [layer.outcome for layer in iteration.layers]
        passed = sum(outcome in ("passed", "landed") for outcome in outcomes)
        audit.depth.observe(iteration.draft_depth, passed, outcomes[-1] == "short")
        audit.length += last
        self.same("tokens stay within max_new_tokens", audit.length <= self.settings.max_new_tokens, True)
        best = _keep_best(alive, self.settings.input_beams)
        self.same("output beams", iteration.output_beams, best)
        return best

    def _layer(self, layer: Layer) -> list[InputBeam]:
        """Decide a layer again; returns the beams that live on."""
        trials = [trial for trial in self.iteration.trials if trial.layer == layer.layer]
        draws = [draw for draw in self.iteration.draws if draw.layer == layer.layer]
        if layer.kind == "draft":
            self._width(layer)
        else:
            held = (len(trials), layer.draws_planned, layer.chain_c, layer.chain_S, layer.accepted_distribution)
            self.same("drafts of the bonus layer", held, (0, 0, [], [], []))
            self.same("reason of the width", layer.width_reason, "bonus")
            self.same("width of the bonus layer", layer.width, self._bonus_width(layer))
        state = _LayerState()
        for order, trial in enumerate(trials):
            self.same("order of a trial", trial.order, order)
            self._trial(layer, trial, state)
        self.same("accepted drafts", layer.accepted, len(state.accepted))
        self.same("draws", len(draws), layer.width - len(state.accepted))
        for order, draw in enumerate(draws):
            self.same("order of a draw", draw.order, order)
            self._draw(layer, draw, state)
        return self._yielded(layer, state.accepted + [draw.node for draw in draws], draws)

    def _bonus_width(self, layer: Layer) -> int:
        widest = self.settings.widest
        return widest if self.settings.replacement else min(widest, layer.target_support)

    def _width(self, layer: Layer) -> None:
        """The chain c, S; the acceptance chain; P(m, k); the chosen width."""
        drafts, c, S = layer.draws_planned, layer.chain_c, layer.chain_S
        self.same("length of the chain", (len(c), len(S)), (drafts + 1, drafts + 1))
        self.close("c of the chain", c[0], 0.0)
        self.close("S of the chain", S[0], 1.0)
        if self.is_likely or self.settings.replacement:
            self.same("planned drafts", drafts, 0 if self.is_likely else self.settings.draft_width)
        for step in range(drafts):
            self.close(f"c_{step + 2}", c[step + 1], c[step] + S[step])
            alpha = max(1.0 - S[step + 1] / S[step], 0.0) if S[step] > 0 else 1.0
            self.close(f"alpha_{step + 1}", layer.acceptance_chain[step], alpha)
        distribution = _accepted_distribution(layer.acceptance_chain)
        self.same("length of P(m, k)", len(layer.accepted_distribution), len(distribution))
        for count, probability in enumerate(distribution):
            self.close(f"P({drafts}, {count})", layer.accepted_distribution[count], probability)
        likely = self._landing_count(layer) if self.is_likely else self._accepted_count(distribution)
        width, reason = self._bounded(likely, layer.target_support)
        self.same("chosen width", layer.width, width)
        self.same("reason of the width", layer.width_reason, reason)

    def _accepted_count(self, distribution: Sequence[float]) -> int:
        """The largest K with P(accepted >= K) >= threshold."""
        tail = 0.0
        for count in range(len(distribution) - 1, 0, -1):
            tail += distribution[count]
            if tail >= self.settings.width_threshold:
                return count
        return 0

    def _landing_count(self, layer: Layer) -> int:
        """The largest K with P(K draws land) >= threshold: the power of the mass that the forest holds.

        Greedy draws without replacement are certain: as many as land, of which only the drawn ones can be seen.
        """
        draws = [draw for draw in self.iteration.draws if draw.layer == layer.layer]
        if self.greedy_ranks:
            landed = [draw.landed for draw in draws]
            self.close("mass of the forest", layer.forest_mass, float(landed[0]))
            return [*landed, False].index(False)
        below = [node for node in self.own.values() if node.layer == layer.layer and node.parent in layer.alive]
        held = math.fsum(node.target_prob or 0.0 for node in below if node.kind == "cover")
        self.close("mass of the forest", layer.forest_mass, min(held, 1.0))
        count, mass = 0, layer.forest_mass or 0.0
        while count < self.settings.widest and mass ** (count + 1) >= self.settings.width_threshold:
            count += 1
        return count

    def _bounded(self, likely: int, support: int) -> tuple[int, str]:
        width, reason = likely, "threshold"
        if width < self.settings.min_width:
            width, reason = self.settings.min_width, "min_width"
        if width > self.settings.widest:
            width, reason = self.settings.widest, "max_width"
        if not self.settings.replacement and width > support:
            width, reason = support, "support"
        return width, reason

    def _trial(self, layer: Layer, trial: Trial, state: _LayerState) -> None:
        """Decide one draft again and move the residual on."""
        node, name = self.own.get(trial.node), f"trial of node {trial.node}"
        if node is None or node.kind != "drafted" or node.layer != layer.layer or node.draft_prob is None:
            raise _BrokenError(f"{self.audit.place}: {name}: it is not a draft of this layer")
        rest = 1.0  # of Q, less the earlier drafts
        if not self.settings.replacement and not self.greedy_ranks:
            rest -= state.drafted_mass
        state.drafted_mass += node.draft_prob
        drawn_from = 1.0 if self.greedy_ranks else node.draft_prob
        self.close(f"draft probability, {name}", trial.draft_prob * rest, drawn_from)
        gain = 1.0 if self.greedy_ranks or node.draft_prob <= 0 else trial.draft_prob / node.draft_prob
        verdict = self._verdict(layer, trial, node, state, name)
        self.same(f"verdict, {name}", trial.verdict, verdict)
        if verdict == "accepted":
            state.accepted.append(node.id)
            state.taken_mass += node.target_prob or 0.0
            state.spent = self._drafted_so_far(layer, trial)
            state.c, state.rejections = 0.0, 0
            state.S = 1.0 if self.settings.replacement or self.greedy_ranks else 1.0 - state.taken_mass
        elif verdict in ("rejected", "orphaned"):
            self._reject(layer, trial, state, gain)

    def _verdict(self, layer: Layer, trial: Trial, node: Node, state: _LayerState, name: str) -> str:
        if len(state.accepted) == layer.width:
            return "unneeded"
        self.close(f"c, {name}", trial.c, state.c)
        self.close(f"S, {name}", trial.S, state.S)
        state.adopt(trial)
        if node.parent not in layer.alive:
            return "orphaned"
        left = self._residual_at(node, state)
        if self.greedy_ranks:
            left = 1.0 if (trial.residual_prob or 0.0) > 0 else 0.0
        self.close(f"residual, {name}", trial.residual_prob, left)
        if trial.acceptance is None or trial.uniform is None:
            raise _BrokenError(f"{self.audit.place}: {name}: its acceptance or its uniform is missing")
        # Where rounding leaves no residual, the laws are equal and the draft is accepted with certainty.
        certain = trial.acceptance == 1.0 and left / trial.draft_prob > 1.0 - TOLERANCE
        acceptance = 1.0 if certain else min(1.0, left / trial.draft_prob)
        self.close(f"acceptance probability, {name}", trial.acceptance, acceptance)
        self.same(f"uniform in [0, 1), {name}", 0.0 <= trial.uniform < 1.0, True)
        return "accepted" if trial.uniform < trial.acceptance else "rejected"

    def _residual_at(self, node: Node, state: _LayerState) -> float:
        """max(P - c Q, 0) / S; a pair that is spent takes no part in Q, one that was taken has nothing left."""
        target, draft = node.target_prob or 0.0, node.draft_prob or 0.0
        if not self.settings.replacement:
            draft = 0.0 if node.id in state.spent else draft
            target = 0.0 if node.id in state.accepted else target
        return max(target - state.c * draft, 0.0) / state.S

    def _reject(self, layer: Layer, trial: Trial, state: _LayerState, gain: float) -> None:
        """c moves by S * gain. S is held by the chain or, without replacement, by the next record that has one."""
        if self.greedy_ranks:
            following = self._next_state(layer, trial)
            state.c, state.S = following or (state.c, state.S)
            return
        c = state.c + state.S * gain
        if self.settings.replacement:
            state.rejections += 1
            S = layer.chain_S[state.rejections] if state.rejections < len(layer.chain_S) else 0.0
            if S > 0:
                state.c, state.S = c, S
            return
        following = self._next_state(layer, trial)
        if following is None:
            return
        self.close("c after a rejection", following[0], c)
        self.same("the residual shrinks", 0.0 < following[1] <= state.S + TOLERANCE, True)
        state.c, state.S = following

    def _next_state(self, layer: Layer, trial: Trial) -> tuple[float, float] | None:
        """c and S as recorded by the next trial or the first draw of the layer."""
        later: Iterator[Trial | Draw] = (
            item
            for items in (self.iteration.trials, self.iteration.draws)
            for item in items
            if item.layer == layer.layer and (isinstance(item, Draw) or item.order > trial.order)
        )
        for item in later:
            if item.c is not None and item.S is not None:
                return item.c, item.S
        return None

    def _drafted_so_far(self, layer: Layer, trial: Trial) -> set[int]:
        trials = self.iteration.trials
        return {earlier.node for earlier in trials if earlier.layer == layer.layer and earlier.order <= trial.order}

    def _draw(self, layer: Layer, draw: Draw, state: _LayerState) -> None:
        """Decide one draw again: its kind, its law and the interval its uniform fell in."""
        node, name = self.audit.nodes[draw.node], f"draw of node {draw.node}"
        fresh = "bonus" if layer.kind == "bonus" else "fresh"
        self.same(f"kind, {name}", draw.kind, "recovered" if state.c > 0 else fresh)
        self.same(f"landing, {name}", draw.landed, node.kind != "drawn")
        self.same(f"parent alive, {name}", node.parent in layer.alive, True)
        self.close(f"c, {name}", draw.c, state.c)
        self.close(f"S, {name}", draw.S, state.S)
        state.adopt(draw)
        if not self.greedy_ranks:
            self.close(f"target probability, {name}", draw.target_prob, node.target_prob or 0.0)
            draft = 0.0 if not self.settings.replacement and node.id in state.spent else draw.draft_prob
            left = max(draw.target_prob - state.c * draft, 0.0) / state.S
            self.close(f"interval, {name}", draw.cdf_high - draw.cdf_low, left)
        self.same(f"uniform in its interval, {name}", draw.cdf_low <= draw.uniform < draw.cdf_high, True)
        if node.kind != "drawn" and layer.kind == "draft":
            self.close(f"draft probability, {name}", draw.draft_prob, node.draft_prob or 0.0)
        state.taken_mass += draw.target_prob
        state.c = 0.0
        state.S = 1.0 if self.settings.replacement or self.greedy_ranks else 1.0 - state.taken_mass

    def _yielded(self, layer: Layer, yielded: Sequence[int], draws: Sequence[Draw]) -> list[InputBeam]:
        """The layer's beams, who ended among them, and the outcome."""
        weights, nodes = self.audit.log_weights, self.audit.nodes
        counts = {node: yielded.count(node) for node in yielded}
        self.same("beams", [(beam.node, beam.multiplicity) for beam in layer.beams], list(counts.items()))
        for beam in layer.beams:
            self.close(f"log-weight of beam {beam.node}", beam.log_weight, weights[beam.node])
        ended = [node for node in counts if nodes[node].ends]
        self.same("finished beams", layer.finished, ended)
        self.audit.finished |= {beam.node: beam for beam in layer.beams if beam.node in ended}
        living = [beam for beam in layer.beams if beam.node not in ended]
        all_land = self.settings.landing and all(draw.landed or nodes[draw.node].ends for draw in draws)
        if not living:
            outcome = "finished"
        elif layer.kind == "bonus":
            outcome = "bonus"
        else:
            outcome = ("landed" if all_land else "short") if draws else "passed"
        self.same("outcome", layer.outcome, outcome)
        return living


def _accepted_distribution(acceptance: Sequence[float]) -> list[float]:
    """P(m, k) by the recursion as the paper writes it."""
    drafts = len(acceptance)
    none = [math.prod(1.0 - alpha for alpha in acceptance[:count]) for count in range(drafts + 1)]
    first = [acceptance[step] * none[step] for step in range(drafts)]
    table = [[none[m]] + [0.0] * drafts for m in range(drafts + 1)]
    for m in range(1, drafts + 1):
        for k in range(1, m + 1):
            table[m][k] = sum(first[step] * table[m - step - 1][k - 1] for step in range(m))
    return table[drafts]


def _keep_best(beams: Sequence[InputBeam], count: int | None) -> list[InputBeam]:
    if count is None:
        return list(beams)
    best = sorted(beams, key=lambda beam: -beam.log_weight)[:count]
    return [beam for beam in beams if beam in best]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
