"""How much memory is free, and errors of missing memory as one sentence with a remedy."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import torch

from dsbd.errors import ModelError

CGROUP = Path("/sys/fs/cgroup")
_CPU_WORDS = "DefaultCPUAllocator"
"""torch has no error class for a CPU without memory; the name of its allocator is in the message."""


@contextmanager
def memory_errors(doing: str) -> Iterator[None]:
    """Raise a ModelError, whose message names what the block is ``doing``, if memory runs out in it."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:160]
        raise ModelError(
            f"out of memory while {doing} ({said}); use a smaller forest (draft_width, draft_depth, cover_width, "
            f"branching), fewer beams, a shorter prompt, a dtype of fewer bytes, or smaller models"
        ) from None


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error of torch or Python means that memory ran out."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or _CPU_WORDS in str(error)


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


def in_gigabytes(size: int) -> str:
    """Return a number of bytes as GB or MB."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.1f} MB"
