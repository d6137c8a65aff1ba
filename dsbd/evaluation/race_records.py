"""A race as frozen records: decoders on the same prompts, their figures, and each decode on one clock. Needs no torch.

None means "not measured" everywhere.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dsbd.evaluation.statistics import Mean
from dsbd.evaluation.tables import ContenderRow
from dsbd.measure.bench.plain import read_record, to_plain

FORMAT = "dsbd-race/1"
Phase = Literal["prefill", "draft", "score", "verify", "commit", "forward"]
Verdict = Literal["faster", "slower", "no difference seen", "not measured"]


@dataclass(frozen=True)
class Stretch:
    """What a decode did between two moments, in seconds from its beginning."""

    phase: Phase
    """``forward`` where the phases of a decode were not told apart."""
    start: float
    end: float


@dataclass(frozen=True)
class Landing:
    """Tokens that became final at one moment."""

    seconds: float
    """From the beginning of the decode."""
    tokens: int
    """Layers that became final."""
    text: str
    """What they added to the text that was returned in the end; untrusted."""


@dataclass(frozen=True)
class Lane:
    """One decode of one contender: its phases one after the other, and when tokens became final.

    The clock counts the phases only. The decode is one of those that the figures of the race come from.
    """

    stretches: tuple[Stretch, ...]
    landings: tuple[Landing, ...]
    seed: int

    @property
    def seconds(self) -> float:
        """When the decode was over."""
        return self.stretches[-1].end if self.stretches else 0.0

    @property
    def text(self) -> str:
        """The returned text."""
        return "".join(landing.text for landing in self.landings)

    @property
    def has_phases(self) -> bool:
        """False if the phases of the decoder are not known."""
        return all(stretch.phase != "forward" for stretch in self.stretches)


@dataclass(frozen=True)
class Ratio:
    """Tokens per second over the baseline's on the same prompts and seeds: the geometric mean and its 95 % interval."""

    of: float
    low: float | None
    high: float | None
    verdict: Verdict
    """``faster`` or ``slower`` where the interval leaves out 1."""

    @classmethod
    def from_logs(cls, mean: Mean) -> "Ratio":
        """Return the ratio whose logarithm has this mean."""
        if mean.low is None or mean.high is None:
            return cls(math.exp(mean.mean), None, None, "not measured")
        verdict: Verdict = "no difference seen"
        if mean.low > 0 or mean.high < 0:
            verdict = "faster" if mean.low > 0 else "slower"
        return cls(math.exp(mean.mean), math.exp(mean.low), math.exp(mean.high), verdict)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one decode of one prompt returned."""

    prompt: int
    """Place of the prompt in the race."""
    seed: int
    text: str
    answer: str = ""
    """The part of the text that the task scores; empty if there is no task."""
    right: bool | None = None
    reason: str = ""
    """Why it is wrong, where that is known."""


@dataclass(frozen=True, kw_only=True)
class Racer:
    """One contender: its figures, its lane and its texts."""

    row: ContenderRow
    ratio: Ratio | None
    """None for the baseline, and where the baseline was not run."""
    lane: Lane | None
    answers: tuple[Answer, ...]

    @property
    def name(self) -> str:
        """The contender's name."""
        return self.row.contender


@dataclass(frozen=True, kw_only=True)
class RacedPrompt:
    """One prompt, and its right answer where it is a task's question."""

    text: str
    gold: str = ""


@dataclass(frozen=True, kw_only=True)
class Race:
    """A whole race."""

    format: str = FORMAT
    prompts: tuple[RacedPrompt, ...]
    task: str | None
    """None for prompts without right answers."""
    metric: str
    """What quality means here: a task's metric, or ``perplexity``."""
    higher_is_better: bool
    rounds: int
    """Runs of each contender on each prompt, with seeds counting up."""
    baseline: str | None
    racers: tuple[Racer, ...]
    conditions: Mapping[str, Any] = field(default_factory=dict)
    """Machine, versions and models; empty where the reader sits at the machine."""

    def to_dict(self) -> dict[str, Any]:
        """The race as plain data, ready for JSON."""
        return to_plain(self)


def read_race(data: "Race | Mapping[str, Any]") -> Race:
    """Return a race from its plain data; a :class:`Race` is returned as it is.

    Raises:
        ValueError: it is no race; the message names the first wrong field.
    """
    return read_record(Race, data, "race", "give what to_dict() of a race returned")
