"""Reads one uploaded trace in a process of its own, which the page ends when it takes too long.

``python upload_reader.py FILE`` writes a pickle to stdout: the trace, or the TraceError that says what is wrong with
the file. Run from its path, with dsbd on PYTHONPATH; it imports neither the page nor torch.
"""

import pickle
import sys

MAX_MEMORY_BYTES = 2 * 1024**3


def main(path: str) -> None:
    """Read, check, write."""
    _bound_memory()
    from dsbd.errors import TraceError
    from dsbd.tracing.limits import PAGE_LIMITS
    from dsbd.tracing.reading import read_file
    from dsbd.tracing.trace import Trace

    try:
        answer: Trace | TraceError = Trace.loads(read_file(path, PAGE_LIMITS), PAGE_LIMITS)
    except TraceError as error:
        answer = error
    except (MemoryError, RecursionError):
        answer = TraceError("the trace is too large for this page; record a shorter one")
    pickle.dump(answer, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)


def _bound_memory() -> None:
    """On systems that can, the process may not take more memory than this."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its names are those of a package
    main(sys.argv[1])
