"""Observers of a decode. They get frozen values and run outside the timed phases."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dsbd.law.beams import Beam, Node
from dsbd.law.verified import VerifiedLayer
from dsbd.memory.reading import PromptMemory
from dsbd.models.pair import Pair
from dsbd.models.ranks import Ranks
from dsbd.models.rows.row import Processor
from dsbd.results import PlainResult, brief
from dsbd.score import Scored
from dsbd.settings import ResolvedSettings


@dataclass(frozen=True)
class RunStart:
    """What a decode starts from."""

    __repr__ = brief

    pair: Pair
    prompt: str
    prompt_ids: Sequence[int]
    """The ids that the models are fed."""
    settings: ResolvedSettings
    """The settings as resolved for the method."""
    processors: Sequence[Processor] = ()
    """What changes the logits of both models."""
    memory: PromptMemory | None = None
    """What stands in front of ``prompt_ids``, in the target only; None if they are the whole prompt."""
    root: Node = field(default_factory=lambda: Node(None, -1, 0))

    @property
    def target_slots(self) -> int:
        """Return the slots of the prompt in the target: its ids, and the memory in front of them."""
        return len(self.prompt_ids) + (self.memory is not None)


@dataclass(frozen=True)
class IterationEnd:
    """A complete iteration."""

    __repr__ = brief

    index: int
    input_beams: Sequence[Beam]
    scored: Scored
    layers: Sequence[VerifiedLayer]
    output_beams: Sequence[Beam]
    kept: Sequence[Node]
    prompt_slots: int
    slots_scored: int
    slots_kept: int
    seconds: dict[str, float]
    """Seconds per phase. The commit phase still runs when this record is made; its time is counted up to here."""


class Observer:
    """The base class of observers; every call does nothing."""

    reads_seconds = True
    """Whether it reads the seconds of the phases. If so, a GPU is synchronised after each phase, which takes time."""

    def on_start(self, start: RunStart) -> None:
        """Take the start; the prompt is encoded and the settings are resolved."""

    def on_iteration(self, iteration: IterationEnd) -> None:
        """Take an iteration that was committed."""

    def on_finish(self, result: PlainResult) -> None:
        """Take the final result. Not called for a decode that was cancelled or stopped."""


class InStep(Observer):
    """Compares what the ranks start from, their beams after each iteration, and their results."""

    reads_seconds = False

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks

    def on_start(self, start: RunStart) -> None:
        self._ranks.require_equal("prompt or settings", (list(start.prompt_ids), start.settings))

    def on_iteration(self, iteration: IterationEnd) -> None:
        beams = [(beam.node.token_ids(), beam.multiplicity) for beam in iteration.output_beams]
        self._ranks.require_equal(f"the beams of iteration {iteration.index + 1}", (len(iteration.layers), beams))

    def on_finish(self, result: PlainResult) -> None:
        self._ranks.require_equal("the result", result.token_ids)
