"""Joules of a block of work, counted by a device through the package ``zeus``, or "not measured".

Needs the extra ``energy``. Where zeus is missing, or the device has no counter that this user may read, the answer is
"not measured". A device counts everything that runs on it, other processes too. Needs no torch.
"""

import time
from dataclasses import dataclass
from typing import Any

IDLE_SECONDS = 2.0
_WINDOW = "dsbd"


@dataclass(frozen=True)
class Energy:
    """The energy that a block of work used."""

    state: str
    """``counter`` or ``not measured``."""
    joules: float | None = None
    """Energy used by the whole device; None where not measured."""
    above_idle_joules: float | None = None
    """The same, minus what the idle device uses in that time."""


NOT_MEASURED = Energy("not measured")


class Meter:
    """Measures one device: a GPU, or all processor packages.

    Args:
        gpu: number of the GPU as torch counts them; None: the processor.
        idle_seconds: how long to measure the idle device first.
    """

    def __init__(self, gpu: int | None = None, idle_seconds: float = IDLE_SECONDS) -> None:
        self._monitor, self._start, self._idle_watts = _monitor(gpu), 0.0, 0.0
        if self._monitor is not None:
            self.begin()
            time.sleep(idle_seconds)
            self._idle_watts = (self.end().joules or 0.0) / idle_seconds

    def begin(self) -> None:
        """Start a block."""
        if self._monitor is not None:
            self._monitor.begin_window(_WINDOW, sync_execution=False)

    def end(self) -> Energy:
        """End the block and return its energy."""
        if self._monitor is None:
            return NOT_MEASURED
        used = self._monitor.end_window(_WINDOW, sync_execution=False)
        joules = sum((used.gpu_energy or used.cpu_energy or {}).values())
        return Energy("counter", joules, max(joules - self._idle_watts * used.time, 0.0))


def _monitor(gpu: int | None) -> Any:
    """Return zeus's monitor of the device; None where it cannot be measured."""
    try:
        from zeus.exception import ZeusBaseError
        from zeus.monitor import ZeusMonitor
    except ImportError:
        return None
    try:
        monitor = ZeusMonitor(gpu_indices=[] if gpu is None else [gpu], cpu_indices=None if gpu is None else [])
    except (ZeusBaseError, RuntimeError, OSError, ValueError):
        return None
    return monitor if monitor.gpu_indices or monitor.cpu_indices else None
