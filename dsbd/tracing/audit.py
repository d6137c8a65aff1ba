"""Computes every decision of a trace again, and names the first one that does not follow from the recorded numbers.

This is arithmetic on the trace alone, and it shares no code with ``verify``. It cannot tell whether the models really
gave these probabilities: ``replay`` decodes again with them.

*Source:* docs/algorithm.md, *One iteration*, *The dynamic width*, *Joint tests* and *The trace*.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dsbd.errors import TraceError
from dsbd.methods import DepthPolicy, needs_draft_model, resolve
from dsbd.results import ITERATION_PHASES, acceptance_rate, count_verdicts
from dsbd.tracing.law_audit import BrokenError, Checks, check_forest, check_numbers, check_target
from dsbd.tracing.layer_audit import JointLayerAudit, LayerAudit
from dsbd.tracing.records import ROOT, BeamRecord, InputBeam, Iteration, KeptSlots, Node, Result, path_to
from dsbd.tracing.trace import Trace, canonical_digest
from dsbd.util import cut


@dataclass(frozen=True)
class AuditReport:
    """The outcome of an audit."""

    passed: bool
    checks: int
    """How many decisions and identities were computed again."""
    failure: str | None
    """The first check that failed; None if all passed."""
    finished: bool = True
    """False for a trace without a result: its decode was stopped, or its end was cut off."""


def verify_trace(trace: Trace) -> AuditReport:
    """Decide again every verdict, width, draw and identity, then compare the digest, which a browser leaves out.

    A setting is held to what the record shows of it. These can pass with another value: a ``top_p`` so near 1 that it
    would have cut no pair; a ``temperature`` where each layer holds one pair with its log-probability, as after a joint
    test; an ``early_stopping`` that ends this decode at the same token; and without replacement a larger
    ``draft_width`` where the recorded drafts hold all of Q. Whether such a value gives other nodes or verdicts, only
    ``verify-trace --replay`` decides.

    Raises:
        TraceError: ``trace`` is not a :class:`Trace`.
    """
    if not isinstance(trace, Trace):
        raise TraceError(f"{trace!r:.60} is not a trace; give dsbd.Trace.load(path), or the trace of a recorded result")
    checks, failure = Checks(trace), None
    try:
        _Audit(checks).run()
    except BrokenError as broken:
        failure = str(broken)
    return AuditReport(failure is None, checks.count, failure, trace.result is not None)


class _Audit:
    def __init__(self, checks: Checks) -> None:
        self.trace, self.settings, self.checks = checks.trace, checks.settings, checks
        self.finished: dict[int, InputBeam] = {}
        self.length, self.has_memory = 0, self.trace.prompt.memory is not None
        self.depth = DepthPolicy(self.settings.draft_depth, self.settings.depth_costs, self.settings.continuation)

    def run(self) -> None:
        """Decide everything again. Raises: BrokenError."""
        implied = resolve(self.settings)
        for name, value in vars(implied).items():
            self.checks.same(f"setting {name} of method {implied.method}", getattr(self.settings, name), value)
        beams, result, last = [InputBeam(ROOT, 1, 0.0)], self.trace.result, len(self.trace.iterations)
        is_told = bool(self.trace.stop) and result is not None and self._tokens_tell(result)
        for number, iteration in enumerate(self.trace.iterations, 1):
            self.checks.place = f"iteration {number}"
            self.checks.same("index", iteration.index, number - 1)
            self.checks.same("input beams", iteration.input_beams, beams)
            beams = self._iteration(iteration)
            if is_told and number < last:
                self.checks.same("the answer has ended", self._is_answered(beams, self._text), False)
        if result is not None:
            self._result(result, beams)
        self.checks.place = "trace"
        self.checks.same("seed", self.trace.seed, self.settings.seed)
        self.checks.same("list of tokens with two texts or two ends", _ambiguous(self.checks.nodes.values()), [])
        self.checks.same("ids of the nodes", [*self.checks.nodes], [*range(1, len(self.checks.nodes) + 1)])
        self._models()
        if self.trace.digest:
            self.checks.same("digest", self.trace.digest, canonical_digest(self.trace))

    def _iteration(self, iteration: Iteration) -> list[InputBeam]:
        """Decide one iteration again, layer by layer; returns the beams that it leaves."""
        checks, settings, start = self.checks, self.settings, self.checks.place
        for node in iteration.nodes:
            log_prob = -math.inf if node.target_log_prob is None else node.target_log_prob
            checks.log_weights[node.id] = checks.log_weights[node.parent] + log_prob
        alive, last = list(iteration.input_beams), len(iteration.layers)
        room = settings.max_new_tokens - self.length
        depth = min(self.depth.choose(), room - (not settings.searches_blocks))
        checks.same("draft depth", iteration.draft_depth, self._depth_drafted(iteration, depth))
        check_numbers(checks, iteration)
        check_forest(checks, iteration)
        if not settings.lossless:
            _check_joint_test(checks, iteration)
        for number, layer in enumerate(iteration.layers, 1):
            checks.place = f"{start}, layer {number}"
            checks.same("alive beams", layer.alive, [beam.node for beam in alive])
            check_target(checks, iteration, layer, alive)
            deciding = (LayerAudit if settings.lossless else JointLayerAudit)(checks, iteration, layer)
            alive = deciding.run()
            self.finished |= deciding.finished
            is_stopped = bool(alive) and self._ends_early(alive, self.length + number)
            checks.same("outcome", layer.outcome, "stopped" if is_stopped else deciding.outcome)
            alive = [] if is_stopped else alive
            checks.same("verification goes on", number < last, layer.outcome in ("passed", "landed"))
        checks.place = start
        for kind, items in (("trial", iteration.trials), ("draw", iteration.draws)):
            deepest = last if kind == "draw" or settings.lossless else iteration.draft_depth
            checks.same(f"every {kind} has its layer", all(1 <= item.layer <= deepest for item in items), True)
            places = [(item.layer, item.order) for item in items]
            checks.same(f"each {kind} has its place", places, sorted(places))
        outcomes = [layer.outcome for layer in iteration.layers]
        passed = sum(outcome in ("passed", "landed") for outcome in outcomes)
        self.depth.observe(iteration.draft_depth, passed, outcomes[-1] == "short")
        self.length += last
        checks.same("tokens stay within max_new_tokens", self.length <= settings.max_new_tokens, True)
        best = sorted(alive, key=lambda beam: -beam.log_weight)[: settings.input_beams]
        kept = [beam for beam in alive if beam in best]
        checks.same("output beams", iteration.output_beams, kept)
        self._slots(iteration)
        return kept

    def _slots(self, iteration: Iteration) -> None:
        """One row keeps the prompt and the nodes above the output beams; a row for each path counts no slots."""
        checks, slots, nodes = self.checks, iteration.kept, self.checks.nodes
        if self.trace.models.target.attention != "forest":
            checks.same("slots of separate caches", vars(slots), vars(KeptSlots(0, 0, 0, [])))
            return
        own = {*(node.id for node in iteration.nodes), *(beam.node for beam in iteration.input_beams)}
        above = {one.parent for beam in iteration.output_beams for one in path_to(beam.node, nodes)}
        checks.same("slots of the prompt", slots.prompt_slots, len(self.trace.prompt.pieces) - 1 + self.has_memory)
        held = slots.prompt_slots + len(above) if above else slots.slots_scored
        checks.same("slots that stay", slots.slots_kept, held)
        checks.same("nodes that stay", above & own <= {*slots.nodes} <= above, True)

    def _depth_drafted(self, iteration: Iteration, depth: int) -> int:
        """Return how many layers of ``depth`` are drafted: none below a layer whose drafts all end.

        Copied drafts also end where nothing in the text agrees with them, which only a replay decides.
        """
        draft = self.trace.models.draft
        if draft is not None and draft.attention == "copies":
            return min(iteration.draft_depth, depth)
        deepest, kind = iteration.draft_depth, "cover" if self.checks.is_likely else "drafted"
        last = [node for node in iteration.nodes if node.layer == deepest and node.kind == kind]
        return deepest if 0 < deepest < depth and all(node.ends for node in last) else depth

    def _models(self) -> None:
        """The method has the models that it calls, and they share a vocabulary, which holds every token."""
        draft = self.trace.models.draft
        if needs_draft_model(self.settings):
            self.checks.same("a draft model", draft is not None, True)
        if draft is not None:
            self.checks.same("vocabulary of the draft model", draft.vocabulary_size, self.checks.vocabulary)
        tokens = {one.token_id for one in self.trace.prompt.pieces} | {
            one.token_id for one in self.checks.nodes.values()
        }
        for iteration in self.trace.iterations:
            tokens |= {pair.token_id for layer in iteration.layers for pair in layer.alternatives}
        fits = all(0 <= token < self.checks.vocabulary for token in tokens)
        self.checks.same("tokens are in the vocabulary", fits, True)

    def _result(self, result: Result, alive: Sequence[InputBeam]) -> None:
        checks, checks.place = self.checks, "result"
        held = self.finished | {beam.node: beam for beam in alive}
        checks.same("hypotheses", sorted(beam.node for beam in result.beams), sorted(held))
        texts = {beam.node: beam.text for beam in result.beams}
        if alive and not self._is_answered(alive, texts.__getitem__):
            checks.same("tokens decoded", self.length, self.settings.max_new_tokens)
        for beam in result.beams:
            ids = [node.token_id for node in path_to(beam.node, checks.nodes)]
            checks.same(f"tokens of beam {beam.node}", beam.token_ids, ids)
            checks.close(f"log-weight of beam {beam.node}", beam.log_weight, held[beam.node].log_weight)
            checks.same(f"multiplicity of beam {beam.node}", beam.multiplicity, held[beam.node].multiplicity)
            checks.close(f"score of beam {beam.node}", beam.score, self._score(beam))
            checks.same(f"end of beam {beam.node}", beam.finished, beam.node in self.finished)
        scores = [beam.score for beam in result.beams]
        checks.same("ranking", scores, sorted(scores, reverse=True))
        checks.same("returned tokens", result.token_ids, result.beams[0].token_ids)
        checks.same("returned text", result.text, cut(result.beams[0].text, self.trace.stop))
        _check_stats(checks, result, self.length)

    def _ends_early(self, alive: Sequence[InputBeam], length: int) -> bool:
        """Decide ``early_stopping`` again; at the limit, where alive beams are results too, no end is early."""
        settings = self.settings
        scores = sorted(self._score(beam) for beam in self.finished.values() for _ in range(beam.multiplicity))
        if settings.early_stopping is None or len(scores) < settings.max_width or length == settings.max_new_tokens:
            return False
        if settings.early_stopping == "never" and settings.length_penalty > 0:
            length = settings.max_new_tokens
        attainable = [beam.log_weight / length**settings.length_penalty for beam in alive]
        return settings.early_stopping is True or max(attainable) <= scores[-settings.max_width]

    def _score(self, beam: InputBeam | BeamRecord) -> float:
        length = len(list(path_to(beam.node, self.checks.nodes)))
        return beam.log_weight / max(length, 1) ** self.settings.length_penalty

    def _text(self, node: int) -> str:
        """Return what the tokens of a beam are when they are joined, without its end."""
        path = [one for one in path_to(node, self.checks.nodes) if not one.ends]
        parts = [bytes.fromhex(one.bytes) if one.bytes else one.text.encode() for one in path]
        return b"".join(parts).decode(errors="replace")

    def _tokens_tell(self, result: Result) -> bool:
        """Return True if joined tokens are the recorded texts. Some tokenizers add spaces, or show no special token."""
        return all(self._text(beam.node) == beam.text for beam in result.beams)

    def _is_answered(self, alive: Sequence[InputBeam], text_of: Callable[[int], str]) -> bool:
        """Return True if every hypothesis that can still be returned has the same text before a text of ``stop``."""
        over = sorted(self.finished.values(), key=self._score, reverse=True)[:1]
        texts = [(text_of(beam.node), beam in alive) for beam in (*alive, *over)]
        answers = {cut(text, self.trace.stop) for text, _ in texts}
        return len(answers) == 1 and all(text not in answers for text, is_alive in texts if is_alive)


def _check_joint_test(checks: Checks, iteration: Iteration) -> None:
    """Decide a joint test again: the best beam, its sums and its verdicts; its layers are for JointLayerAudit."""
    trials, settings, start = iteration.trials, checks.settings, checks.place
    nodes = {node.id: node for node in iteration.nodes if node.kind == "drafted"}
    sums = {beam.node: 0.0 for beam in iteration.input_beams}
    for node in nodes.values():
        log_prob = -math.inf if node.draft_log_prob is None else node.draft_log_prob
        sums[node.id] = sums.get(node.parent, -math.inf) + log_prob
    ends = [node.id for node in nodes.values() if node.layer == iteration.draft_depth or node.ends]
    checks.same("a joint test", bool(trials), bool(ends))
    parent, target, passes = iteration.input_beams[0].node, 0.0, list[bool]()
    for place, trial in enumerate(trials, 1):
        checks.place = f"{start}, layer {place}"
        tried, name, joint = nodes.get(trial.node), f"trial of node {trial.node}", trial.joint
        if tried is None or tried.parent != parent or joint is None:
            checks.broken(f"{name}: it does not go on with the best beam, or has no sums")
        held = (trial.layer, trial.order, trial.residual_prob, trial.c, trial.S, trial.uniform)
        checks.same(f"layer, order and numbers of other tests, {name}", held, (place, 0, None, None, None, None))
        checks.close(f"draft probability, {name}", trial.draft_prob, tried.draft_prob or 0.0)
        target += -math.inf if tried.target_log_prob is None else tried.target_log_prob
        checks.close(f"threshold, {name}", joint.threshold, settings.joint_threshold)
        checks.close(f"draft's sum, {name}", joint.draft, sums[tried.id])
        if target == -math.inf:
            checks.same(f"target's sum, {name}", joint.target, None)
        else:
            checks.close(f"target's sum, {name}", joint.target, target)
        acceptance = 0.0 if joint.target is None else math.exp(min(joint.target - joint.draft, 0.0))
        checks.close(f"acceptance probability, {name}", trial.acceptance, acceptance)
        passes.append(joint.target is not None and (trial.acceptance or 0.0) >= settings.joint_threshold)
        parent = tried.id
    passed = max((place for place, one in enumerate(passes, 1) if one), default=0)
    for place, (trial, one) in enumerate(zip(trials, passes, strict=True), 1):
        checks.place = f"{start}, layer {place}"
        verdict = "rejected" if place > passed else "accepted" if one else "carried"
        checks.same(f"verdict, trial of node {trial.node}", trial.verdict, verdict)
    checks.place = start
    if ends:
        checks.same("end of the best beam", parent in ends, True)
        checks.close("sum of the best beam under the draft model", sums[parent], max(sums[end] for end in ends))
    has_end = bool(trials) and passed == len(trials) and nodes[trials[-1].node].ends
    is_whole = has_end or (settings.searches_blocks and bool(trials))
    checks.same("layers of the joint test", len(iteration.layers), passed + (not is_whole))


def _check_stats(checks: Checks, result: Result, layers: int) -> None:
    """Count the statistics of a result again; ``layers`` is the number of final layers.

    The bytes and the seconds of the prompt do not follow from the record.
    """
    trace, stats = checks.trace, result.stats
    iterations, draft = trace.iterations, trace.models.draft
    trials = [trial for iteration in iterations for trial in iteration.trials]
    counted = count_verdicts(trials, [draw for iteration in iterations for draw in iteration.draws])
    counts: dict[str, int | None] = {**counted, "layers": layers, "iterations": len(iterations)}
    counts["new_tokens"] = len(result.token_ids)
    prompt = int(len(trace.prompt.pieces) > 1)  # one forward over all tokens of the prompt but the last
    if trace.models.target.attention == "forest":
        counts["target_calls"] = len(iterations) + prompt
        counts["kv_peak_slots"] = max((iteration.kept.slots_scored for iteration in iterations), default=0)
    if trace.settings.draft_depth == 0:
        counts["draft_calls"] = 0
    elif not trace.settings.searches_blocks and draft is not None and draft.attention == "forest":
        counts["draft_calls"] = sum(iteration.draft_depth for iteration in iterations) + prompt
    seconds = {
        f"{name}_seconds": math.fsum(getattr(iteration.phases, f"{name}_seconds") for iteration in iterations)
        for name in ITERATION_PHASES
    }
    decoding = sum(seconds.values())
    beams = [beam for iteration in iterations for layer in iteration.layers for beam in layer.beams]
    numbers = seconds | {
        "seconds": decoding + (stats.get("prefill_seconds") or 0.0),
        "layers_per_iteration": layers / max(len(iterations), 1),
        "mean_width": sum(beam.multiplicity for beam in beams) / max(layers, 1),
    }
    rate = acceptance_rate(counted)
    if rate is None:
        counts["acceptance_rate"] = None
    else:
        numbers["acceptance_rate"] = rate
    if decoding > 0:
        numbers["tokens_per_second"] = layers / decoding
    for name, count in counts.items():
        checks.same(f"statistic {name}", stats.get(name), count)
    for name, number in numbers.items():
        checks.close(f"statistic {name}", stats.get(name), number)


def _ambiguous(nodes: Iterable[Node]) -> list[int]:
    """Tokens that have two texts, or that end a beam in one place and not in another."""
    seen: dict[int, tuple[str, str | None, bool]] = {}
    return [
        node.token_id
        for node in nodes
        if seen.setdefault(node.token_id, (node.text, node.bytes, node.ends)) != (node.text, node.bytes, node.ends)
    ]
