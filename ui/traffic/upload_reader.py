"""Reads one uploaded file in a process of its own, which the page ends when it takes too long.

``python upload_reader.py KIND FILE`` writes a pickle to stdout: what the file holds, or the error that says what is
wrong with it. A ``trace`` is a Trace or a TraceError; ``questions`` are a list of Question or a TaskError. Run from its
path, with dsbd on PYTHONPATH; it imports neither the page nor torch.
"""

import os
import pickle
import sys
from typing import Any

MAX_MEMORY_BYTES = 2 * 1024**3
REMEDIES = {"trace": "record a shorter one", "questions": "give fewer questions"}
"""What to do about a file that is too large, by kind."""


def main(kind: str, path: str) -> None:
    """Read, check, write."""
    _bound_memory()
    from dsbd.errors import DsbdError, TaskError, TraceError

    try:
        answer: Any = _trace(path) if kind == "trace" else _questions(path)
    except (TraceError, TaskError) as error:
        answer = error
    except (MemoryError, RecursionError):
        error_type: type[DsbdError] = TraceError if kind == "trace" else TaskError
        answer = error_type(f"the file is too large for this page; {REMEDIES[kind]}")
    pickle.dump(answer, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)


def _trace(path: str) -> Any:
    from dsbd.tracing.limits import PAGE_LIMITS
    from dsbd.tracing.reading import read_file
    from dsbd.tracing.trace import Trace

    return Trace.loads(read_file(path, PAGE_LIMITS), PAGE_LIMITS)


def _questions(path: str) -> Any:
    from dsbd.tasks.own import OwnQuestions

    folder, name = os.path.split(path)
    os.chdir(folder or ".")  # so that messages name the file as the visitor does
    return OwnQuestions(name).questions()


def _bound_memory() -> None:
    """On systems that can, the process may not take more memory than this."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its names are those of a package
    main(sys.argv[1], sys.argv[2])
