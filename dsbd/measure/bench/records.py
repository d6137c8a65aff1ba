"""What a contest measures, as frozen records: a line of an answers file holds one. Needs no torch.

None means "not measured" everywhere, or that a method has no such figure.
"""

from dataclasses import dataclass
from typing import Any

from dsbd.results import Stats, brief

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
    joules: float | None = None
    """Energy that the devices used whose counters can be read."""

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
class ResolvedAuto:
    """What the fields set to ``auto`` resolved to, and why."""

    values: dict[str, Any]
    sentence: str


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
