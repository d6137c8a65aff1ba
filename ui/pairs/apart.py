"""Tries a model that a visitor named in a separate process, before the page reads it.

The library that reads tokenizers ends its whole process on some files, and fills the memory on others.
"""

from collections.abc import Generator, Iterable

from dsbd.bounded import BoundedProcess
from dsbd.errors import PairError
from dsbd.models.outline import try_out

from .names import model_name

SECONDS = 60
"""The imports alone take about five seconds on a slow machine."""
MEMORY_BYTES = 16 * 1024**3
"""Address space, not memory in use: the libraries' files alone take several GB of it."""


def trying(models: Iterable[str]) -> Generator[str, None, None]:
    """Read models without their weights in another process; yield which model is next, in words.

    Raises: PairError: a model is refused there, ends the process, or takes too long.
    """
    hint = "its configuration or its tokenizer is damaged or hostile; choose another model, or download it again"
    with BoundedProcess(MEMORY_BYTES) as process:
        for model in models:
            yield f"trying {model_name(model)}"
            reading = f"reading {model!r} without its weights"
            try:
                process.call(SECONDS, try_out, model)
            except TimeoutError:
                raise PairError(f"{reading} takes more than {SECONDS} seconds; {hint}") from None
            except (ChildProcessError, MemoryError):
                raise PairError(f"{reading} ended the process that tried it; {hint}") from None
