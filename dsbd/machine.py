"""The machine: what it is, its threads, its free memory, its time; and libraries kept quiet on it.

A model's forwards use all threads. Between forwards torch works on small tensors, where starting and joining threads
costs more than the work: one thread is faster there, and a forward of a very small model is such work too. A container
may use fewer cores than the machine has; then too many threads would wait for each other.
"""

import logging
import math
import os
import platform
import re
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
import torch
from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from transformers.utils import logging as transformers_logging

from dsbd.errors import ModelError
from dsbd.results import PHASES
from dsbd.version import __version__

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "onnxruntime")


def machine(device: torch.device) -> dict[str, Any]:
    """Return the processor, cores, threads and the device that computes."""
    facts: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "native_bfloat16": computes_bfloat16(),
        "device": str(device),
    }
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        facts |= {"gpu": properties.name, "gpu_memory_bytes": properties.total_memory, "cuda": torch.version.cuda}
    return facts


@lru_cache(maxsize=1)
def versions() -> Mapping[str, str]:
    """Return the versions of Python, of this package, and of the libraries that compute."""
    installed = {"python": platform.python_version(), "dsbd": __version__}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            installed[package] = version(package)
    return installed


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def computes_bfloat16() -> bool:
    """Return True if this processor multiplies bfloat16 natively (AMX or AVX512-BF16)."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)


def multiplies_int8() -> bool:
    """Return True if ONNX Runtime has quick products of whole numbers for this processor, as far as we measured."""
    return torch.backends.cpu.get_cpu_capability().startswith("AVX")


CGROUP = Path("/sys/fs/cgroup")
SMALL = 4_000_000
"""Models with fewer parameters compute on one thread. On a CPU they are faster in float32 than in bfloat16, too: their
weights fit its cache, and bfloat16 packs them again in each call (bundled draft, 6 tokens: 1.04 against 1.18 ms)."""


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Let torch compute on ``count`` threads in the block, and afterwards on as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def limit_threads() -> int:
    """Lower torch's threads to the CPU quota, unless ``OMP_NUM_THREADS`` is set. Returns the number of threads."""
    quota = cpu_quota()
    if quota is not None and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(torch.get_num_threads(), max(1, math.ceil(quota))))
    return torch.get_num_threads()


def cpu_quota(group: Path = CGROUP) -> float | None:
    """Return the CPU quota of this container in cores, by Linux control groups of version 2; None = no limit."""
    with suppress(OSError, ValueError):  # no such file, or "max"
        quota, period = map(int, (group / "cpu.max").read_text().split())
        if quota > 0 and period > 0:
            return quota / period
    return None


@contextmanager
def memory_errors(doing: str) -> Iterator[None]:
    """Raise a ModelError, whose message names what the block is ``doing``, if memory runs out in it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:160]
        raise ModelError(
            f"out of memory while {doing} ({reason}); use a smaller forest (draft_width, draft_depth, cover_width, "
            f"branching), fewer beams, a shorter prompt, a dtype of fewer bytes, or smaller models"
        ) from None


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error means that memory ran out. For a CPU torch has no error class, only this word."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "DefaultCPUAllocator" in str(error)


def free_bytes(device: torch.device) -> int:
    """Return the free bytes of a device; on a CPU no more than its container may use."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    free: int = psutil.virtual_memory().available
    try:  # Linux control groups of version 2
        allowed = int((CGROUP / "memory.max").read_text()) - int((CGROUP / "memory.current").read_text())
        reclaimable = re.search(r"^inactive_file (\d+)$", (CGROUP / "memory.stat").read_text(), re.M)
    except (OSError, ValueError):
        return free
    return min(free, allowed + (int(reclaimable[1]) if reclaimable else 0))


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
        self._device, self._exact = device, exact
        self.total_seconds = dict.fromkeys(PHASES, 0.0)
        self.start_iteration()

    def start_iteration(self) -> None:
        self.iteration_seconds = dict.fromkeys(PHASES, 0.0)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a block as part of a phase."""
        start = time.perf_counter()
        yield
        if self._exact:
            synchronise(self._device)
        passed = time.perf_counter() - start
        for seconds in (self.total_seconds, self.iteration_seconds):
            seconds[name] += passed

    @property
    def seconds(self) -> float:
        """Return the seconds of all phases together."""
        return sum(self.total_seconds.values())


@contextmanager
def without_progress() -> Iterator[None]:
    """Hide progress bars of transformers and the hub, and the hub's messages about retries."""
    hub = logging.getLogger("huggingface_hub")
    level, hidden, shown = hub.level, are_progress_bars_disabled(), transformers_logging.is_progress_bar_enabled()
    hub.setLevel(logging.ERROR)
    transformers_logging.disable_progress_bar()  # the hub's too
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()
        (disable_progress_bars if hidden else enable_progress_bars)()
        hub.setLevel(level)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Hide warnings of Python and of transformers."""
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers_logging.set_verbosity(verbosity)
