"""What a decode returns. All figures are explained in docs/algorithm.md, *What the numbers mean*."""

import reprlib
from collections.abc import Sized
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsbd.settings import ResolvedSettings
    from dsbd.tracing.trace import Trace

ITERATION_PHASES = ("draft", "score", "verify", "commit")
"""The phases of an iteration, in order."""
PHASES = ("prefill", *ITERATION_PHASES)
"""The phases of a decode; :class:`Stats` has ``<phase>_seconds`` for each."""


def brief(record: Any) -> str:
    """Return a dataclass in one short line, as its ``repr``: numbers and the beginnings of texts; of the rest the size.

    >>> brief(DecodedBeam("Once upon a time there was a hen", [1, 2], -0.5, -0.25, True, 1))
    "DecodedBeam(text='Once upon a ...re was a hen', token_ids=<list of 2>, log_weight=-0.5, score=-0.25, \
finished=True, multiplicity=1)"
    """
    shown = (f"{field.name}={_brief(getattr(record, field.name))}" for field in fields(record) if field.repr)
    return f"{type(record).__name__}({', '.join(shown)})"


def _brief(value: Any) -> str:
    if value is None or isinstance(value, (int, float, str)):
        return reprlib.repr(value)
    return f"<{type(value).__name__}{f' of {len(value)}' if isinstance(value, Sized) else ''}>"


@dataclass(frozen=True)
class DecodedBeam:
    """A hypothesis. ``score = log_weight / length**length_penalty``."""

    __repr__ = brief

    text: str
    token_ids: list[int]
    log_weight: float
    """Sum of the target's raw token log-probabilities, nats."""
    score: float
    finished: bool
    """True if it ended by EOS, False if it was alive at the limit."""
    multiplicity: int
    """How often the beam was drawn; more than 1 only with replacement."""


@dataclass(frozen=True)
class Stats:
    """Counts and wall-clock times of one decode."""

    new_tokens: int
    """Tokens of the returned hypothesis, EOS included."""
    layers: int
    """Layers that became final: the length the beams were decoded to."""
    iterations: int
    target_calls: int
    """Forwards of the target, the prompt's included."""
    draft_calls: int
    seconds: float
    """Seconds of all phases, prefill included."""
    prefill_seconds: float
    draft_seconds: float
    score_seconds: float
    verify_seconds: float
    commit_seconds: float
    tokens_per_second: float
    """layers / (seconds - prefill_seconds)."""
    layers_per_iteration: float
    acceptance_rate: float | None
    """accepted / (accepted + rejected); None if no draft was tried."""
    accepted: int
    rejected: int
    orphaned: int
    unneeded: int
    recovered: int
    fresh: int
    bonus: int
    landed: int
    """Recovered and fresh beams that are nodes of the forest."""
    mean_width: float
    """Mean number of beams a layer yielded, duplicates counted."""
    kv_peak_slots: int
    """Cache slots of the target in use at the fullest moment."""
    kv_peak_bytes: int
    """Bytes of keys and values in use at the fullest moment, target and draft together."""


@dataclass(frozen=True)
class DecodingResult:
    """The returned hypothesis, all hypotheses, and the counts and times."""

    __repr__ = brief

    text: str
    """The text of the returned hypothesis, without special tokens."""
    token_ids: list[int]
    """Generated ids of the returned hypothesis, EOS included if drawn."""
    beams: list[DecodedBeam]
    """All hypotheses, best score first."""
    stats: Stats
    settings: "ResolvedSettings"
    """The settings as resolved for the method."""
    trace: "Trace | None"
    """The trace; None unless recorded."""
