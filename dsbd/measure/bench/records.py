"""What a contest measures and a bench reports, as frozen records. Needs no torch, so that figures can use them.

A line of an answers file holds a :class:`Run`; ``python -m dsbd bench --json`` prints a :class:`BenchSummary`. None
means "not measured" everywhere, or that a method has no such figure.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from pydantic import Field, PlainSerializer

from dsbd.measure.bench.plain import read_record, to_plain
from dsbd.measure.energy import Energy
from dsbd.measure.intervals import Estimate
from dsbd.results import Stats, brief
from dsbd.settings import DecodingSettings

FORMAT = "dsbd-bench/1"
CONTROL_TOLERANCE = 0.15
"""How far the control may move, as a share."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One decode of one prompt by one contender."""

    __repr__ = brief

    contender: str
    task: str
    """Empty for a plain prompt."""
    question: str
    """Id of the question or prompt."""
    cluster: str
    """Questions of one cluster are not independent."""
    round: int
    """0 for the first decode of a question, 1 for the second with another seed, ..."""
    seed: int
    prompt: str
    prompt_tokens: int
    """Of a prompt that was read into a memory: those of its window, and the memory's one slot."""
    shortened: bool
    """Whether the prompt was shortened to fit the models."""
    text: str
    ended: str
    """``eos``, ``until`` (a text that ends an answer was there, and everything before it is settled) or ``limit``."""
    seconds: float
    """Wall clock of the whole call, prefill included."""
    prefill_seconds: float
    layers: int
    """Tokens the beams were decoded to."""
    new_tokens: int
    """Tokens of the returned hypothesis, EOS included."""
    perplexity: float
    """Of the returned text under the unwarped target."""
    best_log_weight: float
    """Log-weight of the most likely hypothesis, nats."""
    best_log_weight_per_token: float
    """The best log-weight per token of any hypothesis, nats: ending early does not improve it."""
    target_calls: int
    segments: int | None = None
    """In how many segments the prompt was read into a memory; None if it was not."""
    draft_calls: int | None = None
    iterations: int | None = None
    layers_per_iteration: float | None = None
    accepted: int | None = None
    """Drafts accepted, of those that were tried."""
    rejected: int | None = None
    acceptance_rate: float | None = None
    mean_width: float | None = None
    widths: dict[int, int] | None = None
    """How many layers yielded how many beams, duplicates counted."""
    phase_seconds: dict[str, float] | None = None
    kv_peak_bytes: int | None = None
    """Largest size of the keys and values of target and draft together."""
    peak_allocated_bytes: int | None = None
    """Largest device memory in use, weights included."""
    energy: dict[str, Energy] | None = None
    """By device: ``gpu``, ``cpu_package``."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes two decodes the same one."""
        return (self.contender, self.task, self.question, self.round)

    @property
    def decode_seconds(self) -> float:
        """The whole call without prefill, at least a nanosecond."""
        return max(self.seconds - self.prefill_seconds, 1e-9)

    @property
    def tokens_per_second(self) -> float:
        """layers / (seconds - prefill_seconds)."""
        return self.layers / self.decode_seconds

    @property
    def milliseconds_per_token(self) -> float:
        """Of the whole call, prefill included."""
        return 1000 * self.seconds / self.layers

    @property
    def joules(self) -> float | None:
        """Of all devices that were measured; None if none was."""
        measured = [one.joules for one in (self.energy or {}).values() if one.joules is not None]
        return sum(measured) if measured else None


@dataclass(frozen=True)
class Hypotheses:
    """What a decode returned, ours or an opponent's."""

    token_ids: list[list[int]]
    """Generated ids of each distinct hypothesis, EOS included, the returned one first."""
    layers: int
    """Tokens the beams were decoded to."""
    target_calls: int
    stats: Stats | None = None
    """None for an opponent."""


@dataclass(frozen=True, kw_only=True)
class ModelCosts:
    """What a forward of one model costs on this machine."""

    weight_bytes: int
    """Bytes of weights that each forward reads."""
    slot_bytes: int
    """Bytes of keys and values of one token, all layers together."""
    bandwidth_bytes_per_second: float
    milliseconds: dict[int, float]
    """Median time of a forward, by its number of tokens."""

    @property
    def floor_milliseconds(self) -> float:
        """The least time in which this machine can read the weights once."""
        return 1000 * self.weight_bytes / self.bandwidth_bytes_per_second


@dataclass(frozen=True, kw_only=True)
class Forwards:
    """What the forwards of both models cost; ``draft`` is None where there is no draft model."""

    target: ModelCosts
    draft: ModelCosts | None = None

    @property
    def by_role(self) -> dict[str, ModelCosts]:
        """The models that are there, by role."""
        return {"target": self.target} | ({} if self.draft is None else {"draft": self.draft})


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """How probable it was that draft layers passed, over some decodes."""

    layers: int
    """Draft layers seen."""
    beta: float | None = None
    """Mean probability that ``min_width`` beams of a layer are accepted (in a likely forest: land)."""
    pass_probability: Annotated[float | None, Field(alias="pass")] = None
    """Mean probability that a layer reaches its chosen width."""
    forward_tokens: float | None = None
    """Mean number of tokens of a target forward: input beams and forest."""


@dataclass(frozen=True, kw_only=True)
class ResolvedAuto:
    """What the fields set to ``auto`` resolved to, and why."""

    values: dict[str, Any]
    sentence: str


@dataclass(frozen=True, kw_only=True)
class OtherCaches:
    """Bytes that other designs of the cache would need, computed from shapes alone."""

    one_sequence_bytes: int
    """Prompt and new tokens of one sequence: the paper's variant with ``input_beams=1``."""
    cache_per_beam_bytes: int
    """One such cache for each beam: the paper's own design."""


@dataclass(frozen=True, kw_only=True)
class PeakMemory:
    """The largest memory of any run."""

    kv_peak_bytes: int | None = None
    peak_allocated_bytes: int | None = None
    computed: OtherCaches | None = None
    ratio_to_one_sequence: float | None = None
    """Measured keys and values over ``one_sequence_bytes``."""


@dataclass(frozen=True, kw_only=True)
class EnergyPerToken:
    """Joules of one device per decoded token, and per token of the returned text."""

    state: str
    """As in :class:`dsbd.measure.energy.Energy`."""
    joules_per_token: float | None = None
    above_idle_joules_per_token: float | None = None
    joules_per_text_token: float | None = None


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a contender could reach, and the shares of it that it reaches: hardware, algorithm, total."""

    target_floor_milliseconds: float
    """Least time to read the target's weights and cache once."""
    target_forward_milliseconds: float
    """A target forward of the size this contender uses."""
    beams_forward_milliseconds: float
    """A target forward of one token per beam."""
    draft_depth: float
    """Mean number of draft forwards per iteration."""
    layers: float
    """Measured layers per iteration."""
    expected_layers: float | None = None
    expected_speed_up_limit: float | None = None
    speed_up_limit: float = 1.0
    """Speed over beam sampling if only the forwards took time."""
    speed_up: float | None = None
    """Measured speed over beam sampling."""
    hardware: float
    """Floor over forward."""
    algorithm: float | None = None
    """Measured speed-up over its limit."""
    total: float
    """Floor of all forwards over the measured time."""
    draft_forward_milliseconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class QualityVerdict:
    """Differences to the baseline, and whether the quality counts as equal (None: too few prompts to say)."""

    perplexity: Estimate
    best_log_weight_per_token: Estimate
    equal: bool | None


@dataclass(frozen=True, kw_only=True)
class SpeedRatio:
    """Tokens per second over those of the baseline on the same prompts and seeds."""

    baseline: str
    """Name of the contender it is compared with."""
    median: float
    low: float | None
    high: float | None
    above_1: int
    """Runs that were faster than the baseline's."""
    of: int
    """Runs compared."""
    sign_test_p: float | None
    """Over prompts: one counts once, by the mean logarithm of its ratios."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """Our beam sampling alone, timed on the first prompts before everything else and again after it."""

    before: float
    """Milliseconds per token, as the other two."""
    after: float
    row: float | None = None
    """The same decodes among the others; None: beam sampling was not among them."""
    openmp_runtimes: int = 1
    """In this process."""

    def notes(self) -> list[str]:
        """Return what it measured in one sentence, after a warning if the figures should not be published."""
        alone = (self.before + self.after) / 2
        moved = max(abs(self.after / self.before - 1), abs((self.row or alone) / alone - 1)) > CONTROL_TOLERANCE
        reasons = ["the control moved by more than 15 %"] if moved else []
        if self.openmp_runtimes > 1:
            reasons.append(f"this process had {self.openmp_runtimes} OpenMP runtimes, which slow each other")
        among = "" if self.row is None else f"; among the others {self.row:.2f}"
        said = f"Control: our beam sampling alone took {self.before:.2f} ms per token before everything else and "
        warning = [f"Do not publish these figures: {' and '.join(reasons)}. Measure again, alone."] if reasons else []
        return [*warning, f"{said}{self.after:.2f} after it{among}."]


@dataclass(frozen=True, kw_only=True)
class ContenderSummary:
    """All figures of one contender; in JSON one flat object."""

    __repr__ = brief

    contender: str
    """Its name."""
    method: str
    settings: Annotated[DecodingSettings, PlainSerializer(asdict)]
    auto_reason: Annotated[str | None, Field(alias="plan")] = None
    """Why ``auto`` resolved to these settings."""
    runs: int
    tokens_per_second: float
    """Median over the runs, as all speeds but the totals."""
    milliseconds_per_token: float
    milliseconds_per_token_interval: tuple[float, float] | None
    total_tokens_per_second: float
    text_tokens_per_second: float
    decode_milliseconds_per_token: float
    prefill_seconds: float
    perplexity: float
    """Mean over the prompts, as the two log-weights; ``half_width`` is half of the 95 % interval."""
    perplexity_half_width: float | None
    best_log_weight: float
    best_log_weight_half_width: float | None
    best_log_weight_per_token: float
    best_log_weight_per_token_half_width: float | None
    prompt_tokens: float
    """Mean over the runs, as all counts; None where the method has no such count."""
    layers: float
    new_tokens: float
    target_calls: float
    draft_calls: float | None
    iterations: float | None
    layers_per_iteration: float | None
    acceptance_rate: float | None
    mean_width: float | None
    milliseconds_per_iteration: dict[str, float] | None = None
    """By phase."""
    acceptance: Acceptance | None = None
    memory: PeakMemory = PeakMemory()
    energy: dict[str, EnergyPerToken] | None = None
    """By device."""
    quality: QualityVerdict | None = None
    limits: Limits | None = None
    """None for an opponent, which does not report what it ran."""


@dataclass(frozen=True, kw_only=True)
class BenchSummary:
    """Everything a bench measured so far."""

    __repr__ = brief

    format: str = FORMAT
    conditions: dict[str, Any] = field(default_factory=dict)
    """Machine, versions and models; where an opponent is another package, its version too."""
    complete: bool = False
    prompts: int = 0
    rounds: int = 0
    baselines: tuple[str, ...] = ()
    """The first decides quality and limits."""
    quality_rule: str = ""
    forwards: Forwards | None = None
    control: Control | None = None
    """None where the measurement was broken off."""
    contenders: tuple[ContenderSummary, ...]
    ratios: dict[str, dict[str, SpeedRatio | None]] = field(default_factory=dict)
    """By baseline, then by contender."""

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data, ready for JSON."""
        return to_plain(self)


def bench_summary(data: BenchSummary | Mapping[str, Any]) -> BenchSummary:
    """Read a summary from what ``python -m dsbd bench --json`` printed; a :class:`BenchSummary` is returned as it is.

    Raises:
        ValueError: it is no such summary; the message names the first wrong field.
    """
    return read_record(BenchSummary, data, "summary of a bench", "give what python -m dsbd bench --json prints")
