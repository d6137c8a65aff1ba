"""Reads files as the page's reader does, each in a process of its own, without the second that each needs to start.

``python forked_reader.py READER`` imports the reader of this path once, then forks for every line ``KIND TAB FILE TAB
ANSWER TAB SECONDS`` of its input, lets the fork write to the file ANSWER what the reader writes to stdout, within so
many seconds of processor time, and says how it ended.
"""

import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from unittest import mock


class ForkedReader:
    """Takes the place of ``subprocess.run`` where the page reads a file."""

    def __init__(self, reader: Path, environment: dict[str, str]) -> None:
        command = [sys.executable, __file__, str(reader)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)

    def run(self, command: list[str], timeout: float, **_) -> subprocess.CompletedProcess[bytes]:
        """Read the file of a command of the page. Raises: CalledProcessError where the reader broke."""
        *_, kind, path = command
        with tempfile.NamedTemporaryFile() as answer:
            self.process.stdin.write(f"{kind}\t{path}\t{answer.name}\t{timeout}\n")
            self.process.stdin.flush()
            code = int(self.process.stdout.readline())
            if code:
                raise subprocess.CalledProcessError(code, command)
            return subprocess.CompletedProcess(command, code, answer.read())

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def forked_reader() -> Iterator[ForkedReader]:
    """Start the process that forks; end it."""
    import dsbd
    from ui.traffic import upload_reader

    environment = os.environ | {"PYTHONPATH": str(Path(dsbd.__file__).parents[1])}
    forked = ForkedReader(Path(upload_reader.__file__), environment)
    try:
        yield forked
    finally:
        forked.close()


@contextmanager
def reading_by(forked: ForkedReader) -> Iterator[None]:
    """The page reads files by its forks. It starts a new interpreter for each else: half a second."""
    from ui.traffic import uploads

    errors = {name: getattr(subprocess, name) for name in ("CalledProcessError", "TimeoutExpired")}
    with mock.patch.object(uploads, "subprocess", SimpleNamespace(run=forked.run, **errors)):
        yield


def main(path: str) -> None:
    """Fork for every line."""
    spec = importlib.util.spec_from_file_location("reader", path)
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    import dsbd.tasks.own
    import dsbd.tracing.trace  # before the forks

    dsbd.tracing.trace.json_schema()  # makes the checks of a trace, which each fork would make again

    for line in sys.stdin:
        kind, file, answer, seconds = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            code = 1
            signal.setitimer(signal.ITIMER_PROF, float(seconds))  # ends the fork
            try:
                with open(answer, "w") as sys.stdout:
                    reader.main(kind, file)
                code = 0
            finally:
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    sys.path.pop(0)  # this folder
    main(sys.argv[1])
