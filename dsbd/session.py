"""The state of one decode between iterations: its beams, finished hypotheses and counts."""

from collections.abc import Sequence

from dsbd.clock import PhaseClock
from dsbd.draft import BlockSearch, Drafter
from dsbd.law.beams import Beam, Hypothesis, Node, keep_best, score_hypothesis
from dsbd.law.verified import VerifiedLayer, draft_layers_passed
from dsbd.methods import DepthPolicy
from dsbd.models.rows.row import Row
from dsbd.observer import IterationEnd, RunStart
from dsbd.results import PlainResult, Stats, VerdictCounts, count_verdicts
from dsbd.score import Scored
from dsbd.snapshot import Snapshot, decoded


class Tally:
    """The counts of one decode so far."""

    def __init__(self) -> None:
        self.iterations = self.layers = self.beams = 0
        self.counts = VerdictCounts()

    def add(self, layers: Sequence[VerifiedLayer]) -> None:
        """Count an iteration."""
        self.iterations += 1
        self.layers += len(layers)
        self.beams += sum(beam.multiplicity for layer in layers for beam in layer.beams)
        trials = [trial for layer in layers for trial in layer.trials]
        self.counts += count_verdicts(trials, [draw for layer in layers for draw in layer.draws])

    def stats(self, new_tokens: int, clock: PhaseClock, target: Row, draft: Row | None) -> Stats:
        """Return the statistics of the decode, whose returned hypothesis has ``new_tokens``."""
        seconds = clock.total_seconds
        return Stats(
            new_tokens=new_tokens,
            layers=self.layers,
            iterations=self.iterations,
            target_calls=target.forwards,
            draft_calls=0 if draft is None else draft.forwards,
            seconds=clock.seconds,
            prefill_seconds=seconds["prefill"],
            draft_seconds=seconds["draft"],
            score_seconds=seconds["score"],
            verify_seconds=seconds["verify"],
            commit_seconds=seconds["commit"],
            tokens_per_second=self.layers / (clock.seconds - seconds["prefill"]),
            layers_per_iteration=self.layers / self.iterations,
            acceptance_rate=self.counts.acceptance_rate,
            **vars(self.counts),
            mean_width=self.beams / self.layers,
            kv_peak_slots=target.peak_slots,
            kv_peak_bytes=target.peak_bytes + (0 if draft is None else draft.peak_bytes),
        )


class Session:
    """One decode in progress; ``drafter`` is None if nothing is drafted."""

    def __init__(
        self,
        start: RunStart,
        target_row: Row,
        drafter: Drafter | BlockSearch | None,
        clock: PhaseClock,
    ) -> None:
        self._start, self._clock = start, clock
        self._target_row, self._draft_row = target_row, None if drafter is None else drafter.row
        self._settings = start.settings
        self._depth = DepthPolicy(self._settings.draft_depth, self._settings.depth_costs, self._settings.continuation)
        self._finished = list[Hypothesis]()
        self._tally = Tally()
        self.beams = [Beam(start.root, 0.0)]

    @property
    def room(self) -> int:
        """Return how many tokens may still be generated."""
        return self._settings.max_new_tokens - self._tally.layers

    @property
    def done(self) -> bool:
        """Return True if no beam is alive or the limit is reached."""
        return not self.beams or self.room == 0

    def prefill(self) -> None:
        """Feed the prompt to both models."""
        ids, root, memory = self._start.prompt_ids, self._start.root, self._start.memory
        prefix = None if memory is None else memory.embedding
        self._target_row.prefill(ids, root, prefix)
        if self._draft_row is not None:  # a draft model sees no memory, but a search in the target's own law does
            self._draft_row.prefill(ids, root, prefix if self._settings.searches_blocks else None)

    def next_depth(self) -> int:
        """Return how many layers to draft now. It leaves room for the token of the bonus layer, if there is one."""
        return min(self._depth.choose(), self.room - self._settings.has_bonus_layer)

    def commit(self, scored: Scored, layers: Sequence[VerifiedLayer]) -> IterationEnd:
        """Finish the beams that ended, keep the last layer's beams, and free the cache slots that they do not need."""
        before, slots_scored = self.beams, self._target_row.slots
        self._target_row.register(scored.slots)
        if self._draft_row is not None and scored.forest.layers:
            self._draft_row.register(scored.draft_slots)
        self._depth.observe(len(scored.forest.layers), *draft_layers_passed(layers))
        self._tally.add(layers)
        ended = [beam for layer in layers for beam in layer.beams if beam.node.token in self._start.pair.eos]
        self._finished += [score_hypothesis(beam, self._settings.length_penalty, True) for beam in ended]
        self.beams = keep_best(layers[-1].living, self._settings.input_beams)
        kept = self._free_slots([beam.node for beam in self.beams])
        return IterationEnd(
            index=self._tally.iterations - 1,
            input_beams=before,
            scored=scored,
            layers=layers,
            output_beams=self.beams,
            kept=kept,
            prompt_slots=self._start.target_slots - 1 if self._start.pair.target.attention == "forest" else 0,
            slots_scored=slots_scored,
            slots_kept=self._target_row.slots,
            seconds=self._clock.iteration_seconds,
        )

    def _free_slots(self, nodes: Sequence[Node]) -> list[Node]:
        if not nodes:
            return []
        if self._draft_row is not None:
            self._draft_row.commit(nodes)
        return self._target_row.commit(nodes)

    def snapshot(self, result: PlainResult | None = None) -> Snapshot:
        """Return the present state. Of the finished hypotheses only the best one can still be returned."""
        return Snapshot(self._start.pair, self._ranked(_best_first(self._finished)[:1]), result)

    def result(self) -> PlainResult:
        """Return all hypotheses, best first; equal scores keep the order in which they came."""
        beams = [decoded(self._start.pair, hypothesis) for hypothesis in self._ranked(self._finished)]
        ids = beams[0].token_ids
        stats = self._tally.stats(len(ids), self._clock, self._target_row, self._draft_row)
        return PlainResult(beams[0].text, ids, beams, stats, self._settings)

    def _ranked(self, finished: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return finished hypotheses and the alive beams, best first."""
        alive = [score_hypothesis(beam, self._settings.length_penalty, False) for beam in self.beams]
        return _best_first([*finished, *alive])


def _best_first(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
