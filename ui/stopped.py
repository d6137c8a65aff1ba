"""Telling a run that a visitor stopped from one that failed.

Gradio reports both as a failure, and may do so only when the next run has begun. Frames that were on their way when
Stop was pressed arrive after it, so that no frame of a run may say that nothing was stopped: the time of the last stop
says it.
"""

import time

GRACE_SECONDS = 10.0


def halt() -> float:
    """The moment of a stop, for the page's state."""
    return time.monotonic()


def was_halted(halted_at: float | None) -> bool:
    """True where a failure reported now is the end of a run that was stopped; None: none was."""
    return halted_at is not None and time.monotonic() - halted_at < GRACE_SECONDS
