"""Joules of a block of work, read from a counter of the device, or "not measured".

A meter never estimates. Where the device has no counter, and on a GPU that is split into instances or shared with
other processes, the answer is "not measured". Needs no torch.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

POWERCAP = Path("/sys/class/powercap")
IDLE_SECONDS = 2.0


@dataclass(frozen=True)
class Energy:
    """The energy that a block of work used."""

    state: str
    """``counter`` or ``not measured``; files of version 0.1 may also have ``integrated``."""
    joules: float | None = None
    """Energy used by the whole device; None where not measured."""
    above_idle_joules: float | None = None
    """The same, minus what the idle device uses in that time."""


NOT_MEASURED = Energy("not measured")


class Meter(Protocol):
    """Measures one device."""

    def begin(self) -> None:
        """Start a block."""
        ...

    def end(self) -> Energy:
        """End the block and return its energy."""
        ...


class NullMeter:
    """The meter of a device that cannot be measured."""

    def begin(self) -> None:
        """Do nothing."""

    def end(self) -> Energy:
        """Return "not measured"."""
        return NOT_MEASURED


class Counter(NamedTuple):
    """A running count of joules."""

    read_joules: Callable[[], float]
    span: float | None = None
    """The value at which the count starts again from zero; None where it never does."""


class CounterMeter:
    """Reads the counters of one device before and after a block."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters, self._before = counters, [0.0] * len(counters)

    def begin(self) -> None:
        """Read the counters."""
        self._before = [counter.read_joules() for counter in self._counters]

    def end(self) -> Energy:
        """Read the counters again and return the difference."""
        joules = 0.0
        for counter, before in zip(self._counters, self._before, strict=True):
            used = counter.read_joules() - before
            joules += used + counter.span if used < 0 and counter.span is not None else used
        return Energy("counter", joules)


class AboveIdleMeter:
    """Another meter that first measures the idle device, and then subtracts the idle power from each block."""

    def __init__(self, meter: CounterMeter, idle_seconds: float) -> None:
        self._meter, self._start = meter, time.perf_counter()
        meter.begin()
        time.sleep(idle_seconds)
        joules = meter.end().joules
        assert joules is not None, "a counter always has a reading"
        self._idle_watts = joules / (time.perf_counter() - self._start)

    def begin(self) -> None:
        """Start a block."""
        self._start = time.perf_counter()
        self._meter.begin()

    def end(self) -> Energy:
        """End the block and return its energy, in all and above idle."""
        used, seconds = self._meter.end(), time.perf_counter() - self._start
        assert used.joules is not None
        return replace(used, above_idle_joules=max(used.joules - self._idle_watts * seconds, 0.0))


def gpu_meter(device: int | str = 0, nvml: Any = None, idle_seconds: float = IDLE_SECONDS) -> Meter:
    """Return the meter of an NVIDIA GPU; a :class:`NullMeter` where the GPU has no energy counter of its own.

    Args:
        device: the UUID of the GPU (without ``GPU-``), or its number in NVML, which ignores CUDA_VISIBLE_DEVICES.
        nvml: a module like ``pynvml``; None imports it if the extra ``energy`` is installed.
        idle_seconds: how long to measure the idle device.
    """
    if nvml is None:
        try:
            import pynvml
        except ImportError:
            return NullMeter()
        nvml = pynvml
    try:
        nvml.nvmlInit()
        if isinstance(device, int):
            handle = nvml.nvmlDeviceGetHandleByIndex(device)
        else:
            handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{device}")
        if _shared(nvml, handle):
            return NullMeter()
        nvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except nvml.NVMLError:
        return NullMeter()
    counter = Counter(lambda: nvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000)  # NVML counts millijoules
    return AboveIdleMeter(CounterMeter([counter]), idle_seconds)


def _shared(nvml: Any, handle: Any) -> bool:
    """Whether the counter also counts the work of others: the GPU is split (MIG), or more than one process uses it."""
    try:
        if nvml.nvmlDeviceGetMigMode(handle)[0]:
            return True
    except nvml.NVMLError:
        pass  # this GPU cannot be split
    return len(nvml.nvmlDeviceGetComputeRunningProcesses(handle)) > 1


def cpu_meter(root: Path = POWERCAP, idle_seconds: float = IDLE_SECONDS) -> Meter:
    """Return the meter of all processor packages; a :class:`NullMeter` where the kernel's counters cannot be read.

    Args:
        root: the powercap folder of the kernel.
        idle_seconds: how long to measure the idle processor.
    """
    counters = []
    try:
        for zone in sorted(root.glob("*:*")):
            if (zone / "name").read_text().startswith("package"):
                read = partial(_joules, zone / "energy_uj")
                read()
                counters.append(Counter(read, _joules(zone / "max_energy_range_uj")))
    except (OSError, ValueError):
        return NullMeter()
    return AboveIdleMeter(CounterMeter(counters), idle_seconds) if counters else NullMeter()


def _joules(path: Path) -> float:
    return float(path.read_text()) / 1e6
