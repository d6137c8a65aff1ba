"""The state of one decode between iterations, and what may be seen of it: start, iterations, updates, observers."""

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import torch

from dsbd.draft import Drafter
from dsbd.drafts.block import BlockSearch
from dsbd.drafts.lookup import NOTHING, Known, PromptLookup
from dsbd.drafts.mixture import Mixture
from dsbd.drafts.model import DraftModel
from dsbd.iteration import Iteration
from dsbd.machine import PhaseClock
from dsbd.memory.reading import PromptMemory
from dsbd.methods import DepthPolicy
from dsbd.models.cache import GROWTH_SLOTS
from dsbd.models.engines.choice import reference_state, threaded_state
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.models.states.state import DecodingState, ProcessedState, Processor
from dsbd.results import PHASES, DecodedBeam, DecodingResult, ShortRepr, Stats, acceptance_rate, count_verdicts
from dsbd.settings import ResolvedSettings
from dsbd.util import CancelCheck, cut
from dsbd.verification.beams import Beam, Hypothesis, Node, common_prefix, keep_best, score_hypothesis
from dsbd.verification.noise import Noise
from dsbd.verification.verified import VerifiedLayer, draft_layers_passed, up_to_end

if TYPE_CHECKING:
    from dsbd.tracing.recorder import Recorder
    from dsbd.tracing.records import IterationRecord
    from dsbd.tracing.trace import Trace

LONG = 1024
"""The cache starts with room for at most this many new tokens; a longer decode makes more room later."""


@dataclass(frozen=True, repr=False)
class RunStart(ShortRepr):
    """What a decode starts from."""

    pair: Pair
    prompt: str
    prompt_ids: Sequence[int]
    """The ids that the models are fed."""
    settings: ResolvedSettings
    """The settings as resolved for the method."""
    processors: Sequence[Processor] = ()
    """What changes the logits of both models."""
    memory: PromptMemory | None = None
    """The memory in front of ``prompt_ids``, in the target only; None if they are the whole prompt."""
    stop: Sequence[str] = ()
    """Texts that end the answer; the answer is what stands before the first of them."""
    known: Known = NOTHING
    """What guesses are copied from besides the text so far."""
    root: Node = field(default_factory=lambda: Node(None, -1, 0))

    @property
    def target_slots(self) -> int:
        """Return the slots of the prompt in the target: its ids, and the memory in front of them."""
        return len(self.prompt_ids) + (self.memory is not None)

    @property
    def room(self) -> int:
        """Return the cache slots to start with: for the prompt, one sequence of new tokens, the largest forest, and
        some more where beams differ. A longer decode makes more room later.
        """
        settings = self.settings
        forest = sum(settings.layer_drafts) + settings.draft_depth * settings.cover_width + settings.max_width
        return self.target_slots + min(settings.max_new_tokens, LONG) + forest + GROWTH_SLOTS

    @cached_property
    def _before(self) -> tuple[list[int], str]:
        """The last ids of the prompt that show something, or all, and their text."""
        ids, decode = list(self.prompt_ids), self.pair.detokenize
        last = next((ids[-size:] for size in (8, 64) if decode(ids[-size:]).strip()), ids)
        return last, decode(last)

    def text_of(self, token_ids: Sequence[int]) -> str:
        """Return what new tokens add to the text of the prompt: alone they may lose a space in front.

        All of it, whatever texts end the answer.
        """
        ids, before = self._before
        whole = self.pair.detokenize([*ids, *token_ids])
        return whole[len(before) :] if whole.startswith(before) else self.pair.detokenize(token_ids)

    def settled_text_of(self, token_ids: Sequence[int]) -> str:
        """Return the text that stays whatever follows.

        A token that is a byte can change those that stand before it, and what may begin an end text waits for its rest.
        """
        end = len(token_ids)
        while end and (self._is_byte(token_ids[end - 1]) or not self.pair.detokenize([token_ids[end - 1]])):
            end -= 1
        whole = self.text_of(token_ids[:end]).rstrip("\ufffd")
        parts = {one[:size] for one in self.stop for size in range(1, len(one)) if whole.endswith(one[:size])}
        answer = cut(whole, self.stop)
        return answer if len(answer) < len(whole) else whole[: len(whole) - max(map(len, parts), default=0)]

    def is_answered(self, hypotheses: Sequence[Hypothesis]) -> bool:
        """Return True if the text before an end text is settled: decoding further would not change it, nor its
        distribution.

        The hypothesis that is best now may not be the one returned in the end. So every hypothesis that can still be
        returned, or can grow into one, must have the same text before its end text.
        """
        settled = None
        for hypothesis in hypotheses if self.stop else ():
            whole = self.text_of(hypothesis.node.token_ids())
            before = cut(whole, self.stop)
            if (len(before) == len(whole) and not hypothesis.finished) or settled not in (None, before):
                return False
            settled = before
        return bool(self.stop)

    def _is_byte(self, token_id: int) -> bool:
        name = getattr(self.pair.tokenizer, "convert_ids_to_tokens", str)(token_id)
        return re.fullmatch("<0x[0-9A-F]{2}>", str(name)) is not None


class Observer:
    """Sees a decode; override what you want to see, every call here does nothing.

    Stable are the three calls, ``start.prompt``, ``start.prompt_ids`` and ``start.settings``, and of an iteration
    ``index``, ``layers`` (one per token, each with its ``beams``), ``input_beams``, ``output_beams`` and ``seconds``.
    Everything else follows the decoder and may change; what a trace holds of an iteration is ``update.iteration``.
    """

    reads_seconds = True
    """Whether it reads the seconds of the phases. If so, a GPU is synchronised after each phase, which takes time."""

    def on_start(self, start: RunStart) -> None:
        """Take the start; the prompt is encoded and the settings are resolved."""

    def on_iteration(self, iteration: Iteration) -> None:
        """Take an iteration that was committed."""

    def on_finish(self, result: DecodingResult) -> None:
        """Take the final result. Not called for a decode that was cancelled, or whose reader left."""


@dataclass(frozen=True, repr=False)
class Update(ShortRepr):
    """The state that a decode has reached after an iteration."""

    start: RunStart
    candidates: Sequence[Hypothesis]
    """Hypotheses that can still be the result, or can still grow into it; best score first."""
    result: DecodingResult | None
    """Set in the last update."""
    before: Sequence[Hypothesis] = field(default=(), repr=False)
    """The candidates of the update before."""
    recorder: "Recorder | None" = field(default=None, repr=False)
    """What writes the trace; None unless recording."""
    iteration: "IterationRecord | None" = field(default=None, repr=False)
    """The trace's record of the iteration, plain data; None unless recording."""

    @property
    def trace(self) -> "Trace | None":
        """Return the trace up to here, built when it is read; None unless recording."""
        if self.result is not None:
            return self.result.trace
        return None if self.recorder is None else self.recorder.trace()

    @property
    def best(self) -> DecodedBeam:
        """Return the hypothesis that is best so far; it may change. In the last update, the returned one."""
        return decoded(self.start, self.candidates[0]) if self.result is None else self.result.beams[0]

    @property
    def text(self) -> str:
        """Return the text of the hypothesis that is best so far, which ``print`` shows; it may change."""
        return cut(self.best.text, self.start.stop)

    def __str__(self) -> str:
        return self.text

    @property
    def settled_ids(self) -> list[int]:
        """Return the tokens that every possible result begins with; they only grow. In the last update, all."""
        if self.result is not None:
            return self.result.token_ids
        return _shared(self.candidates)

    @property
    def settled_text(self) -> str:
        """Return the beginning that every possible result shares; it only grows. In the last update, all."""
        return self.result.text if self.result is not None else self.start.settled_text_of(self.settled_ids)

    @property
    def delta(self) -> str:
        """Return what the settled text gained since the update before; all together are the text of the result."""
        before = self.start.settled_text_of(_shared(self.before)) if self.before else ""
        return self.settled_text[len(before) :]


def _shared(hypotheses: Sequence[Hypothesis]) -> list[int]:
    """Return the tokens that all begin with."""
    return common_prefix(hypothesis.node for hypothesis in hypotheses).token_ids()


def decoded(start: RunStart, hypothesis: Hypothesis) -> DecodedBeam:
    """Return a hypothesis with its tokens and their text."""
    ids = hypothesis.node.token_ids()
    return DecodedBeam(
        start.text_of(ids), ids, hypothesis.log_weight, hypothesis.score, hypothesis.finished, hypothesis.multiplicity
    )


StoppingCriterion = Callable[[Update], bool]
"""A function that says after each iteration whether the decode may end there."""


def state_of(model: LanguageModel, start: RunStart, check: CancelCheck) -> DecodingState:
    """Return a new decoding state of a model; ``check`` is called before each forward."""
    state = threaded_state(model, start.room, check)
    return cast(DecodingState, ProcessedState(state, start.processors, start.pair.eos)) if start.processors else state


def drafter_of(start: RunStart, generator: torch.Generator, noise: Noise, check: CancelCheck) -> Drafter | None:
    """Return what drafts the forests of the decode; None if nothing is drafted."""
    pair, settings = start.pair, start.settings
    state: DecodingState | None = None
    if settings.draft_depth == 0:
        return None
    lookup = PromptLookup(start.known) if start.known else None
    source = lookup if lookup and pair.copies else copy(pair.source)
    if settings.searches_blocks:
        state = reference_state(pair.target, check)
        source = BlockSearch(state, pair.eos, pair.device)
    elif isinstance(pair.draft, LanguageModel):
        state = state_of(pair.draft, start, check)
        source = DraftModel(state, settings, pair.device)
    if source is None:
        return None
    if lookup is not None and source is not lookup:
        source = Mixture(lookup, source, settings.top_k)
    return Drafter(source, settings, start.prompt_ids, pair.eos, generator, noise, state)


class Tally:
    """The counts of one decode so far."""

    def __init__(self) -> None:
        self.iterations = self.layers = self.beams = 0
        self.counts = count_verdicts([])

    def add(self, layers: Sequence[VerifiedLayer]) -> None:
        """Count an iteration."""
        self.iterations += 1
        self.layers += len(layers)
        self.beams += sum(beam.multiplicity for layer in layers for beam in layer.beams)
        trials = [trial for layer in layers for trial in layer.trials]
        self.counts.update(count_verdicts(trials, [draw for layer in layers for draw in layer.draws]))

    def stats(self, new_tokens: int, clock: PhaseClock, target: DecodingState, draft: DecodingState | None) -> Stats:
        """Return the statistics of the decode, whose returned hypothesis has ``new_tokens``."""
        seconds: dict[str, Any] = {f"{phase}_seconds": clock.total_seconds[phase] for phase in PHASES}
        return Stats(
            new_tokens=new_tokens,
            layers=self.layers,
            iterations=self.iterations,
            target_calls=target.forwards,
            draft_calls=0 if draft is None else draft.forwards,
            seconds=clock.seconds,
            **seconds,
            tokens_per_second=self.layers / (clock.seconds - seconds["prefill_seconds"]),
            layers_per_iteration=self.layers / self.iterations,
            acceptance_rate=acceptance_rate(self.counts),
            **self.counts,
            mean_width=self.beams / self.layers,
            kv_peak_slots=target.peak_slots,
            kv_peak_bytes=target.peak_bytes + (0 if draft is None else draft.peak_bytes),
        )


class Session:
    """One decode in progress; ``drafter`` is None if nothing is drafted."""

    def __init__(
        self, start: RunStart, target_state: DecodingState, drafter: Drafter | None, clock: PhaseClock
    ) -> None:
        self._start, self._clock = start, clock
        self._target, self._draft = target_state, None if drafter is None else drafter.state
        self._settings = start.settings
        self._depth = DepthPolicy(self._settings.draft_depth, self._settings.depth_costs, self._settings.continuation)
        self._finished = list[Hypothesis]()
        self._tally = Tally()
        self._is_answered = False
        self.beams = [Beam(start.root, 0.0)]

    @property
    def room(self) -> int:
        """Return how many tokens may still be generated."""
        return self._settings.max_new_tokens - self._tally.layers

    @property
    def done(self) -> bool:
        """Return True if no beam is alive, the answer has reached an end text, or the limit is reached."""
        return not self.beams or self._is_answered or self.room == 0

    def prefill(self) -> None:
        """Feed the prompt to both models."""
        ids, root, memory = self._start.prompt_ids, self._start.root, self._start.memory
        prefix = None if memory is None else memory.embedding
        self._target.prefill(ids, root, prefix)
        if self._draft is not None:  # a draft model sees no memory, but a search in the target's own distribution does
            self._draft.prefill(ids, root, prefix if self._settings.searches_blocks else None)

    def next_depth(self) -> int:
        """Return how many layers to draft now. It leaves room for the token of the bonus layer, if there is one."""
        return min(self._depth.choose(), self.room - (not self._settings.searches_blocks))

    def begin(self) -> Iteration:
        """Return the next iteration, from the beams that are alive."""
        return Iteration(self._tally.iterations, self.beams)

    def commit(self, iteration: Iteration) -> None:
        """Finish the beams that ended, keep the last layer's beams, and free the cache slots that they do not need."""
        iteration.slots_scored = self._target.slots
        self._target.assign(iteration.scored)
        layers = up_to_end(iteration.layers, self._finished, self._settings, self._start.pair.eos, self._answers)
        iteration.layers = layers
        self._depth.observe(len(iteration.drafted), *draft_layers_passed(layers))
        self._tally.add(layers)
        self.beams = keep_best(layers[-1].living, self._settings.input_beams)
        nodes = [beam.node for beam in self.beams]
        if nodes and self._draft is not None:
            self._draft.commit(nodes)
        iteration.kept = self._target.commit(nodes) if nodes else []
        is_one_row = self._start.pair.target.attention == "forest"
        iteration.prompt_slots = self._start.target_slots - 1 if is_one_row else 0
        iteration.output_beams, iteration.slots_kept = self.beams, self._target.slots
        iteration.seconds = self._clock.iteration_seconds

    def _answers(self, alive: Sequence[Beam], finished: Sequence[Hypothesis]) -> bool:
        """Return True if the answer ends behind a layer that leaves these beams; the last one asked about decides."""
        self._is_answered = self._start.is_answered(self._candidates(alive, finished))
        return self._is_answered

    def update(self, before: Sequence[Hypothesis], result: DecodingResult | None = None) -> Update:
        """Return the present state; ``before`` are the candidates of the last update."""
        return Update(self._start, self._candidates(self.beams, self._finished), result, before)

    def result(self) -> DecodingResult:
        """Return all hypotheses, best first; equal scores keep the order in which they came."""
        beams = [decoded(self._start, hypothesis) for hypothesis in self._ranked(self._finished, self.beams)]
        ids = beams[0].token_ids
        stats = self._tally.stats(len(ids), self._clock, self._target, self._draft)
        return DecodingResult(cut(beams[0].text, self._start.stop), ids, beams, stats, self._settings)

    def _candidates(self, alive: Sequence[Beam], finished: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return what can be the result or grow into it: of the finished hypotheses only the best one."""
        return self._ranked(_best_first(finished)[:1], alive)

    def _ranked(self, finished: Sequence[Hypothesis], beams: Sequence[Beam]) -> list[Hypothesis]:
        """Return finished hypotheses and beams that are alive, best first."""
        alive = [score_hypothesis(beam, self._settings.length_penalty, False) for beam in beams]
        return _best_first([*finished, *alive])


def _best_first(hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
