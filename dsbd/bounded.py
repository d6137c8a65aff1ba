"""Calls a function in a process of its own with limits, which reads what strangers wrote.

The process cannot write files, if the system can forbid it.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def call_bounded(seconds: float, memory_bytes: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of a module returns; whatever it raises is raised here.

    Args:
        seconds: after which the process is killed.
        memory_bytes: the most memory that it may take; not every system can limit it.
        function: one that a new process can import.
        arguments: they can be pickled, and so can the answer.

    Raises:
        TimeoutError: it took too long.
        ChildProcessError: the process ended on its own.
        MemoryError: the function needed more memory than the process may take.
    """
    paths = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).resolve().parents[1])])
    try:
        done = subprocess.run(
            [sys.executable, __file__, str(memory_bytes)],
            input=pickle.dumps((function, arguments)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            env=os.environ | {"PYTHONPATH": paths},
            check=False,
        )
        answer, error = pickle.loads(done.stdout)  # written by our own functions
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"a call took more than {seconds:g} seconds") from None
    except (EOFError, pickle.UnpicklingError):
        raise ChildProcessError("the process that was called ended on its own") from None
    if error is not None:
        raise error
    return answer


def _bound(memory_bytes: int) -> None:
    """Limit the memory of this process from now on, and forbid it to write files, on systems that can do so."""
    with suppress(ImportError):  # Windows
        import resource

        for kind, most in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
            with suppress(ValueError, OSError):  # macOS does not bound the memory
                resource.setrlimit(kind, (most, most))


def _answer_call(memory_bytes: int) -> None:
    """Answer with what the function returns and what it raises; one of them is None."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _bound(memory_bytes)
    function, arguments = pickle.load(sys.stdin.buffer)
    try:
        answer = pickle.dumps((function(*arguments), None), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        answer = pickle.dumps((None, error), pickle.HIGHEST_PROTOCOL)
    answers.write(answer)
    answers.flush()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its names are those of a package
    _answer_call(int(sys.argv[1]))
