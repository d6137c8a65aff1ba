"""Databases in an untrusted archive: nothing is written outside the cache folder, and nothing twice."""

import io
import tarfile

import pytest

from dsbd.errors import TaskError
from dsbd.tasks.sql import archive
from dsbd.tasks.sql.archive import unpacked


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DSBD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def pack(path, members):
    """Write an archive of (name, content), or (name, type, link) for what is no plain file."""
    with tarfile.open(path, "w:gz") as tar:
        for name, *rest in members:
            member = tarfile.TarInfo(name)
            if len(rest) == 1:
                member.size = len(rest[0])
                tar.addfile(member, io.BytesIO(rest[0]))
            else:
                member.type, member.linkname = rest
                tar.addfile(member)
    return path


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_databases_are_found_in_any_folder(tmp_path):
    members = [
        ("deep/er/a/a.sqlite", b"one"),
        ("b/b.sqlite", b"two"),
        ("b/notes.txt", b"three"),
        ("c/d.sqlite", b"four"),
    ]
    folder = unpacked(pack(tmp_path / "x.tar.gz", members))
    assert files_in(folder) == ["a/a.sqlite", "b/b.sqlite"]
    assert (folder / "a/a.sqlite").read_bytes() == b"one"


def test_nothing_is_written_outside(tmp_path, cache):
    """Catches a path that climbs out, an absolute one, a link to follow, and a device."""
    members = [
        ("../../../evil/evil.sqlite", b"1"),
        (f"{tmp_path}/abs/abs.sqlite", b"2"),
        ("../out.sqlite", b"3"),
        ("link/link.sqlite", tarfile.SYMTYPE, "/etc/passwd"),
        ("hard/hard.sqlite", tarfile.LNKTYPE, "/etc/passwd"),
        ("pipe/pipe.sqlite", tarfile.FIFOTYPE, ""),
        ("..", tarfile.SYMTYPE, "/"),
    ]
    folder = unpacked(pack(tmp_path / "x.tar.gz", members))
    assert files_in(folder) == ["abs/abs.sqlite", "evil/evil.sqlite"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "x.tar.gz"]
    assert [path for path in cache.rglob("*") if path.is_symlink()] == []


def test_an_archive_is_unpacked_once_and_another_one_apart(tmp_path):
    first = pack(tmp_path / "x.tar.gz", [("a/a.sqlite", b"one")])
    folder = unpacked(first)
    (folder / "a" / "mark").touch()
    assert (unpacked(first) / "a" / "mark").exists()
    assert unpacked(pack(tmp_path / "y.tar.gz", [("a/a.sqlite", b"two")])) != folder
    assert len(list(folder.parent.iterdir())) == 2


def test_a_bad_archive_is_an_error_and_leaves_nothing(tmp_path, cache, monkeypatch):
    whole = pack(tmp_path / "x.tar.gz", [("a/a.sqlite", bytes(range(256)) * 40)])
    (tmp_path / "cut.tar.gz").write_bytes(whole.read_bytes()[:200])
    (tmp_path / "plain.tar.gz").write_bytes(b"plain")
    for name in ("cut.tar.gz", "plain.tar.gz", "missing.tar.gz"):
        with pytest.raises(TaskError, match=rf"{name} cannot be unpacked"):
            unpacked(tmp_path / name)
    with pytest.raises(TaskError, match=r"holds no file NAME/NAME\.sqlite"):
        unpacked(pack(tmp_path / "none.tar.gz", [("a/b.sqlite", b"")]))
    monkeypatch.setattr(archive, "MAX_BYTES", 1000)
    with pytest.raises(TaskError, match="more than 1000 bytes"):
        unpacked(whole)
    assert files_in(cache) == []


def test_a_cache_that_cannot_be_written_is_an_error(tmp_path, cache):
    cache.write_text("a file, no folder")
    with pytest.raises(TaskError, match=r"cannot be unpacked to .*cache.*; unpack it yourself"):
        unpacked(pack(tmp_path / "x.tar.gz", [("a/a.sqlite", b"one")]))
