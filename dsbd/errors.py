"""Every error that this package raises on purpose.

A message is one line: the value received, the values allowed and the remedy.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class DsbdError(Exception):
    """Base of all errors raised on purpose."""


class SettingsError(DsbdError, ValueError):
    """A setting is out of range or contradicts another."""


class PromptError(DsbdError, ValueError):
    """The prompt does not fit the models."""


class PairError(DsbdError):
    """Models cannot be loaded, or cannot work together."""


class ModelError(DsbdError):
    """A model fails while it decodes: its logits are not numbers, or memory runs out."""


class ArgumentError(DsbdError, ValueError):
    """An argument has a value that is not allowed."""


class MissingError(DsbdError, ImportError):
    """A package that an extra brings is not installed."""


class StoppedError(DsbdError):
    """The decode was stopped before its end."""


class TraceError(DsbdError):
    """A trace file is unreadable, damaged or of another format."""


class PageError(DsbdError):
    """The page cannot be served."""


class TaskError(DsbdError):
    """A task's data is missing, damaged, or of another format."""


class RecordError(DsbdError, ValueError):
    """The data is no table or race of a benchmark."""


class QueryError(DsbdError):
    """A query is refused, fails, or goes past a limit; the message may quote the query."""


class LessonError(DsbdError):
    """A lesson has a mistake in its form, or refers to something that its trace does not have."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, cut short; if it ends in a colon, with the next line.

    Of an error without a message, return the name of its class.
    """
    first, *others = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return " ".join([first, *others[: first.endswith(":")]])[:200]


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Say which extra brings what a block imports. Raises: MissingError: it cannot be imported."""
    try:
        yield
    except ImportError as error:
        raise MissingError(f"{first_line(error)}; run: pip install 'dsbd[{extra}]'", name=error.name) from None


@contextmanager
def wrap_errors(error_of: Callable[[BaseException], DsbdError]) -> Iterator[None]:
    """Turn whatever a library raises in the block into an error of this package; errors of this package pass.

    For libraries that read what strangers wrote: they do not list what they raise, and a panic of Rust is not an
    Exception.
    """
    try:
        yield
    except (DsbdError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise error_of(error) from None
