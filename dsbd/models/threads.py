"""Limits torch's threads to the container's share of the machine.

torch counts the cores of the machine. A container often has a share of time instead (for example two cores' worth of
a machine with sixty-four, as on a hosted Space). With one thread per core the threads then wait for each other.
"""

import math
import os
from pathlib import Path

import torch

CGROUPS = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def limit_threads() -> int:
    """Lower torch's threads to the quota of this process, if it has one; return how many there are now.

    If ``OMP_NUM_THREADS`` is set, nothing is changed.
    """
    quota = cpu_quota()
    if quota is not None and "OMP_NUM_THREADS" not in os.environ:
        allowed = max(1, math.ceil(quota))
        if allowed < torch.get_num_threads():
            torch.set_num_threads(allowed)
    return torch.get_num_threads()


def cpu_quota(root: Path = CGROUPS, membership: Path = MEMBERSHIP) -> float | None:
    """Return the CPU quota of this process in cores, from Linux control groups of versions 2 and 1; None = no limit."""
    shares = [share for group in _groups(root, membership) if (share := _share(group)) is not None]
    return min(shares, default=None)


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


def _share(group: Path) -> float | None:
    quota, period = [*_read(group / "cpu.max").split(), "", ""][:2]
    if not quota:
        quota, period = _read(group / "cpu.cfs_quota_us").strip(), _read(group / "cpu.cfs_period_us").strip()
    if not quota.isdigit() or not period.isdigit() or int(quota) == 0 or int(period) == 0:  # "max", -1, or no file
        return None
    return int(quota) / int(period)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
