"""The process in which strangers' files and queries are read: it is bounded, and one hostile call spoils no other."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dsbd.bounded import BoundedProcess

MIB = 2**20


@pytest.fixture(scope="module")
def process():
    with BoundedProcess(512 * MIB) as process:
        yield process


def test_calls_share_one_process_and_threads_take_turns(process):
    """Catches answers that reach another thread, and a process for each call."""
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda number: process.call(60, divmod, number, 7), range(50))) == [
            divmod(number, 7) for number in range(50)
        ]
    first = process.call(60, os.getpid)
    assert first not in (os.getpid(), None)
    assert process.call(60, os.getpid) == first


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (TimeoutError, (0.5, time.sleep, 60)),
        (TimeoutError, (0.5, pow, 7, 10**9)),
        (ChildProcessError, (60, os._exit, 0)),
        (ChildProcessError, (60, os.abort)),
        (MemoryError, (60, bytearray, 2**32)),
        (ZeroDivisionError, (60, divmod, 1, 0)),
        (OSError, (60, Path.write_bytes, Path("written"), b"x" * 100_000)),
    ],
    ids=["sleeps", "computes", "exits", "aborts", "memory", "raises", "writes"],
)
def test_a_call_that_goes_wrong_raises_and_the_next_is_answered(error, call, process, tmp_path):
    seconds, function, *arguments = call
    arguments = [tmp_path / one if isinstance(one, Path) else one for one in arguments]
    with pytest.raises(error):
        process.call(seconds, function, *arguments)
    assert process.call(60, abs, -1) == 1
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) == 0


def test_what_is_printed_is_no_answer(process):
    assert process.call(60, os.write, 1, b"x" * 9) == 9
