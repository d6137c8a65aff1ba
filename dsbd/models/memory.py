"""Turns errors of missing memory into one sentence with a remedy."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dsbd.errors import ModelError

_CPU_WORDS = "DefaultCPUAllocator"
"""torch has no error class for a CPU without memory; the name of its allocator is in the message."""


@contextmanager
def memory_errors(doing: str) -> Iterator[None]:
    """Turn the errors of torch and Python that mean "out of memory" into one of this package.

    Args:
        doing: what the block does; the message says it.

    Raises:
        ModelError: memory ran out.
    """
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


def is_out_of_memory(error: Exception) -> bool:
    """Return True for the errors of torch and Python that mean that memory ran out."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or _CPU_WORDS in str(error)
