"""Which OpenMP runtimes a process has: two of them slow each other, and every figure with them. Needs no torch."""

import re
from pathlib import Path

RUNTIME = re.compile(r"/lib(gomp|iomp5|omp)\b[^/]*$")


def openmp_runtimes() -> list[str]:
    """Return the runtimes' files; empty where the system does not list what a process has mapped."""
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return sorted({line.split()[-1] for line in mapped if RUNTIME.search(line)})
