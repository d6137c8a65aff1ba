"""How many threads torch computes on.

A model's forwards use them all. Between forwards torch works on small tensors, where starting and joining threads costs
more than the work: one thread is faster there, and a forward of a very small model is such work too.

torch starts a thread for each core of the machine. A container may use less, such as two cores' time of sixty-four on a
hosted Space. Then too many threads would wait for each other.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

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
    """Return the CPU quota of this container in cores, by Linux control groups of versions 1 and 2; None = no limit."""
    for places in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        with suppress(OSError, ValueError):  # no such file, or "max"
            quota, period = (int(part) for place in places for part in (group / place).read_text().split())
            if quota > 0 and period > 0:
                return quota / period
    return None
