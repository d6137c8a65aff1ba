"""Reads files that visitors upload, each in a separate bounded process, so that no file can hang the page."""

from pathlib import Path
from typing import Any

from dsbd.bounded import BoundedProcess
from dsbd.contest.task import Question
from dsbd.contest.tasks import read_questions
from dsbd.errors import DsbdError, TaskError, TraceError
from dsbd.tracing.reading import PAGE_LIMITS
from dsbd.tracing.trace import Trace

from ..host.limits import Limits

MAX_MEMORY_BYTES = 2 * 1024**3


def read_trace(path: Path, limits: Limits) -> Trace:
    """Read a trace. Raises: TraceError: the file is no trace, is damaged, too large, or takes too long to read."""
    trace: Trace = _read(path, limits, TraceError, "record a shorter one", Trace.load, path.name, PAGE_LIMITS)
    return trace


def read_own_questions(path: Path, limits: Limits) -> list[Question]:
    """Read questions. Raises: TaskError: the file has none, is damaged, too large, or takes too long to read."""
    questions: list[Question] = _read(path, limits, TaskError, "give fewer questions", read_questions, path.name)
    return questions


def _read(path: Path, limits: Limits, error_type: type[DsbdError], remedy: str, *call: Any) -> Any:
    """Call the reader in the folder of the file, so that messages name the file as the visitor does."""
    try:
        with BoundedProcess(MAX_MEMORY_BYTES, path.parent) as process:
            return process.call(limits.upload_seconds, *call)
    except TimeoutError:
        raise error_type(f"reading the file takes more than {limits.upload_seconds} seconds; {remedy}") from None
    except (MemoryError, RecursionError, ChildProcessError):
        raise error_type(f"the file is too large for this page; {remedy}") from None
    except OSError as error:
        raise error_type(f"cannot read the file: {error.strerror or error}; try again later") from None
