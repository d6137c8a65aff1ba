"""Trying a model that a visitor named in a process of its own, before this one reads it.

A tokenizer is read by a library that ends its whole process on some files, and builds what others ask for.
"""

from collections.abc import Generator, Iterable

from dsbd.bounded import BoundedProcess
from dsbd.errors import PairError
from dsbd.models.outline import try_out

from .names import model_name

SECONDS = 60
"""The imports alone take five or so on a slow machine."""
MEMORY_BYTES = 16 * 1024**3
"""Addresses, of which the libraries' files take several GB; not all of them are in use."""


def trying(models: Iterable[str]) -> Generator[str, None, None]:
    """Read models without their weights in another process; say which is next, in words.

    Raises:
        PairError: one is refused there, ends the process, or takes too long.
    """
    with BoundedProcess(MEMORY_BYTES) as process:
        for model in models:
            yield f"trying {model_name(model)}"
            _require_harmless(process, model)


def _require_harmless(process: BoundedProcess, model: str) -> None:
    hint = "its configuration or its tokenizer is damaged or hostile; choose another model, or download it again"
    try:
        process.call(SECONDS, try_out, model)
    except TimeoutError:
        raise PairError(f"reading {model!r} without its weights takes more than {SECONDS} seconds; {hint}") from None
    except (ChildProcessError, MemoryError):
        raise PairError(f"reading {model!r} without its weights ended the process that tried it; {hint}") from None
