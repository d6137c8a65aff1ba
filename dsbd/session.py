"""The state of one decode between iterations: beams, finished hypotheses, counts, and the two cache rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from dsbd.block_search import BlockSearch
from dsbd.clock import PhaseClock
from dsbd.depth import DepthPolicy
from dsbd.draft import Drafter
from dsbd.law.beams import Beam, Hypothesis, Node, common_prefix, keep_best, score_hypothesis
from dsbd.law.verdicts import TAKEN
from dsbd.law.verified import VerifiedLayer
from dsbd.models.cache import GROWTH_SLOTS
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.models.ranks import RankedRow
from dsbd.models.rows.new import new_row
from dsbd.models.rows.processed import ProcessedRow
from dsbd.models.rows.row import Row
from dsbd.observer import IterationEnd, RunStart
from dsbd.results import DecodedBeam, DecodingResult, Stats, brief
from dsbd.score import Scored
from dsbd.settings import ResolvedSettings
from dsbd.stopping import Check

LONG = 1024
"""The cache starts with room for at most this many new tokens; a longer decode makes more room later."""


def slots_expected(prompt_tokens: int, settings: ResolvedSettings) -> int:
    """Return prompt + one sequence of new tokens + the largest forest + some room for beams that differ."""
    forest = sum(settings.layer_slots) + settings.draft_depth * settings.cover_width + settings.max_width
    return prompt_tokens + min(settings.max_new_tokens, LONG) + forest + GROWTH_SLOTS


def draft_layers_passed(layers: Sequence[VerifiedLayer]) -> tuple[int, bool]:
    """Return how many draft layers let verification go on, and whether one ended it."""
    return sum(layer.continues for layer in layers), layers[-1].outcome == "short"


@dataclass(frozen=True)
class Snapshot:
    """The state that a decode has reached after an iteration."""

    __repr__ = brief

    pair: Pair
    candidates: Sequence[Hypothesis]
    """Hypotheses that can still be the result, or can still grow into it; best score first."""
    result: DecodingResult | None
    """Set in the last snapshot."""

    @property
    def text(self) -> str:
        """Return the text of the hypothesis that is best so far; it may change."""
        return self.pair.decode(self.candidates[0].node.token_ids()) if self.result is None else self.result.text

    @property
    def settled_text(self) -> str:
        """Return the beginning that every possible result shares; it only grows."""
        if self.result is not None:
            return self.result.text
        settled = common_prefix(hypothesis.node for hypothesis in self.candidates)
        return self.pair.decode(settled.token_ids()).rstrip("\ufffd")


class Session:
    """One decode in progress."""

    def __init__(self, start: RunStart, clock: PhaseClock, generator: torch.Generator, check: Check) -> None:
        self._start = start
        self._clock = clock
        self.settings = start.settings
        self.beams = [Beam(start.root, 0.0)]
        self.target_row = self._new_row(start.pair.target, check)
        self.drafter = self._new_drafter(generator, check)
        self.depth = DepthPolicy(self.settings.draft_depth, self.settings.depth_costs, self.settings.continuation)
        self._finished: list[Hypothesis] = []
        self._length = 0
        self._iterations = 0
        self._counts: Counter[str] = Counter()

    def _new_drafter(self, generator: torch.Generator, check: Check) -> Drafter | BlockSearch | None:
        pair, settings = self._start.pair, self.settings
        model = pair.target if settings.searches_blocks else pair.draft
        if settings.draft_depth == 0 or model is None:
            return None
        ends = torch.zeros(model.vocabulary_size, dtype=torch.bool)
        ends[[token for token in pair.eos if token < ends.numel()]] = True
        ends = ends.to(pair.device)
        if settings.searches_blocks:
            return BlockSearch(model, ends, check)
        return Drafter(self._new_row(model, check), settings, ends, generator)

    def _new_row(self, model: LanguageModel, check: Check) -> Row:
        start = self._start
        row = new_row(model, slots_expected(len(start.prompt_ids), self.settings), check)
        if start.pair.ranks is not None:
            row = RankedRow(row, start.pair.ranks)
        return ProcessedRow(row, start.processors, start.pair.eos) if start.processors else row

    @property
    def _rows(self) -> list[Row]:
        return [self.target_row] if self.drafter is None else [self.target_row, self.drafter.row]

    @property
    def room(self) -> int:
        """Return how many tokens may still be generated."""
        return self.settings.max_new_tokens - self._length

    @property
    def draft_room(self) -> int:
        """Return how many layers may be drafted: a token is drawn after them, where there is a bonus layer."""
        return self.room - self.settings.has_bonus_layer

    @property
    def done(self) -> bool:
        """Return True if no beam is alive or the limit is reached."""
        return not self.beams or self.room == 0

    def prefill(self) -> None:
        """Feed the prompt to both models."""
        for row in self._rows:
            row.prefill(self._start.prompt_ids, self._start.root)

    def commit(self, scored: Scored, layers: Sequence[VerifiedLayer]) -> IterationEnd:
        """Finish the beams that ended, keep the last layer's beams, and free the cache slots that they do not need."""
        before, slots_scored = self.beams, self.target_row.slots
        self.target_row.register(scored.slots)
        if self.drafter is not None and scored.forest.layers:
            self.drafter.row.register(scored.draft_slots)
        self.depth.observe(len(scored.forest.layers), *draft_layers_passed(layers))
        for layer in layers:
            self._count(layer)
            ended = [beam for beam in layer.beams if beam.node.token in self._start.pair.eos]
            self._finished += [score_hypothesis(beam, self.settings.length_penalty, True) for beam in ended]
        self.beams = keep_best(layers[-1].living, self.settings.input_beams)
        self._length += len(layers)
        self._iterations += 1
        kept = self._free_slots([beam.node for beam in self.beams])
        return IterationEnd(
            index=self._iterations - 1,
            input_beams=before,
            scored=scored,
            layers=layers,
            output_beams=self.beams,
            kept=kept,
            prompt_slots=len(self._start.prompt_ids) - 1 if self._start.pair.target.attention == "forest" else 0,
            slots_scored=slots_scored,
            slots_kept=self.target_row.slots,
            seconds=self._clock.iteration_seconds,
        )

    def snapshot(self, result: DecodingResult | None = None) -> Snapshot:
        """Return the present state. Of the finished hypotheses only the best one can still be returned."""
        alive = [score_hypothesis(beam, self.settings.length_penalty, False) for beam in self.beams]
        best = sorted(self._finished, key=lambda hypothesis: -hypothesis.score)[:1]
        candidates = sorted(best + alive, key=lambda hypothesis: -hypothesis.score)
        return Snapshot(self._start.pair, candidates, result)

    def result(self) -> DecodingResult:
        """Return all hypotheses, best first; equal scores keep the order in which they came."""
        alive = [score_hypothesis(beam, self.settings.length_penalty, False) for beam in self.beams]
        ranked = sorted(self._finished + alive, key=lambda hypothesis: -hypothesis.score)
        beams = [self._decoded(hypothesis) for hypothesis in ranked]
        return DecodingResult(beams[0].text, beams[0].token_ids, beams, self._stats(beams[0]), self.settings, None)

    def _free_slots(self, nodes: Sequence[Node]) -> list[Node]:
        if not nodes:
            return []
        if self.drafter is not None:
            self.drafter.row.commit(nodes)
        return self.target_row.commit(nodes)

    def _decoded(self, hypothesis: Hypothesis) -> DecodedBeam:
        ids = hypothesis.node.token_ids()
        text = self._start.pair.decode(ids)
        return DecodedBeam(
            text, ids, hypothesis.log_weight, hypothesis.score, hypothesis.finished, hypothesis.multiplicity
        )

    def _count(self, layer: VerifiedLayer) -> None:
        counts = self._counts
        for trial in layer.trials:
            counts[trial.verdict] += 1
        for draw in layer.draws:
            counts[draw.kind] += 1
            counts["landed"] += draw.landed
        for beam in layer.beams:
            counts["beams"] += beam.multiplicity

    def _stats(self, returned: DecodedBeam) -> Stats:
        counts, total, seconds = self._counts, self._clock.total_seconds, self._clock.seconds
        accepted = sum(counts[verdict] for verdict in TAKEN)
        tried = accepted + counts["rejected"]
        return Stats(
            new_tokens=len(returned.token_ids),
            layers=self._length,
            iterations=self._iterations,
            target_calls=self.target_row.forwards,
            draft_calls=self.drafter.row.forwards if self.drafter is not None else 0,
            seconds=seconds,
            prefill_seconds=total["prefill"],
            draft_seconds=total["draft"],
            score_seconds=total["score"],
            verify_seconds=total["verify"],
            commit_seconds=total["commit"],
            tokens_per_second=self._length / (seconds - total["prefill"]),
            layers_per_iteration=self._length / self._iterations,
            acceptance_rate=accepted / tried if tried else None,
            accepted=accepted,
            rejected=counts["rejected"],
            orphaned=counts["orphaned"],
            unneeded=counts["unneeded"],
            recovered=counts["recovered"],
            fresh=counts["fresh"],
            bonus=counts["bonus"],
            landed=counts["landed"],
            mean_width=counts["beams"] / self._length,
            kv_peak_slots=self.target_row.peak_slots,
            kv_peak_bytes=sum(row.peak_bytes for row in self._rows),
        )
