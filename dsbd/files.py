"""Writes a file whole or not at all."""

import os
import shutil
import time
from contextlib import suppress
from errno import EACCES
from pathlib import Path
from secrets import token_hex

PART = "?" * 16 + ".part"
"""Names of files that are not whole yet, without the dot before them."""
ABANDONED_SECONDS = 3600
"""After so long the process that wrote one is gone; the next write in its folder removes it."""


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file whole: the earlier file stays until the new one is completely on disk.

    A link is replaced, not followed. Pipes and devices are written to directly.

    Args:
        path: of the file; its folder exists.
        content: bytes, or text to be written as UTF-8.

    Raises:
        OSError: it cannot be written; the earlier file is unchanged.
    """
    place, raw = Path(path), content.encode() if isinstance(content, str) else content
    if _is_device(place):
        place.write_bytes(raw)
        return
    earlier = place.is_file() and not place.is_symlink()
    if earlier and not os.access(place, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
    for left in place.parent.glob(f".{PART}"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED_SECONDS:
                left.unlink()
    beside = place.with_name(f".{token_hex(8)}.part")
    try:
        with beside.open("xb") as file:
            if earlier:
                shutil.copymode(place, beside)
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def _is_device(place: Path) -> bool:
    """Return True for devices, pipes, and names of open files such as ``/dev/stdout``."""
    folder = place.parent.resolve()
    if folder == Path("/dev") or Path("/proc") in folder.parents:
        return True
    return place.exists() and not place.is_symlink() and not place.is_file()
