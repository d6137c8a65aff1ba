"""Joules of a block of work, in three states: by counter, integrated from power, or not measured.

A meter never estimates: on a GPU that is cut into instances or shared with other processes, and where neither a
counter nor a power reading is there, its reading says "not measured". Needs no torch.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

State = Literal["counter", "integrated", "not measured"]
POWERCAP = Path("/sys/class/powercap")
IDLE_SECONDS = 2.0
POWER_PERIOD_SECONDS = 0.02


@dataclass(frozen=True)
class Energy:
    """What a block of work took."""

    state: State
    joules: float | None = None
    """Everything the device took; None where not measured."""
    above_idle_joules: float | None = None
    """The same less what the idle device takes in that time."""


NOT_MEASURED = Energy("not measured")


class Meter(Protocol):
    """Reads one device."""

    def begin(self) -> None:
        """Start of a block."""
        ...

    def end(self) -> Energy:
        """End of the block."""
        ...


class NullMeter:
    """The meter of a device that cannot be measured."""

    def begin(self) -> None:
        """Nothing to do."""

    def end(self) -> Energy:
        """Not measured."""
        return NOT_MEASURED


class Counter(NamedTuple):
    """A count of joules."""

    read_joules: Callable[[], float]
    span: float | None = None
    """Where the count starts anew; None where it does not."""


class CounterMeter:
    """Reads the counters of one device before and after."""

    def __init__(self, counters: Sequence[Counter]) -> None:
        self._counters, self._before = counters, [0.0] * len(counters)

    def begin(self) -> None:
        self._before = [counter.read_joules() for counter in self._counters]

    def end(self) -> Energy:
        joules = 0.0
        for counter, before in zip(self._counters, self._before, strict=True):
            taken = counter.read_joules() - before
            joules += taken + counter.span if taken < 0 and counter.span is not None else taken
        return Energy("counter", joules)


class PowerMeter:
    """Integrates a power reading taken every few milliseconds, by trapezoids."""

    def __init__(self, read_watts: Callable[[], float], period_seconds: float = POWER_PERIOD_SECONDS) -> None:
        self._read, self._period = read_watts, period_seconds
        self._stop, self._thread = threading.Event(), threading.Thread()
        self._samples: list[tuple[float, float]] = []

    def begin(self) -> None:
        self._samples, self._stop = [self._sample()], threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> Energy:
        self._stop.set()
        self._thread.join()
        self._samples.append(self._sample())
        joules = sum((after - before) * (low + high) / 2 for (before, low), (after, high) in pairwise(self._samples))
        return Energy("integrated", joules)

    def _run(self) -> None:
        while not self._stop.wait(self._period):
            self._samples.append(self._sample())

    def _sample(self) -> tuple[float, float]:
        return time.perf_counter(), self._read()


class AboveIdleMeter:
    """Another meter, with what the idle device takes learnt at the beginning and taken off."""

    def __init__(self, meter: Meter, idle_seconds: float) -> None:
        self._meter, self._start = meter, time.perf_counter()
        meter.begin()
        time.sleep(idle_seconds)
        joules = meter.end().joules
        assert joules is not None, "a meter that measures nothing has no idle power"
        self._idle_watts = joules / (time.perf_counter() - self._start)

    def begin(self) -> None:
        self._start = time.perf_counter()
        self._meter.begin()

    def end(self) -> Energy:
        taken, seconds = self._meter.end(), time.perf_counter() - self._start
        assert taken.joules is not None
        return replace(taken, above_idle_joules=max(taken.joules - self._idle_watts * seconds, 0.0))


def gpu_meter(device: int | str = 0, nvml: Any = None, idle_seconds: float = IDLE_SECONDS) -> Meter:
    """The meter of an NVIDIA GPU, idle learnt.

    Args:
        device: its UUID (without ``GPU-``), or its place as NVML counts, which knows no CUDA_VISIBLE_DEVICES.
        nvml: a module like ``pynvml``; None imports it where the extra ``energy`` is installed.
        idle_seconds: how long the idle device is watched.
    """
    try:
        import pynvml
    except ImportError:
        pynvml = None
    library = nvml or pynvml
    if library is None:
        return NullMeter()
    try:
        library.nvmlInit()
        by_place = isinstance(device, int)
        find = library.nvmlDeviceGetHandleByIndex if by_place else library.nvmlDeviceGetHandleByUUID
        handle = find(device if by_place else f"GPU-{device}")
        if _shared(library, handle):
            return NullMeter()
    except library.NVMLError:
        return NullMeter()
    meter = _nvml_meter(library, handle)
    return NullMeter() if meter is None else AboveIdleMeter(meter, idle_seconds)


def _nvml_meter(library: Any, handle: Any) -> Meter | None:
    """The counter where the GPU has one, else its power; None where it tells neither."""
    with suppress(library.NVMLError):
        library.nvmlDeviceGetTotalEnergyConsumption(handle)
        return CounterMeter([Counter(lambda: library.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000)])
    with suppress(library.NVMLError):
        library.nvmlDeviceGetPowerUsage(handle)
        return PowerMeter(lambda: library.nvmlDeviceGetPowerUsage(handle) / 1000)
    return None


def _shared(library: Any, handle: Any) -> bool:
    """True where the reading would be that of others too: instances (MIG), or more than one process."""
    try:
        if library.nvmlDeviceGetMigMode(handle)[0]:
            return True
    except library.NVMLError:
        pass  # a GPU that knows no instances
    return len(library.nvmlDeviceGetComputeRunningProcesses(handle)) > 1


def cpu_meter(root: Path = POWERCAP, idle_seconds: float = IDLE_SECONDS) -> Meter:
    """The meter of all processor packages by the kernel's powercap counters, idle learnt; null where unreadable."""
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
