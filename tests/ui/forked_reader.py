"""Reads files as the page does, each in a process of its own, without the second that each needs to start.

``python forked_reader.py`` imports what reads them once, then forks for every call that it is sent. A fork is bounded
as the process is that the page starts, and its seconds are of processor time.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest import mock


class ForkedReader:
    """Takes the place of the bounded process with which the page reads a file."""

    def __init__(self) -> None:
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, __file__], env=environment, stdin=pipe, stdout=pipe)

    def process_of(self, memory_bytes: int, folder: Path) -> "nullcontext[ForkedReader]":
        """Return what the page calls."""
        self.bounds = memory_bytes, folder
        return nullcontext(self)

    def call(self, seconds: float, function, *arguments):
        """Return what a function returns, or raise what it raises."""
        pickle.dump((*self.bounds, seconds, function, arguments), self.process.stdin)
        self.process.stdin.flush()
        answer, error = pickle.load(self.process.stdout)
        if error is not None:
            raise error
        return answer

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def forked_reader() -> Iterator[ForkedReader]:
    """Start the process that forks; end it."""
    forked = ForkedReader()
    try:
        yield forked
    finally:
        forked.close()


@contextmanager
def reading_by(forked: ForkedReader) -> Iterator[None]:
    """The page reads files by its forks. It starts a new interpreter for each else: half a second."""
    from ui.traffic import uploads

    with mock.patch.object(uploads, "BoundedProcess", forked.process_of):
        yield


def main() -> None:
    """Fork for every call."""
    import dsbd.tasks.own
    import dsbd.tracing.trace  # before the forks
    from dsbd.bounded import answer_to, bound

    dsbd.tracing.trace.json_schema()  # makes the checks of a trace, which each fork would make again

    while True:
        try:
            memory_bytes, folder, seconds, function, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        child = os.fork()
        if not child:
            signal.setitimer(signal.ITIMER_PROF, seconds)  # ends the fork
            os.chdir(folder)
            bound(memory_bytes)
            answer = answer_to(function, arguments)
            while answer:
                answer = answer[os.write(1, answer) :]
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            pickle.dump((None, ChildProcessError()), sys.stdout.buffer)
            sys.stdout.flush()


if __name__ == "__main__":
    sys.path.pop(0)  # this folder
    main()
