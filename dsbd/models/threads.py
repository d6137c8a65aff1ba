"""How many threads torch computes on.

A model's forwards use them all. Between forwards torch works on small tensors, where starting and joining threads costs
more than the work: one thread is faster there, and a forward of a very small model is such work too.

torch starts a thread for each core of the machine. A container may use less, such as two cores' time of sixty-four on a
hosted Space. Then too many threads would wait for each other.
"""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


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


def cpu_quota(root: Path = CGROUPS, membership: Path = MEMBERSHIP) -> float | None:
    """Return the CPU quota of this process in cores, by Linux control groups of versions 1 and 2; None = no limit."""
    return min(filter(None, map(_quota_of, _groups(root, membership))), default=None)


def _groups(root: Path, membership: Path) -> set[Path]:
    """Return the folders of the process's groups and of the groups above; a container may show only the root."""
    places = {root, root / "cpu"}
    for line in _read(membership).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        base = root if not controllers else root / "cpu"
        if not controllers or "cpu" in controllers.split(","):
            parts = [part for part in path.split("/") if part not in ("", "..")]
            places |= {base.joinpath(*parts[:count]) for count in range(len(parts) + 1)}
    return places


def _quota_of(group: Path) -> float | None:
    quota, period = [*_read(group / "cpu.max").split(), "", ""][:2]
    if not quota:
        quota, period = _read(group / "cpu.cfs_quota_us").strip(), _read(group / "cpu.cfs_period_us").strip()
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:  # "max", -1, or no file
        return None
    return int(quota) / int(period)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
