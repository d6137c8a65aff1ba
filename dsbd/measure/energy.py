"""Joules of a block of work, counted by a device through the package ``zeus`` (extra ``energy``). Needs no torch.

A device counts everything that runs on it, other processes too.
"""

from typing import Any

_WINDOW = "dsbd"


class Meter:
    """Measures one device: a GPU, or all processor packages.

    Without zeus, or without a counter that this user may read, nothing is measured.

    Args:
        gpu: number of the GPU as torch counts them; None: the processor.
    """

    def __init__(self, gpu: int | None = None) -> None:
        self._monitor = _monitor(gpu)

    def begin(self) -> None:
        """Start a block."""
        if self._monitor is not None:
            self._monitor.begin_window(_WINDOW, sync_execution=False)

    def end(self) -> float | None:
        """End the block and return its joules; None where they cannot be measured."""
        if self._monitor is None:
            return None
        used = self._monitor.end_window(_WINDOW, sync_execution=False)
        return float(sum((used.gpu_energy or used.cpu_energy or {}).values()))


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
