"""Files are written whole or not at all."""

import os
import re
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

from dsbd.util import write_file

ROOT = Path(__file__).resolve().parents[1]
WRITING = re.compile(r"\.write_(?:text|bytes)\(|open\([^)]*\"[wx]b?\"|json\.dump\(")


def test_every_other_file_writes_through_write_file():
    """Catches a writer that empties a file before it knows that the new content has room, or follows a link."""
    files = [path for package in ("dsbd", "visualize") for path in (ROOT / package).rglob("*.py")]
    found = [path.relative_to(ROOT).as_posix() for path in files if WRITING.search(path.read_text(encoding="utf-8"))]
    assert found == ["dsbd/util.py"]


@contextmanager
def full_disk(most=1000):
    """Let no file of this process grow beyond so many bytes: the rest of what is written fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "out"
    path.write_text("earlier")
    with full_disk(), pytest.raises(OSError, match="too large"):
        write_file(path, "x" * 10_000)
    assert path.read_text() == "earlier"
    write_file(path, "new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_in_its_place_is_replaced(tmp_path):
    """Catches a file elsewhere that is overwritten because someone put a link where the output goes."""
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    theirs, path = tmp_path / "theirs", tmp_path / "folder" / "out"
    theirs.write_text("theirs")
    path.symlink_to(theirs)
    write_file(path, "new")
    assert (theirs.read_text(), path.read_text(), path.is_symlink()) == ("theirs", "new", False)


def test_an_earlier_file_keeps_its_permissions(tmp_path):
    """Catches a private file that others can read once it is written again."""
    path, fresh, plain = (tmp_path / name for name in ("out", "fresh", "plain"))
    path.touch(mode=0o600)
    plain.touch()
    write_file(path, "new")
    write_file(fresh, "new")
    assert path.stat().st_mode & 0o777 == 0o600
    assert fresh.stat().st_mode == plain.stat().st_mode


def test_what_is_no_file(tmp_path):
    """Catches a pipe or a device that is replaced by a file, and a name that the temporary file makes too long."""
    path = tmp_path / "out"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_file(path, "new")
    assert os.read(reading, 9) == b"new"
    os.close(reading)
    assert path.is_fifo()
    write_file(tmp_path / ("x" * 255), "new")
    for wrong in (tmp_path, tmp_path / ("x" * 255) / "out"):
        with pytest.raises(OSError, match="directory"):
            write_file(wrong, "new")
    assert not list(tmp_path.glob("*.part"))
