"""What a decode returns. The words are those of docs/algorithm.md, *Words*."""

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from dsbd.settings import ResolvedSettings

if TYPE_CHECKING:
    from dsbd.tracing.trace import Trace

ITERATION_PHASES = ("draft", "score", "verify", "commit")
"""The phases of an iteration, in order."""
PHASES = ("prefill", *ITERATION_PHASES)
"""The phases of a decode; :class:`Stats` has ``<phase>_seconds`` for each."""
VERDICTS = ("accepted", "rejected", "orphaned", "unneeded", "recovered", "guessed", "fresh", "bonus", "landed")
"""What :func:`count_verdicts` counts."""


def brief(record: Any) -> str:
    """Return a dataclass as one short line, for its ``repr``: numbers, beginnings of texts, and sizes of the rest.

    >>> brief(DecodedBeam("Once", [1, 2], -0.5, -0.25, True, 1))
    "DecodedBeam(text='Once', token_ids=<list of 2>, log_weight=-0.5, score=-0.25, finished=True, multiplicity=1)"
    """
    shown = (f"{field.name}={_brief(getattr(record, field.name))}" for field in fields(record) if field.repr)
    return f"{type(record).__name__}({', '.join(shown)})"


def _brief(value: Any) -> str:
    if value is None or isinstance(value, (int, float, str)):
        return reprlib.repr(value)
    return f"<{type(value).__name__}{f' of {len(value)}' if isinstance(value, Sized) else ''}>"


class ShortRepr:
    """What is printed as one short line."""

    __repr__ = brief


@dataclass(frozen=True, repr=False)
class DecodedBeam(ShortRepr):
    """A hypothesis. ``score = log_weight / length**length_penalty``."""

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
    """All final layers / iterations."""
    acceptance_rate: float | None
    """accepted / (accepted + rejected), without orphaned and unneeded drafts; None if no draft was tried."""
    accepted: int
    rejected: int
    orphaned: int
    unneeded: int
    recovered: int
    guessed: int
    """Coupled draws that are nodes of the forest."""
    fresh: int
    bonus: int
    landed: int
    """Drawn beams (recovered, guessed, fresh) that are in the forest."""
    mean_width: float
    """Mean number of beams a layer yielded, duplicates counted."""
    kv_peak_slots: int
    """Cache slots of the target in use at the fullest moment."""
    kv_peak_bytes: int
    """Bytes of keys and values in use at the fullest moment, target and draft together."""


def count_verdicts(trials: Iterable[Any], draws: Sequence[Any] = ()) -> Counter[str]:
    """Count the verdicts and draws of a decode, or of its trace, as in :class:`Stats`. A carried draft is accepted.

    >>> from types import SimpleNamespace as One
    >>> counts = count_verdicts([One(verdict="accepted"), One(verdict="rejected")], [One(kind="fresh", landed=True)])
    >>> counts["rejected"], counts["fresh"], counts["landed"], counts["orphaned"], acceptance_rate(counts)
    (1, 1, 1, 0, 0.5)
    """
    counts = Counter(dict.fromkeys(VERDICTS, 0))
    counts.update("accepted" if trial.verdict == "carried" else trial.verdict for trial in trials)
    counts.update(draw.kind for draw in draws)
    counts["landed"] = sum(draw.landed for draw in draws)
    return counts


def acceptance_rate(counts: Mapping[str, int]) -> float | None:
    """Return accepted / (accepted + rejected); None if no draft was tried."""
    tried = counts["accepted"] + counts["rejected"]
    return counts["accepted"] / tried if tried else None


@dataclass(frozen=True, repr=False)
class DecodingResult(ShortRepr):
    """The returned hypothesis, all hypotheses, the counts and times, and the trace."""

    text: str
    """The text of the returned hypothesis, without special tokens, up to the first text of ``stop``."""
    token_ids: list[int]
    """Generated ids of the returned hypothesis, EOS included if drawn."""
    beams: list[DecodedBeam]
    """All hypotheses, best score first."""
    stats: Stats
    settings: ResolvedSettings
    """The settings as resolved for the method."""
    trace: "Trace | None" = None
    """What was recorded; None unless ``record`` was given."""

    def _repr_html_(self) -> str | None:
        """Return the viewer, for a notebook, if the decode was recorded."""
        return None if self.trace is None else self.trace._repr_html_()
