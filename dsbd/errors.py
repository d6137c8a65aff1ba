"""Every error this package raises on purpose.

    DsbdError
    ├── SettingsError (also a ValueError)   a setting is out of range or contradicts another
    ├── PromptError   (also a ValueError)   the prompt does not fit the models
    ├── PlanError     (also a ValueError)   a plan is asked for a device or with figures that cannot be
    ├── PairError                           models cannot be loaded, or cannot work together
    ├── ModelError                          a model fails while it decodes: NaN logits, or no memory left
    ├── StoppedError                        the host stopped the decode before its end
    ├── TraceError                          a trace file is unreadable, damaged or of another format
    ├── PageError                           the page cannot be served
    ├── TaskError                           a task's data is missing, damaged, or not as its format says
    ├── QueryError                          a query is refused, fails, or goes past a limit
    └── LessonError                         a lesson is not written as one, or names what its trace does not have

Messages name the value received, the values allowed and the remedy, on one line.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class DsbdError(Exception):
    """Base of all errors raised on purpose."""


class SettingsError(DsbdError, ValueError):
    """A setting is out of range or contradicts another."""


class PromptError(DsbdError, ValueError):
    """The prompt does not fit the models."""


class PlanError(DsbdError, ValueError):
    """A plan is asked for a device that is unknown, or with figures that cannot be."""


class PairError(DsbdError):
    """Models cannot be loaded, or cannot work together."""


class ModelError(DsbdError):
    """A model fails while it decodes: its logits are not numbers, or memory runs out."""


class StoppedError(DsbdError):
    """The host stopped the decode before its end."""


class TraceError(DsbdError):
    """A trace file is unreadable, damaged or of another format."""


class PageError(DsbdError):
    """The page cannot be served."""


class TaskError(DsbdError):
    """A task's data is missing, damaged, or not as its format says."""


class QueryError(DsbdError):
    """A query is refused, fails, or goes past a limit; the message may quote the query."""


class LessonError(DsbdError):
    """A lesson is not written as one, or names what its trace does not have."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, cut short, with the next one where it ends in a colon.

    An error that says nothing is named by its class.
    """
    first, *others = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return " ".join([first, *others[: first.endswith(":")]])[:200]


@contextmanager
def told_as(error_of: Callable[[BaseException], DsbdError]) -> Iterator[None]:
    """Turn whatever a library raises in the block into an error of this package, whose own errors pass.

    For libraries that read what strangers wrote: they promise no list of what they raise, and a panic of Rust is no
    Exception.
    """
    try:
        yield
    except (DsbdError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise error_of(error) from None
