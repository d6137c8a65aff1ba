"""Calls functions in a separate process with limits, which reads what strangers wrote.

The process starts with the first call and answers the calls that follow. It is killed when a call takes too long, and
the next call starts another. It ends with the process that calls. It cannot write files, if the system can forbid it.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Timer
from typing import Any


class BoundedProcess:
    """A process that calls functions; threads take turns.

    Args:
        memory_bytes: the most memory that it may take; not every system can limit it.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = Lock()

    def __enter__(self) -> "BoundedProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def call(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function of a module returns; whatever it raises is raised here.

        Args:
            seconds: after which the process is killed.
            function: one that the new process can import.
            arguments: they can be pickled, and so can the answer.

        Raises:
            TimeoutError: it took too long.
            ChildProcessError: the process ended on its own.
            MemoryError: the function needed more memory than the process may take.
        """
        with self._lock:
            process, late = self._running(), Event()

            def end() -> None:
                late.set()
                process.kill()

            timer = Timer(seconds, end)
            timer.start()
            try:
                assert process.stdin is not None, "it is a pipe"
                assert process.stdout is not None, "it is a pipe"
                pickle.dump((function, arguments), process.stdin)
                process.stdin.flush()
                answer, error = pickle.load(process.stdout)  # written by our own functions
            except BaseException as problem:  # the process has ended, or the caller was interrupted
                self.close()
                if late.is_set():
                    raise TimeoutError(f"a call took more than {seconds:g} seconds") from None
                if isinstance(problem, (EOFError, OSError, pickle.UnpicklingError)):
                    raise ChildProcessError("the process that was called ended on its own") from None
                raise
            finally:
                timer.cancel()
                timer.join()
            if late.is_set():  # just as the answer came
                self.close()
        if error is not None:
            raise error
        return answer

    def close(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError):  # what is left in the pipe
                process.communicate()

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self.close()
            paths = os.pathsep.join([*filter(None, sys.path), str(Path(__file__).resolve().parents[1])])
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(self._memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": paths},
            )
        return self._process


def _bound(memory_bytes: int) -> None:
    """Limit the memory of this process from now on, and forbid it to write files, on systems that can do so."""
    with suppress(ImportError):  # Windows
        import resource

        for kind, most in ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0)):
            with suppress(ValueError, OSError):  # macOS does not bound the memory
                resource.setrlimit(kind, (most, most))


def _answer_calls(memory_bytes: int) -> None:
    """Answer calls until there are no more: with what a function returns and what it raises; one of them is None."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what is printed is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asks
    _bound(memory_bytes)
    with suppress(EOFError):
        while True:
            function, arguments = pickle.load(sys.stdin.buffer)
            try:
                answer = pickle.dumps((function(*arguments), None), pickle.HIGHEST_PROTOCOL)
            except Exception as error:
                answer = pickle.dumps((None, error), pickle.HIGHEST_PROTOCOL)
            answers.write(answer)
            answers.flush()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: its names are those of a package
    _answer_calls(int(sys.argv[1]))
