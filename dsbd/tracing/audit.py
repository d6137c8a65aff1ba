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
from dsbd.results import acceptance_rate, count_verdicts
from dsbd.tracing.distribution_audit import BrokenError, Checks, check_numbers, check_target
from dsbd.tracing.layer_audit import JointLayerAudit, LayerAudit, check_joint_test
from dsbd.tracing.records import (
    ROOT,
    WITHOUT_MODEL,
    Alternative,
    BeamRecord,
    InputBeam,
    IterationRecord,
    NodeRecord,
    Piece,
    Result,
    path_to,
)
from dsbd.tracing.trace import Trace, canonical_digest
from dsbd.util import cut
from dsbd.verification.beams import Beam, Hypothesis, ends_early, score_hypothesis

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
      ``models.attention`` of the draft model; how the ``prompt`` became its tokens;
    - what was measured: all ``seconds``, cache slots (``kept.prompt_slots``, ``kept.slots_scored``,
      ``kept.slots_kept``, ``kept.nodes``) and, of the statistics, ``result.stats.tokens_per_second``,
      ``result.stats.layers_per_iteration``, ``result.stats.mean_width``, ``result.stats.target_calls``,
      ``result.stats.draft_calls``, ``result.stats.kv_peak_slots``, ``result.stats.kv_peak_bytes``;
    - random numbers, where they decide the same: ``trials.uniform``, ``draws.uniform``, and this with its interval;
    - the size of log-probabilities, whose ratios alone count, and any of a node that decided nothing:
      ``nodes.target_log_prob``, ``nodes.draft_log_prob``, ``nodes.target_prob``, ``nodes.draft_prob``,
      ``nodes.parent``, ``nodes.token_id``, ``nodes.text``, ``nodes.bytes``, ``nodes.ends``, ``nodes.kind``;
    - a likely candidate that is no node: ``layers.alternatives.parent``, ``layers.alternatives.token_id``,
      ``layers.alternatives.text``, ``layers.alternatives.target_prob``, ``layers.alternatives.draft_prob``; Q of a
      candidate that is neither: ``draws.draft_prob``; how many candidates there are: ``layers.target_support``;
    - a setting, where the run shows nothing of it. So are ``settings.width_threshold``, ``settings.continuation`` and
      ``settings.depth_costs`` where another value chooses the same; ``settings.landing`` and ``settings.input_beams``
      where nothing landed or was left; ``settings.temperature`` of lone candidates and at 0; ``settings.top_p``,
      ``settings.top_k``, ``settings.draft_width`` and ``settings.cover_width`` where no layer has more;
      ``settings.min_width`` without drafts; ``settings.branching`` of layers that were not reached;
      ``settings.length_penalty`` of one token; ``settings.max_new_tokens`` where all beams ended;
      ``settings.early_stopping`` that ends this decode at the same token; ``settings.method`` where it implies the
      other settings; and the seed of a sampled forest, if both are changed.

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
        every: list[Piece | NodeRecord | Alternative] = [*self.trace.prompt.pieces, *nodes, *listed]
        checks.same("tokens are in the vocabulary", all(0 <= one.token_id < checks.vocabulary for one in every), True)
        checks.same("tokens with two texts", _ambiguous(every, lambda one: one.text), [])
        checks.same("tokens with two contents", _ambiguous(nodes, lambda one: (one.bytes, one.ends)), [])
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
            beams = [Beam(checks.path(beam.node), beam.log_weight, beam.multiplicity) for beam in alive]
            finished = [self._hypothesis(beam, finished=True) for beam in self.finished.values()]
            is_stopped = bool(alive) and ends_early(finished, beams, settings)
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
            checks.close("score", beam.score, self._hypothesis(beam).score, name)
            checks.same("end", beam.finished, beam.node in self.finished, name)
        scores = [beam.score for beam in result.beams]
        checks.same("ranking", scores, sorted(scores, reverse=True))
        checks.same("returned tokens", result.token_ids, result.beams[0].token_ids)
        checks.same("returned text", result.text, cut(result.beams[0].text, self.trace.stop))
        _check_stats(checks, result, self.length)

    def _hypothesis(self, beam: InputBeam | BeamRecord, finished: bool = False) -> Hypothesis:
        own = Beam(self.checks.path(beam.node), beam.log_weight, beam.multiplicity)
        return score_hypothesis(own, self.settings.length_penalty, finished)

    def _text(self, node: int) -> str:
        return _joined([one for one in path_to(node, self.checks.nodes) if not one.ends])

    def _is_answered(self, alive: Sequence[InputBeam], text_of: Callable[[int], str]) -> bool:
        """Return True if every hypothesis that can still be returned has the same text before a text of ``stop``."""
        if not self.trace.stop or not alive:
            return False
        over = sorted(self.finished.values(), key=lambda one: self._hypothesis(one).score, reverse=True)[:1]
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
    """Count the verdicts, draws and layers of the statistics again."""
    iterations = checks.trace.iterations
    trials, draws = ([item for one in iterations for item in getattr(one, kind)] for kind in ("trials", "draws"))
    counts = count_verdicts(trials, draws)
    numbers = {"layers": layers, "iterations": len(iterations), "new_tokens": len(result.token_ids)}
    for name, count in (counts | numbers).items():
        checks.same("count of the statistics", result.stats.get(name), count, name)
    checks.close("acceptance rate", result.stats.get("acceptance_rate"), acceptance_rate(counts))
