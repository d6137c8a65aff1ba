"""Figures of one run. Needs no torch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Run:
    """Figures of one run; None is "not measured"."""

    contender: str
    prompt: str
    prompt_tokens: int
    seed: int
    text: str
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
    """Of the likeliest hypothesis, nats."""
    best_log_weight_per_token: float
    """Of the hypothesis that is likeliest per token, nats: texts that end early gain nothing by it."""
    target_calls: int
    draft_calls: int | None = None
    iterations: int | None = None
    layers_per_iteration: float | None = None
    acceptance_rate: float | None = None
    mean_width: float | None = None
    phase_seconds: Mapping[str, float] | None = None
    kv_peak_bytes: int | None = None
    """Keys and values of target and draft at the fullest moment."""
    peak_allocated_bytes: int | None = None
    """Device memory at the fullest moment, the weights included."""
    energy: Mapping[str, Mapping[str, Any]] | None = None
    """Per device (``gpu``, ``cpu_package``): the fields of :class:`dsbd.measure.energy.Energy`."""

    @property
    def tokens_per_second(self) -> float:
        """layers / (seconds - prefill_seconds)."""
        return self.layers / max(self.seconds - self.prefill_seconds, 1e-9)

    @property
    def milliseconds_per_token(self) -> float:
        """Of the whole call, prefill included."""
        return 1000 * self.seconds / self.layers
