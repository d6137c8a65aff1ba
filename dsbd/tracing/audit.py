"""A trace as evidence: decide everything again from what it holds, and name what no longer follows.

Pure arithmetic on the trace, written apart from the decoder (it shares no code with ``verify``). What
the audit cannot see is whether the models really gave these probabilities: that takes the models.

*Source:* docs/algorithm.md, *One iteration*, *The dynamic width*, *Block verification* and *The trace*.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dsbd.depth import DepthPolicy
from dsbd.errors import TraceError
from dsbd.methods import needs_draft_model, resolve
from dsbd.tracing.block_audit import BlockAudit
from dsbd.tracing.checks import BrokenError, Checks
from dsbd.tracing.joint_audit import JointAudit, JointLayerAudit
from dsbd.tracing.law_audit import LawAudit
from dsbd.tracing.layer_audit import LayerAudit
from dsbd.tracing.numbers_audit import NumbersAudit
from dsbd.tracing.records import ROOT, InputBeam, Iteration, Node, path_to
from dsbd.tracing.sealed import sealed_only
from dsbd.tracing.stats_audit import check_stats
from dsbd.tracing.trace import Trace, canonical_digest


@dataclass(frozen=True)
class AuditReport:
    """Outcome of an audit."""

    passed: bool
    checks: int
    """Decisions and identities that were decided again."""
    failure: str | None
    """The first that does not follow, where one does not."""
    sealed: tuple[str, ...] = ()
    """Fields that only the digest seals: with a new digest, a changed value would still pass the audit."""


def verify_trace(trace: Trace, list_sealed: bool = False) -> AuditReport:
    """Decide again every verdict, width, draw and identity, then compare the digest.

    Args:
        trace: the record.
        list_sealed: also find out what only the digest seals. This decides the trace again for each setting.

    Raises:
        TraceError: ``trace`` is no trace.
    """
    if not isinstance(trace, Trace):
        raise TraceError(f"{trace!r:.60} is no trace; give dsbd.Trace.load(path), or the trace of a recorded result")
    audit = _Audit(trace)
    try:
        audit.run()
        audit.check_digest()
    except BrokenError as broken:
        return AuditReport(False, audit.checks.count, str(broken))
    sealed = sealed_only(trace, follows) if list_sealed else ()
    return AuditReport(True, audit.checks.count, None, tuple(one.words for one in sealed))


def follows(trace: Trace) -> bool:
    """True where everything but the digest follows."""
    try:
        _Audit(trace).run()
    except BrokenError:
        return False
    return True


class _Audit:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.settings = trace.settings
        self.checks = Checks()
        self.nodes = trace.node_index()
        self.log_weights: dict[int, float] = {ROOT: 0.0}
        self.lengths = {ROOT: 0}
        self.finished: dict[int, InputBeam] = {}
        self.length = 0
        self.depth = DepthPolicy(self.settings.draft_depth, self.settings.depth_costs, self.settings.continuation)

    def run(self) -> None:
        """Decide everything again but the digest. Raises: BrokenError."""
        implied = resolve(self.settings)
        for name, value in vars(implied).items():
            self.checks.same(f"setting {name} of method {implied.method}", getattr(self.settings, name), value)
        beams = [InputBeam(ROOT, 1, 0.0)]
        for number, iteration in enumerate(self.trace.iterations, 1):
            self.checks.place = f"iteration {number}"
            self.checks.same("index", iteration.index, number - 1)
            self.checks.same("input beams", iteration.input_beams, beams)
            beams = _IterationAudit(self, iteration).run()
        self._result(beams)
        self.checks.place = "trace"
        self.checks.same("seed", self.trace.seed, self.settings.seed)
        self.checks.same("list of tokens with two texts or two ends", _ambiguous(self.nodes.values()), [])
        self.checks.same("ids of the nodes", [*self.nodes], [*range(1, len(self.nodes) + 1)])
        self._models()

    def check_digest(self) -> None:
        """Raises: BrokenError."""
        self.checks.same("digest", self.trace.digest, canonical_digest(self.trace))

    def weigh(self, node: Node) -> float:
        """A node's log-weight: its parent's plus its own log-probability under the target."""
        own = -math.inf if node.target_log_prob is None else node.target_log_prob
        return self.log_weights[node.parent] + own

    def _models(self) -> None:
        """The method has the models that it calls, and they share a vocabulary, which holds every token."""
        target, draft = self.trace.models.target, self.trace.models.draft
        if needs_draft_model(self.settings):
            self.checks.same("a draft model", draft is not None, True)
        if draft is not None:
            self.checks.same("vocabulary of the draft model", draft.vocabulary_size, target.vocabulary_size)
        ids = [piece.token_id for piece in self.trace.prompt.pieces]
        fits = all(0 <= token < target.vocabulary_size for token in ids)
        self.checks.same("tokens of the prompt are in the vocabulary", fits, True)

    def _result(self, alive: Sequence[InputBeam]) -> None:
        result, self.checks.place = self.trace.result, "result"
        if result is None:
            return
        held = self.finished | {beam.node: beam for beam in alive}
        self.checks.same("hypotheses", sorted(beam.node for beam in result.beams), sorted(held))
        if alive:
            self.checks.same("tokens decoded", self.length, self.settings.max_new_tokens)
        for beam in result.beams:
            self.checks.same(f"length of beam {beam.node}", len(beam.token_ids), self.lengths[beam.node])
            ids = [node.token_id for node in path_to(beam.node, self.nodes)]
            self.checks.same(f"tokens of beam {beam.node}", beam.token_ids, ids)
            self.checks.close(f"log-weight of beam {beam.node}", beam.log_weight, held[beam.node].log_weight)
            self.checks.same(f"multiplicity of beam {beam.node}", beam.multiplicity, held[beam.node].multiplicity)
            score = beam.log_weight / max(len(ids), 1) ** self.settings.length_penalty
            self.checks.close(f"score of beam {beam.node}", beam.score, score)
            self.checks.same(f"end of beam {beam.node}", beam.finished, beam.node in self.finished)
        scores = [beam.score for beam in result.beams]
        self.checks.same("ranking", scores, sorted(scores, reverse=True))
        self.checks.same("returned tokens", result.token_ids, result.beams[0].token_ids)
        self.checks.same("returned text", result.text, result.beams[0].text)
        check_stats(self.checks, self.trace, result, self.length)


class _IterationAudit:
    """One iteration, layer by layer."""

    def __init__(self, audit: _Audit, iteration: Iteration) -> None:
        self.audit, self.iteration, self.settings = audit, iteration, audit.settings
        self.same = audit.checks.same
        for node in iteration.nodes:
            audit.log_weights[node.id] = audit.weigh(node)
            audit.lengths[node.id] = audit.lengths[node.parent] + 1
        self.laws = LawAudit(audit.checks, self.settings, audit.trace.models, iteration, audit.log_weights)

    def run(self) -> list[InputBeam]:
        iteration, audit = self.iteration, self.audit
        start = audit.checks.place
        alive, last = list(iteration.input_beams), len(iteration.layers)
        room = self.settings.max_new_tokens - audit.length
        self.same("draft depth", iteration.draft_depth, min(audit.depth.choose(), room - self.settings.has_bonus_layer))
        self.same("layers are present", last > 0, True)
        NumbersAudit(audit.checks, self.settings, audit.trace.models, iteration).run()
        self.laws.forest()
        kind_of_audit = LayerAudit
        if not self.settings.lossless:
            kind_of_audit = JointLayerAudit
            JointAudit(audit.checks, self.settings, iteration).run()
        block = BlockAudit(audit.checks, self.settings, iteration)
        block.run()
        for number, layer in enumerate(iteration.layers, 1):
            audit.checks.place = f"{start}, layer {number}"
            self.same("layer number", layer.layer, number)
            self.same("alive beams", layer.alive, [beam.node for beam in alive])
            self.laws.layer(layer, alive)
            deciding = kind_of_audit(
                audit.checks, self.settings, iteration, layer, audit.nodes, audit.log_weights, block
            )
            alive = deciding.run()
            audit.finished |= deciding.finished
            self.same("verification goes on", number < last, layer.outcome in ("passed", "landed"))
        audit.checks.place = start
        for kind, items in (("trial", iteration.trials), ("draw", iteration.draws)):
            deepest = last if kind == "draw" or self.settings.lossless else iteration.draft_depth
            self.same(f"every {kind} has its layer", all(1 <= item.layer <= deepest for item in items), True)
            places = [(item.layer, item.order) for item in items]
            self.same(f"each {kind} has its place", places, sorted(places))
        outcomes = [layer.outcome for layer in iteration.layers]
        passed = sum(outcome in ("passed", "landed") for outcome in outcomes)
        audit.depth.observe(iteration.draft_depth, passed, outcomes[-1] == "short")
        audit.length += last
        self.same("tokens stay within max_new_tokens", audit.length <= self.settings.max_new_tokens, True)
        best = _keep_best(alive, self.settings.input_beams)
        self.same("output beams", iteration.output_beams, best)
        return best


def _ambiguous(nodes: Iterable[Node]) -> list[int]:
    """Tokens that have two texts, or that end a beam in one place and not in another."""
    seen: dict[int, tuple[str, str | None, bool]] = {}
    return [
        node.token_id
        for node in nodes
        if seen.setdefault(node.token_id, (node.text, node.bytes, node.ends)) != (node.text, node.bytes, node.ends)
    ]


def _keep_best(beams: Sequence[InputBeam], count: int | None) -> list[InputBeam]:
    if count is None:
        return list(beams)
    best = sorted(beams, key=lambda beam: -beam.log_weight)[:count]
    return [beam for beam in beams if beam in best]
