"""What an evaluation found on one task, as frozen records that figures and reports read. Needs no torch.

None means "not measured" everywhere, or that a method has no such figure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dsbd.evaluation.statistics import Difference, Mean, Rate
from dsbd.measure.bench.plain import read_record, to_plain
from dsbd.measure.intervals import Interval
from dsbd.settings import DecodingSettings

FORMAT = "dsbd-evaluation/1"


@dataclass(frozen=True, kw_only=True)
class ContenderRow:
    """All figures of one contender on one task."""

    contender: str
    method: str
    settings: DecodingSettings
    one_sequence: bool
    """Whether only one sequence is kept between iterations."""
    quality: Mean | None
    """Of the table's metric; its interval is that of ``right`` where there is one."""
    right: Rate | None
    """The share of right answers with Wilson's interval, where every score is 0 or 1."""
    perplexity: Mean | None
    tokens_per_second: Mean | None
    joules_per_token: Mean | None
    """All devices together."""
    layers_per_iteration: float | None
    acceptance_rate: float | None
    mean_width: float | None
    widths: Mapping[int, int] | None
    difference: Difference | None = None
    """Of the quality to the baseline's, question by question."""
    perplexity_difference: Difference | None = None
    speed: Interval | None = None
    """Tokens per second over the baseline's, question by question; the interval is over clusters."""


@dataclass(frozen=True, kw_only=True)
class EvaluationTable:
    """One task, all contenders."""

    format: str = FORMAT
    task: str
    metric: str
    """The task's main metric; ``perplexity`` where the task has no right answers."""
    higher_is_better: bool
    note: str = ""
    """A note that belongs to every figure of this task."""
    baseline: str | None
    questions: int
    clusters: int
    seeds: int
    rows: tuple[ContenderRow, ...]
    conditions: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data, ready for JSON."""
        return to_plain(self)


Table = EvaluationTable | Mapping[str, Any]
"""A record, or the plain data of its JSON."""


def read_table(data: Table) -> EvaluationTable:
    """Return a table from its plain data; an :class:`EvaluationTable` is returned as it is.

    Raises:
        ValueError: it is no such table; the message names the first wrong field.
    """
    return read_record(EvaluationTable, data, "table of an evaluation", "give what python -m dsbd eval --json prints")
