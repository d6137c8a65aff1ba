"""Unpacks the SQLite files of an untrusted .tar.gz into a cache folder, once."""

import hashlib
import re
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import BinaryIO

from dsbd.cache_folder import cache_folder
from dsbd.errors import TaskError

MAX_BYTES = 2_000_000_000
"""The most bytes that all members of an archive may have, unpacked."""
_DATABASE = re.compile(r"(?:.*/)?(?P<name>\w+)/(?P=name)\.sqlite", re.ASCII)


def unpacked(archive: Path) -> Path:
    """Return a folder with NAME/NAME.sqlite for each such file of an archive, in whatever folder it is there.

    Paths, links, owners and modes in the archive are not used, so nothing is written outside the folder. The folder
    is ``databases/DIGEST`` below :func:`dsbd.cache_folder.cache_folder`; the digest is the archive's.

    Raises:
        TaskError: the archive is damaged, too large, or holds no database; or the folder cannot be written.
    """
    home = cache_folder() / "databases"
    try:
        with archive.open("rb") as file:
            digest = _digest(file)
        folder = home / digest[:32]
        if folder.is_dir():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        started = Path(tempfile.mkdtemp(dir=folder.parent))
        try:
            _unpack(archive, started)
            if not folder.is_dir():  # another process may have been faster
                started.rename(folder)
        finally:
            shutil.rmtree(started, ignore_errors=True)
    except (OSError, EOFError, zlib.error, tarfile.TarError) as error:
        raise TaskError(f"{archive} cannot be unpacked to {home}: {error}; unpack it yourself, beside it") from error
    return folder


def _unpack(archive: Path, folder: Path) -> None:
    """Write the databases of an archive below a folder, under names of our own."""
    size, names = 0, set()
    with tarfile.open(archive, "r|gz") as members:
        for member in members:
            size += member.size
            if size > MAX_BYTES:
                raise TaskError(
                    f"{archive} holds more than {MAX_BYTES} bytes; give a folder with the databases you need"
                )
            found = _DATABASE.fullmatch(member.name)
            content = members.extractfile(member) if found and member.isreg() else None
            if found and content and found["name"] not in names:
                names.add(found["name"])
                (folder / found["name"]).mkdir()
                with content, (folder / found["name"] / f"{found['name']}.sqlite").open("wb") as file:
                    shutil.copyfileobj(content, file)
    if not names:
        raise TaskError(f"{archive} holds no file NAME/NAME.sqlite; give the archive of Spider's databases")


def _digest(file: BinaryIO) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    found = hashlib.sha256()
    while part := file.read(1 << 20):
        found.update(part)
    return found.hexdigest()
