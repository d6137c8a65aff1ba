"""Says whether a run that ended early was stopped by its visitor or failed.

Gradio reports both as a failure, sometimes only after the next run has begun. Updates of the run may still arrive after
Stop was pressed. So the page does not keep "stopped: yes or no", which a late update would overwrite, but the time of
the last Stop.
"""

import time

GRACE_SECONDS = 10.0


def halt() -> float:
    """The moment of a stop, for the page's state."""
    return time.monotonic()


def was_halted(halted_at: float | None) -> bool:
    """True where a failure reported now is the end of a stopped run. ``halted_at`` None: nothing was stopped."""
    return halted_at is not None and time.monotonic() - halted_at < GRACE_SECONDS
