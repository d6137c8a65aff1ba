"""Lists the OpenMP runtimes of a process: two of them slow each other down, so no figure is right. Needs no torch."""

import re
from pathlib import Path

RUNTIME = re.compile(r"/lib(gomp|iomp5|omp)\b[^/]*$")


def openmp_runtimes() -> list[str]:
    """Return the files of the runtimes; empty if the system does not list them."""
    try:
        mapped = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return sorted({line.split()[-1] for line in mapped if RUNTIME.search(line)})
