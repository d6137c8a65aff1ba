"""The progress of a run, and the learning-rate factor and sequence length that follow from it."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """A run ends when its tokens or its seconds are spent, whichever comes first.

    Seconds are wall-clock, summed over resumed sessions.
    """

    tokens: float
    seconds: float = math.inf

    def progress(self, tokens: float, seconds: float) -> float:
        """Return the spent share of the budget, at most 1."""
        return min(1.0, max(tokens / self.tokens, seconds / self.seconds))


@dataclass(frozen=True)
class Schedule:
    """Short warm-up, constant rate, `1 - sqrt` decay; long sequences towards the end."""

    warmup_steps: int = 60
    decay_share: float = 0.4
    short_length: int = 256
    long_length: int = 1024
    long_share: float = 0.15
    batch_tokens: int = 8192

    def rate(self, step: int, progress: float) -> float:
        """Return the learning-rate factor in [0, 1] of step `step` (from 0)."""
        warm = min(1.0, (step + 1) / self.warmup_steps)
        decayed = max(0.0, progress - (1 - self.decay_share)) / self.decay_share
        return warm * (1 - math.sqrt(decayed))

    def shape(self, progress: float) -> tuple[int, int]:
        """Return (rows, length) of the next batch."""
        length = self.long_length if progress >= 1 - self.long_share else self.short_length
        return max(1, self.batch_tokens // length), length
