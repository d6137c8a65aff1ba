"""Counts what the iterations of a decode bring, and makes its statistics."""

from collections.abc import Sequence

from dsbd.clock import PhaseClock
from dsbd.law.verified import VerifiedLayer
from dsbd.models.rows.row import Row
from dsbd.results import Stats, VerdictCounts, count_verdicts


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
        """Return the statistics of the decode.

        Args:
            new_tokens: of the returned hypothesis.
            clock: the seconds of the phases.
            target: the target's row.
            draft: the row of the drafter; None if nothing was drafted.
        """
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
