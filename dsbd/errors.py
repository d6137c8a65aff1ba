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


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, cut short; the name of its class if it says nothing."""
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
