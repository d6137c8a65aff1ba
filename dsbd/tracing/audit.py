"""Computes every decision of a trace again, and names the first one that does not follow from the recorded numbers.

This is arithmetic on the trace alone: that of ``dsbd.verification``, whose other witnesses are the enumerations of the
tests. It cannot tell whether the models really gave these probabilities: ``replay`` decodes again with them.

*Source:* docs/algorithm.md, *One iteration*, *The dynamic width*, *Joint tests* and *The trace*.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dsbd.errors import TraceError
from dsbd.methods import DepthPolicy, needs_draft_model, resolve
from dsbd.results import ITERATION_PHASES, acceptance_rate, count_verdicts
from dsbd.tracing.distribution_audit import BrokenError, Checks, check_forest, check_numbers, check_target
from dsbd.tracing.layer_audit import JointLayerAudit, LayerAudit, check_joint_test
from dsbd.tracing.records import (
    ROOT,
    WITHOUT_MODEL,
    Alternative,
    BeamRecord,
    InputBeam,
    IterationRecord,
    KeptSlots,
    NodeRecord,
    Piece,
    Result,
    path_to,
)
from dsbd.tracing.trace import Trace, canonical_digest
from dsbd.util import cut

MOST_WAYS = 64
"""Ends that a beginning of the tokens may have in a text, at most; where nothing is hidden it has one."""


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

    With a new digest, another value can pass in what follows; ``verify-trace --replay`` decides all but the first.
    No check decides:

    - who wrote it and when: ``software``, ``models.id``, ``models.revision``, ``models.dtype``, ``models.device``,
      ``models.attention`` of the draft model, ``result.stats.kv_peak_bytes`` and, in a search for blocks and beside
      ``guess`` or ``history``, ``result.stats.draft_calls``;
    - how the ``prompt`` became its tokens;
    - random numbers, where they decide the same: ``trials.uniform``, ``draws.uniform``, and this with its interval;
    - the size of log-probabilities where the temperature is not 1 or candidates were cut, and any of a node that
    decided
      nothing: ``nodes.target_log_prob``, ``nodes.draft_log_prob``, ``nodes.target_prob``, ``nodes.draft_prob``,
      ``nodes.parent``, ``nodes.token_id``, ``nodes.text``, ``nodes.bytes``, ``nodes.ends``;
    - a likely candidate that is no node, as far as the others leave room: ``layers.alternatives.parent``,
      ``layers.alternatives.token_id``, ``layers.alternatives.text``, ``layers.alternatives.target_prob``,
      ``layers.alternatives.draft_prob``; Q of a candidate that is neither: ``draws.draft_prob``; how many candidates
      there are where top_p cuts: ``layers.target_support``;
    - cache slots: ``kept.slots_scored`` and, of earlier iterations, ``kept.nodes``;
    - a setting, where the run shows nothing of it. So are ``settings.width_threshold``, ``settings.continuation`` and
      ``settings.depth_costs`` where another value chooses the same; ``settings.landing`` and ``settings.input_beams``
      where nothing landed or was left; ``settings.top_p`` where it cut, or would have cut nothing; ``settings.top_k``
      below a top_p that cuts, or at temperature 0 or below 0.15; ``settings.temperature`` of lone candidates and at 0;
      ``settings.draft_width`` where Q has no more, or a joint test tries one beam; ``settings.cover_width`` near
      top_k; ``settings.min_width`` without drafts; ``settings.branching`` of layers that were not reached;
      ``settings.length_penalty`` of one token; ``settings.max_new_tokens`` where all beams ended;
      ``settings.early_stopping`` that ends this decode at the same token;
      ``settings.method`` where it implies the other settings; and the seed of a sampled forest, if both are changed.

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
        self.length = 0
        texts = [one.text for one in self.trace.prompt.pieces] + [one.text for one in checks.nodes.values()]
        self.has_spaces = any(text.startswith(" ") for text in texts)
        self.depth = DepthPolicy(self.settings.draft_depth, self.settings.depth_costs, self.settings.continuation)

    def run(self) -> None:
        """Decide everything again. Raises: BrokenError."""
        checks, result, last = self.checks, self.trace.result, len(self.trace.iterations)
        for name, value in vars(resolve(self.settings)).items():
            checks.same("setting of the method", getattr(self.settings, name), value, name)
        checks.same("seed", self.trace.seed, self.settings.seed)
        self._tokens()
        beams = [InputBeam(ROOT, 1, 0.0)]
        self.has_texts = result is not None and all(self._text(beam.node) == beam.text for beam in result.beams)
        for number, iteration in enumerate(self.trace.iterations, 1):
            checks.where = f"iteration {number}"
            checks.same("index", iteration.index, number - 1)
            checks.same("input beams", iteration.input_beams, beams)
            beams = self._iteration(iteration, number == last)
        checks.where = "result"
        if result is not None:
            self._result(result, beams)
        checks.where = "trace"
        if self.trace.digest:
            checks.same("digest", self.trace.digest, canonical_digest(self.trace))

    def _tokens(self) -> None:
        """The models share a vocabulary, in which every token stands once, with one text; nodes are numbered."""
        checks, draft, nodes = self.checks, self.trace.models.draft, self.checks.nodes.values()
        checks.same("a draft model", draft is not None or not needs_draft_model(self.settings), True)
        if draft is not None:
            checks.same("vocabulary of the draft model", draft.vocabulary_size, checks.vocabulary)
        listed = [
            candidate for one in self.trace.iterations for layer in one.layers for candidate in layer.alternatives
        ]
        pieces: list[Piece | NodeRecord] = [*self.trace.prompt.pieces, *nodes]
        every: list[Piece | NodeRecord | Alternative] = [*pieces, *listed]
        checks.same("tokens are in the vocabulary", all(0 <= one.token_id < checks.vocabulary for one in every), True)
        checks.same("tokens with two texts", _ambiguous(every, lambda one: one.text), [])
        checks.same("tokens with two contents", _ambiguous(pieces, lambda one: one.bytes), [])
        checks.same("tokens with two ends", _ambiguous(nodes, lambda one: one.ends), [])
        checks.same("ids of the nodes", [*checks.nodes], [*range(1, len(checks.nodes) + 1)])

    # ---- iterations

    def _iteration(self, iteration: IterationRecord, is_last: bool) -> list[InputBeam]:
        """Decide one iteration again, layer by layer; returns the beams that it leaves."""
        checks, settings, start = self.checks, self.settings, self.checks.where
        for node in iteration.nodes:
            log_prob = -math.inf if node.target_log_prob is None else node.target_log_prob
            checks.log_weights[node.id] = checks.log_weights[node.parent] + log_prob
        self._depth(iteration)
        check_numbers(checks, iteration)
        check_forest(checks, iteration)
        if not settings.lossless:
            check_joint_test(checks, iteration)
        alive, last = list(iteration.input_beams), len(iteration.layers)
        for number, layer in enumerate(iteration.layers, 1):
            checks.where = f"{start}, layer {number}"
            checks.same("alive beams", layer.alive, [beam.node for beam in alive])
            check_target(checks, iteration, layer, alive)
            deciding = (LayerAudit if settings.lossless else JointLayerAudit)(checks, iteration, layer)
            alive = deciding.run()
            self.finished |= deciding.finished
            is_stopped = bool(alive) and self._ends_early(alive, self.length + number)
            checks.same("outcome", layer.outcome, "stopped" if is_stopped else deciding.outcome)
            alive = [] if is_stopped else alive
            is_end = is_last and number == last
            ended = self._is_answered(alive, self._text) if self.has_texts else is_end and self.trace.stop != []
            checks.same("the answer has ended", ended and not is_end, False)
            checks.same("verification goes on", number < last, layer.outcome in ("passed", "landed") and not ended)
        checks.where = start
        for kind, items in (("trial", iteration.trials), ("draw", iteration.draws)):
            deepest = last if kind == "draw" or settings.lossless else iteration.draft_depth
            checks.same("layers of the record", all(1 <= item.layer <= deepest for item in items), True, kind)
            order = [(item.layer, item.order) for item in items]
            checks.same("order of the record", order, sorted(order), kind)
        passed = sum(layer.outcome in ("passed", "landed") for layer in iteration.layers)
        self.depth.observe(iteration.draft_depth, passed, iteration.layers[-1].outcome == "short")
        self.length += last
        best = sorted(alive, key=lambda beam: -beam.log_weight)[: settings.input_beams]
        checks.same("output beams", iteration.output_beams, [beam for beam in alive if beam in best])
        self._slots(iteration)
        return iteration.output_beams

    def _depth(self, iteration: IterationRecord) -> None:
        """Drafted is the chosen depth, or less near the limit, or where all drafts of a layer end.

        Copied drafts also end where nothing in the text agrees with them, which only a replay decides.
        """
        room = self.settings.max_new_tokens - self.length
        depth = min(self.depth.choose(), room - (not self.settings.searches_blocks))
        deepest, draft = iteration.draft_depth, self.trace.models.draft
        last = [node for node in iteration.nodes if node.layer == deepest and node.kind == self.checks.tried_kind]
        is_source = draft is not None and draft.attention in WITHOUT_MODEL
        if is_source or (deepest > 0 and all(node.ends for node in last)):
            depth = min(deepest, depth)
        self.checks.same("draft depth", deepest, depth)

    def _slots(self, iteration: IterationRecord) -> None:
        """A state for all beams keeps prompt and nodes above the output beams; one for each path counts no slots."""
        checks, slots, nodes = self.checks, iteration.kept, self.checks.nodes
        if self.trace.models.target.attention != "forest":
            checks.same("slots of separate caches", slots, KeptSlots(0, 0, 0, []))
            return
        own = {*(node.id for node in iteration.nodes), *(beam.node for beam in iteration.input_beams)}
        above = {one.parent for beam in iteration.output_beams for one in path_to(beam.node, nodes)}
        has_memory = self.trace.prompt.memory is not None
        checks.same("slots of the prompt", slots.prompt_slots, len(self.trace.prompt.pieces) - 1 + has_memory)
        kept = slots.prompt_slots + len(above) if above else slots.slots_scored
        checks.same("slots that stay", slots.slots_kept, kept)
        checks.same("nodes that stay", above & own <= {*slots.nodes} <= above, True)
        checks.same("nodes that stay twice", len(slots.nodes), len({*slots.nodes}))

    # ---- the result

    def _result(self, result: Result, alive: Sequence[InputBeam]) -> None:
        checks, possible = self.checks, self.finished | {beam.node: beam for beam in alive}
        checks.same("hypotheses", sorted(beam.node for beam in result.beams), sorted(possible))
        texts = {beam.node: beam.text for beam in result.beams}
        if alive and not self._is_answered(alive, texts.__getitem__):  # what ends a decode
            checks.same("tokens decoded", self.length, self.settings.max_new_tokens)
        for beam in result.beams:
            name, path = f"beam {beam.node}", list(path_to(beam.node, checks.nodes))
            checks.same("tokens", beam.token_ids, [node.token_id for node in path], name)
            seen = path, [node for node in path if not _may_hide(node)]
            shows = any(_shows(beam.text, nodes, self.has_spaces) for nodes in seen)
            checks.same("text of the tokens", shows, True, name)
            checks.close("log-weight of a hypothesis", beam.log_weight, possible[beam.node].log_weight, name)
            checks.same("multiplicity", beam.multiplicity, possible[beam.node].multiplicity, name)
            checks.close("score", beam.score, self._score(beam), name)
            checks.same("end", beam.finished, beam.node in self.finished, name)
        scores = [beam.score for beam in result.beams]
        checks.same("ranking", scores, sorted(scores, reverse=True))
        checks.same("returned tokens", result.token_ids, result.beams[0].token_ids)
        checks.same("returned text", result.text, cut(result.beams[0].text, self.trace.stop))
        _check_stats(checks, result, self.length)

    def _ends_early(self, alive: Sequence[InputBeam], length: int) -> bool:
        """Decide ``early_stopping`` again; no end is early at the limit, where beams that are alive are results too."""
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
        return _joined([one for one in path_to(node, self.checks.nodes) if not one.ends])

    def _is_answered(self, alive: Sequence[InputBeam], text_of: Callable[[int], str]) -> bool:
        """Return True if every hypothesis that can still be returned has the same text before a text of ``stop``."""
        if not self.trace.stop or not alive:
            return False
        over = sorted(self.finished.values(), key=self._score, reverse=True)[:1]
        texts = [(text_of(beam.node), beam in alive) for beam in (*alive, *over)]
        answers = {cut(text, self.trace.stop) for text, _ in texts}
        return len(answers) == 1 and all(text not in answers for text, is_alive in texts if is_alive)


def _bytes_of(node: NodeRecord) -> bytes:
    return bytes.fromhex(node.bytes) if node.bytes else node.text.encode()


def _may_hide(node: NodeRecord) -> bool:
    return node.ends or node.text[:1] + node.text[-1:] in ("<>", "[]")


def _joined(nodes: Iterable[NodeRecord]) -> str:
    """Return the text that the bytes of tokens make."""
    return b"".join(map(_bytes_of, nodes)).decode(errors="replace")


def _shows(text: str, nodes: Sequence[NodeRecord], has_spaces: bool) -> bool:
    """Return True if a text is what tokens show, one after another.

    Single bytes that are no text together may be one U+FFFD each; a token that ends a beam, or has a text in brackets
    such as ``<pad>``, may be hidden. Without ``has_spaces`` the tokens do not tell where spaces are, or ``##`` inside a
    word.
    """
    runs = list[list[NodeRecord]]()
    broken = set[int]()
    for is_byte, bytes_ in groupby(nodes, lambda node: len(_bytes_of(node)) == 1):
        group = list(bytes_)
        broken.update(node.id for node in group if is_byte and "\ufffd" in _joined(group))
    for node in nodes:  # bytes that alone are not UTF-8 make a text together
        if node.bytes and runs and runs[-1][-1].bytes:
            runs[-1].append(node)
        else:
            runs.append([node])
    left = text if has_spaces else "".join(text.split())
    ends = {0}
    for number, run in enumerate(runs):
        whole = _joined(run)
        parts = {whole} if has_spaces else {"".join(whole.split()), whole.strip().removeprefix("##")}
        if _may_hide(run[0]):
            parts.add("")
        if run[0].id in broken:
            parts.add("\ufffd" * len(run))
        if number == 0:
            parts.add(whole.removeprefix(" "))
        ends = {at + len(part) for at in ends for part in parts if left.startswith(part, at)}
        ends = {*sorted(ends)[-MOST_WAYS:]}
    return len(left) in ends


def _ambiguous(tokens: Iterable[Piece | NodeRecord | Alternative], of: Callable[[Any], object]) -> list[int]:
    """Return tokens that have two values in one trace."""
    seen = dict[int, object]()
    return [one.token_id for one in tokens if seen.setdefault(one.token_id, of(one)) != of(one)]


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
    elif trace.settings.searches_blocks or trace.guess or trace.history:
        pass  # the draft model is asked only where it is needed
    elif draft is not None and draft.attention == "forest":
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
        checks.same("count of the statistics", stats.get(name), count, name)
    for name, number in numbers.items():
        checks.close("number of the statistics", stats.get(name), number, name)
