"""Measures the wall-clock time of the phases of a decode."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dsbd.results import PHASES


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all work queued on it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


class PhaseClock:
    """Seconds per phase, over all iterations and in the current one.

    Only time inside phases counts, so a slow observer or reader of the stream does not make the decode look slow.
    With ``exact`` the device is synchronised at the end of each phase, so that work queued in one phase is not
    counted in the next. Otherwise only copies to the host synchronise.
    """

    def __init__(self, device: torch.device, exact: bool) -> None:
        self._device = device
        self._exact = exact
        self.total_seconds = dict.fromkeys(PHASES, 0.0)
        self.iteration_seconds = dict.fromkeys(PHASES, 0.0)

    def start_iteration(self) -> None:
        """Set the seconds of the current iteration to zero."""
        self.iteration_seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a block as part of a phase."""
        start = time.perf_counter()
        yield
        if self._exact:
            synchronise(self._device)
        seconds = time.perf_counter() - start
        self.total_seconds[name] += seconds
        self.iteration_seconds[name] += seconds

    @property
    def seconds(self) -> float:
        """Return the seconds of all phases together."""
        return sum(self.total_seconds.values())
