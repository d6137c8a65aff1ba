"""Every writer leaves the earlier file as it was where the disk is full, and follows no link."""

import json
import os
import resource
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

import visualize
from dsbd.files import write_file
from dsbd.measure.bench import answers_file
from dsbd.tracing.trace import Trace
from visualize.pages.trace_page import copy_plotly

TRACE = next(path for path in sorted((Path(__file__).parents[1] / "assets" / "traces").glob("*.json.gz")))
WRITERS = {
    "write_file": lambda path: write_file(path, "x" * 10_000),
    "trace": lambda path: Trace.load(TRACE).save(path),
    "html": lambda path: visualize.export_html(TRACE, path, plotly="inline"),
    "plotly": lambda path: copy_plotly(path.parent),
    "svg": lambda path: visualize.export_svg(TRACE, path),
    "decode svg": lambda path: visualize.export_decode_svg(TRACE, path),
    "csv": lambda path: visualize.export_csv(TRACE, path),
    "results": lambda path: answers_file.write_text(path, "x" * 10_000),
}
EARLIER = json.dumps("earlier" * 700) + "\ncut"


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


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_leaves_the_earlier_file(name, tmp_path):
    """Catches a writer that empties a file before it knows that the new content has room."""
    path = tmp_path / ("plotly.min.js" if name == "plotly" else "out.json.gz")
    path.write_text(EARLIER)
    with full_disk(), pytest.raises(Exception, match=r"too large|cannot write"):
        WRITERS[name](path)
    assert path.read_text() == EARLIER
    assert list(tmp_path.iterdir()) == [path]
    WRITERS[name](path)
    assert path.read_bytes() != EARLIER.encode()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_in_its_place_is_replaced(name, tmp_path):
    """Catches a file elsewhere that is overwritten because someone put a link where the output goes."""
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    theirs, path = tmp_path / "theirs", tmp_path / "folder" / ("plotly.min.js" if name == "plotly" else "out")
    theirs.write_text("theirs")
    path.symlink_to(theirs)
    WRITERS[name](path)
    assert theirs.read_text() == "theirs"
    assert path.is_file()
    assert not path.is_symlink()


def test_an_earlier_file_keeps_its_permissions(tmp_path):
    """Catches a private file that others can read once it is written again."""
    path = tmp_path / "out"
    path.touch(mode=0o600)
    write_file(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600
    fresh = tmp_path / "fresh"
    write_file(fresh, "new")
    (tmp_path / "plain").touch()
    assert fresh.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("kind", ["pipe", "folder", "no folder", "long name"])
def test_what_is_no_file(kind, tmp_path):
    """Catches a pipe or a device that is replaced by a file."""
    path = tmp_path / "out"
    if kind == "pipe":
        os.mkfifo(path)
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        write_file(path, "new")
        assert os.read(reading, 9) == b"new"
        os.close(reading)
        assert path.is_fifo()
    elif kind == "long name":
        write_file(tmp_path / ("x" * 255), "new")
    else:
        if kind == "folder":
            path.mkdir()
        with pytest.raises(OSError, match="directory"):
            write_file(path if kind == "folder" else path / "out", "new")
    assert not list(tmp_path.glob("*.part"))
