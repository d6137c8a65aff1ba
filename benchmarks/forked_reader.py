"""Reads uploads in forks of itself: what ``ui/traffic/upload_reader.py`` does, without a new interpreter for each.

A helper of :mod:`benchmarks.reliability`, for systems that can fork. It imports neither the page nor torch, so that the
reader's bound on memory means what it means there. Each line of stdin is a path, a tab, a path for the answer, a tab,
and how many seconds of processor time reading may take; the exit code of the reader comes back as a line of stdout.
"""

import os
import signal
import sys
import traceback

import dsbd.tracing.limits
import dsbd.tracing.reading
import dsbd.tracing.trace  # noqa: F401  # what the reader imports, once for all
from ui.traffic import upload_reader


def main() -> None:
    """Read until stdin ends."""
    for line in sys.stdin:
        path, answer, seconds = line.rstrip("\n").split("\t")
        child = os.fork()
        if not child:
            _read(path, answer, int(seconds))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _read(path: str, answer: str, seconds: int) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)  # ends the process
    code = 1
    try:
        with open(answer, "w") as sys.stdout:
            upload_reader.main("trace", path)
        code = 0
    except BaseException:  # a fork must never go on with its parent's loop
        traceback.print_exc()
    os._exit(code)


if __name__ == "__main__":
    main()
