"""What a contest found on one task or set of prompts, as frozen records that figures and reports read. Needs no torch.

None means "not measured" everywhere, or that a method has no such figure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dsbd.evaluation.statistics import Difference, Interval, Mean, Rate
from dsbd.measure.bench.plain import read_record, to_plain
from dsbd.results import brief
from dsbd.settings import DecodingSettings

FORMAT = "dsbd-contest/1"
PROMPTS = "prompts"
"""What the table of a bench is called: its prompts belong to no task."""


@dataclass(frozen=True)
class SpeedRatio(Interval):
    """Tokens per second over those of a baseline on the same prompts and seeds."""

    baseline: str
    """Name of the contender it is compared with."""
    above_1: int
    """Runs that were faster than the baseline's."""
    of: int
    """Runs compared."""
    sign_test_p: float | None
    """Over prompts: one counts once, by the mean logarithm of its ratios."""


@dataclass(frozen=True, kw_only=True)
class ContenderRow:
    """All figures of one contender on one task."""

    __repr__ = brief

    contender: str
    """Its name."""
    method: str
    settings: DecodingSettings
    auto_reason: str | None = None
    """Why ``auto`` resolved to these settings."""
    one_sequence: bool
    """Whether only one sequence is kept between iterations."""
    quality: Mean | None
    """Of the table's metric; its interval is that of ``right`` where there is one."""
    right: Rate | None
    """The share of right answers with Wilson's interval, where every score is 0 or 1."""
    perplexity: Mean | None
    best_log_weight_per_token: Mean | None = None
    tokens_per_second: Mean | None
    """Tokens over seconds of all runs, prefill left out."""
    milliseconds_per_token: Interval | None = None
    """Median over the runs, prefill included."""
    prefill_seconds: float | None = None
    """Median over the runs."""
    joules_per_token: Mean | None
    """All devices together."""
    target_calls: float | None = None
    """Forwards of the target, the prompt's included: the mean over the runs."""
    layers_per_iteration: float | None
    acceptance_rate: float | None
    mean_width: float | None
    widths: Mapping[int, int] | None
    kv_peak_bytes: int | None = None
    """The largest of any run, as the next one."""
    peak_allocated_bytes: int | None = None
    difference: Difference | None = None
    """Of the quality to the first baseline's, question by question."""
    perplexity_difference: Difference | None = None
    equal_quality: bool | None = None
    """Whether the texts are no worse than the first baseline's, by :data:`EQUAL_QUALITY`. None: too few prompts, or
    the answers are right or wrong."""
    ratios: Mapping[str, SpeedRatio] = field(default_factory=dict)
    """By baseline."""


@dataclass(frozen=True, kw_only=True)
class ContestTable:
    """One task, or one set of prompts; all contenders."""

    __repr__ = brief

    format: str = FORMAT
    task: str
    metric: str
    """The task's main metric; ``perplexity`` where nothing is right or wrong."""
    higher_is_better: bool
    note: str = ""
    """A note that belongs to every figure of this task."""
    baselines: tuple[str, ...]
    """Names or methods of contenders that the others are compared with; the first decides quality."""
    questions: int
    clusters: int
    seeds: int
    rows: tuple[ContenderRow, ...]
    conditions: Mapping[str, Any] = field(default_factory=dict)
    """Machine, versions and models; where an opponent is another package, its version too."""

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data, ready for JSON."""
        return to_plain(self)


FEWEST_PROMPTS = 8
"""With fewer prompts the interval is so wide, and so uncertain, that nearly everything would count as equal."""
EQUAL_QUALITY = (
    "no worse than the baseline within the interval: the 95 % interval of the difference, over the prompts, reaches "
    "zero or better, for perplexity and for the best log-weight per token"
)
Table = ContestTable | Mapping[str, Any]
"""A record, or the plain data of its JSON."""


def read_table(data: Table) -> ContestTable:
    """Return a table from its plain data; a :class:`ContestTable` is returned as it is.

    Raises:
        ValueError: it is no such table; the message names the first wrong field.
    """
    remedy = "give one of the tables that python -m dsbd bench --json or eval --json prints"
    return read_record(ContestTable, data, "table of a contest", remedy)
