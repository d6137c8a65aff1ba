"""What benchmarks and races measure, as frozen records: a run, a table, a race; to plain data and back. Needs no torch.

None means "not measured" everywhere, or that a method has no such figure. Texts are untrusted.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import TypeAdapter, ValidationError

from dsbd.bench.task import Question
from dsbd.errors import RecordError
from dsbd.results import ShortRepr
from dsbd.util import read_file, write_file

Phase = Literal["prefill", "draft", "score", "verify", "commit", "forward"]
Record = TypeVar("Record")


@dataclass(frozen=True)
class BenchmarkProgress:
    """How far a benchmark is: decodes done, in all, what is next (``auto``, ``warm-up`` or ``decode``), and by whom."""

    done: int
    total: int
    doing: str
    name: str = ""
    run: "Run | None" = None
    """The decode that has just ended."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Answer(ShortRepr):
    """What one system returned for one question, and its score."""

    system: str
    question: str
    seed: int
    text: str
    answer: str
    """The part of the text that is scored."""
    score: float | None = None
    """The task's main metric; None where there is no right answer."""
    reason: str = ""
    """Why the answer is wrong, where that is known."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Run(Answer):
    """One decode of one question by one system, and what was measured of it."""

    method: str
    settings: dict[str, Any]
    """Those that the method reads, with nothing ``auto``; ``auto_reason`` says why ``auto`` resolved to them."""
    auto_reason: str | None = None
    task: str
    cluster: str
    """Questions of one cluster are not independent."""
    round: int
    """0 for the first decode of a question, 1 for the second with another seed, ..."""
    prompt: str
    references: tuple[str, ...] = ()
    shortened: bool = False
    """Whether the prompt was shortened to fit the models."""
    segments: int | None = None
    """In how many segments the prompt was read into a memory; None if it was not."""
    ended: str
    """``eos``, ``limit``, or ``until``: a text that ends an answer was there, and nothing before it can change."""
    seconds: float
    """Wall clock of the whole call, prefill included."""
    prefill_seconds: float
    layers: int
    """Tokens the beams were decoded to; the returned hypothesis has ``new_tokens``, EOS included."""
    new_tokens: int
    perplexity: float
    """Of the returned text under the unwarped target."""
    target_calls: int
    iterations: int | None = None
    accepted: int | None = None
    """Drafts accepted, of those that were tried."""
    rejected: int | None = None
    mean_width: float | None = None
    kv_peak_bytes: int | None = None
    """Largest size of the keys and values of target and draft together."""

    @property
    def decode_seconds(self) -> float:
        """The whole call without prefill, at least a nanosecond."""
        return max(self.seconds - self.prefill_seconds, 1e-9)

    @property
    def tokens_per_second(self) -> float:
        """layers / (seconds - prefill_seconds)."""
        return self.layers / self.decode_seconds


@dataclass(frozen=True)
class Interval:
    """A median and its 95 % interval; None from fewer than six clusters."""

    median: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Mean:
    """A mean, or a ratio of sums; error and interval are None where there is one cluster only."""

    mean: float
    standard_error: float | None
    low: float | None
    high: float | None
    count: int
    """Values that were averaged: questions, for example."""
    clusters: int


def _verdict(low: float | None, high: float | None, equal: float, above: str, below: str) -> str:
    """Return on which side of equality an interval lies."""
    if low is None or high is None:
        return "not measured"
    return above if low > equal else below if high < equal else "no difference seen"


@dataclass(frozen=True)
class Difference:
    """Ours minus theirs on the same questions."""

    of: Mean
    above: int
    """Questions that ours answered better, over its seeds."""
    below: int
    """Questions that theirs answered better."""

    @property
    def verdict(self) -> str:
        """``higher``, ``lower``, "no difference seen" (the interval holds zero), or ``not measured``: no interval."""
        return _verdict(self.of.low, self.of.high, 0, "higher", "lower")


@dataclass(frozen=True)
class Ratio(Interval):
    """Tokens per second over a baseline's on the same questions and seeds: the median and its 95 % interval."""

    baseline: str
    above_1: int
    """Runs that were faster than the baseline's, of those compared."""
    of: int

    @property
    def verdict(self) -> str:
        """``faster`` or ``slower`` where the interval leaves out 1."""
        return _verdict(self.low, self.high, 1, "faster", "slower")


@dataclass(frozen=True, repr=False, kw_only=True)
class Row(ShortRepr):
    """All figures of one system on one task: medians, means, sums over sums, and the largest peaks of its runs."""

    system: str
    method: str
    settings: Mapping[str, Any]
    auto_reason: str | None = None
    quality: Mean | None
    """Of the table's metric; Wilson's interval where every answer is right or wrong."""
    perplexity: Mean | None
    tokens_per_second: Mean | None
    """Prefill left out."""
    milliseconds_per_token: Interval | None = None
    """Prefill included."""
    prefill_seconds: float | None = None
    target_calls: float | None = None
    layers_per_iteration: float | None = None
    acceptance_rate: float | None = None
    mean_width: float | None = None
    kv_peak_bytes: int | None = None
    difference: Difference | None = None
    """Of the quality to the baseline's, question by question."""
    ratio: Ratio | None = None
    """None for the baseline, and where there is none."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Table(ShortRepr):
    """One task; all systems."""

    format: str = "dsbd-benchmark/3"
    task: str
    metric: str
    """The task's main metric; ``perplexity`` where nothing is right or wrong."""
    higher_is_better: bool
    baseline: str | None
    """Method or name of the system that the others are compared with."""
    questions: int
    clusters: int
    seeds: int
    rows: tuple[Row, ...]
    conditions: Mapping[str, Any] = field(default_factory=dict)
    """Machine, versions and models."""


@dataclass(frozen=True)
class Span:
    """What a decode did between two moments, in seconds from its beginning; ``forward``: phases not told apart."""

    phase: Phase
    start: float
    end: float


@dataclass(frozen=True)
class Commit:
    """Tokens that became final at one moment, and what they added to the text that was returned in the end."""

    seconds: float
    tokens: int
    text: str


@dataclass(frozen=True)
class Timeline:
    """One measured decode on its own clock, which counts its phases only: what it did, and when tokens became final."""

    spans: tuple[Span, ...]
    commits: tuple[Commit, ...]
    seed: int

    @property
    def seconds(self) -> float:
        """When the decode was over."""
        return self.spans[-1].end if self.spans else 0.0

    @property
    def text(self) -> str:
        """The returned text."""
        return "".join(commit.text for commit in self.commits)

    @property
    def passes(self) -> int | None:
        """Passes of the target, each of which commits tokens; None where the phases are not told apart."""
        has_phases = all(span.phase != "forward" for span in self.spans)
        return len(self.commits) if has_phases else None


@dataclass(frozen=True, kw_only=True)
class Race:
    """A benchmark to be shown: its table and answers, and a timeline of each system on the first question."""

    format: str = "dsbd-race/3"
    questions: tuple[Question, ...]
    table: Table
    answers: tuple[Answer, ...]
    timelines: Mapping[str, Timeline]
    """By system: a decode of the first question, of all with the same seed: that of the middle gain."""
    complete: bool = True
    """False where the race was stopped."""

    def answers_of(self, system: str, question: str | None = None) -> list[Answer]:
        """Return the answers of a system, to all questions or to that of an id."""
        return [one for one in self.answers if one.system == system and question in (None, one.question)]

    def is_same_text(self, system: str, other: str) -> bool:
        """Tell whether two systems wrote the same text wherever both answered a question with one seed."""
        texts = {(one.question, one.seed): one.text for one in self.answers_of(other)}
        pairs = [(one.text, texts.get((one.question, one.seed))) for one in self.answers_of(system)]
        compared = [text == expected for text, expected in pairs if expected is not None]
        return bool(compared) and all(compared)

    def save(self, path: str | Path) -> None:
        """Write the race as JSON. Raises: OSError."""
        write_file(Path(path), json.dumps(to_plain(self), ensure_ascii=False, separators=(",", ":")))


def load_race(path: str | Path) -> Race:
    """Return the race of a file that :meth:`Race.save` wrote. Raises: RecordError: it holds none; OSError."""
    try:
        data = json.loads(read_file(path).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path} is no JSON: {error}; name the file of a race") from error
    return read_record(Race, data)


def read_record(kind: type[Record], data: Any) -> Record:
    """Return a record from its plain data; a record of the kind is returned as it is.

    Raises:
        RecordError: it is no such record; the message has one line and names the first wrong field.
    """
    if isinstance(data, kind):
        return data
    known, name = getattr(kind, "format", None), kind.__name__.lower()
    remedy = f"give a {name}, or what to_plain returns of one"
    if not isinstance(data, Mapping):
        raise RecordError(f"a {type(data).__name__} is no {name} of {known!r}; {remedy}")
    if (stated := data.get("format", known)) != known:
        raise RecordError(f"format {stated!r} is no {name} of {known!r}; {remedy}, and measure again what is older")
    try:
        return _adapter(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field_path = ".".join(str(step) for step in first["loc"])
        raise RecordError(f"no {name}: {field_path}: {first['msg']}; {remedy}") from None


def to_plain(record: Any) -> dict[str, Any]:
    """Return a record as plain data, ready for JSON."""
    return _adapter(type(record)).dump_python(record, mode="json")


_adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)
