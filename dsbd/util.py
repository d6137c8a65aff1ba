"""What every package uses: bundled files, files read with a limit and written whole, steps, stopping, progress."""

import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from errno import EACCES, EFBIG, EINVAL
from hashlib import sha256
from mimetypes import guess_extension, guess_type
from pathlib import Path
from secrets import token_hex
from threading import Event, Thread
from typing import Any, NamedTuple, TypeVar

from dsbd.errors import ArgumentError, StoppedError

BUNDLED_PAIRS = ("stories", "sql")
"""The bundled pairs, the default one first: folders of ``assets/models``, each with a model card."""
SMOLLM2 = "smollm2"
"""A chat model that ``python -m dsbd fetch`` gets."""


def asset_path(name: str = "") -> Path:
    """Return the path of a bundled file or folder, whether it exists or not."""
    package = Path(__file__).resolve().parent
    installed = package / "assets"
    return (installed if installed.is_dir() else package.parent / "assets") / name


def read_file(path: str | Path, most: int = 2**28) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: it cannot be read, has more than ``most`` bytes, or is a pipe or a device, which may never end.
        ValueError: it is not a path.
    """
    about = os.stat(path)
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
        raise OSError(EINVAL, "it is a pipe or a device, which may never end")
    if about.st_size > most:
        raise OSError(EFBIG, f"it has more than {most:,} bytes")
    return Path(path).read_bytes()


def object_of(items: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; of two equal names JSON would keep the last in silence. Raises: ValueError."""
    fields = dict[str, Any]()
    for name, value in items:
        if name in fields:
            raise ValueError(f"field {name[:60]!r} stands twice in one object")
        fields[name] = value
    return fields


FORMATS = {
    "HTML": ("text/html",),
    "SVG": ("image/svg+xml",),
    "text": ("text/plain", "text/markdown"),
    "JSON": ("application/json", "gzip"),
    "JSON lines": ("application/json", "application/jsonl", "application/x-ndjson"),
}
"""What is written, and what the name of such a file may say."""


def check_output(path: str | Path, format: str, *sources: str | Path) -> None:
    """Refuse a file to write whose name says another format, or that is one of the files which are read.

    Raises: ArgumentError.
    """
    if other := {*guess_type(Path(path).name, strict=False)} - {*FORMATS[format], None}:
        raise ArgumentError(
            f"{str(path)[:200]!r} is a name for {'/'.join(sorted(map(str, other)))}, and {format} is written; "
            f"end it in {guess_extension(FORMATS[format][0])}"
        )
    if any(is_same(path, source) for source in sources):
        raise ArgumentError(f"{str(path)[:200]!r} is the file that is read, and would be lost; name another")


def is_same(one: str | Path, other: str | Path) -> bool:
    """Return True if both are paths of one file or folder, perhaps through links."""
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def write_file(path: str | Path, content: str | bytes) -> None:
    """Write a file whole: the earlier file stays until the new one is completely on disk.

    A link is replaced, not followed. Pipes and devices are written to directly.

    Args:
        path: of the file; its folder exists.
        content: bytes, or text to be written as UTF-8.

    Raises:
        OSError: it cannot be written; the earlier file is unchanged.
    """
    target, raw = Path(path), content.encode() if isinstance(content, str) else content
    if _is_device(target):
        target.write_bytes(raw)
        return
    earlier = target.is_file() and not target.is_symlink()
    if earlier and not os.access(target, os.W_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
    with part_of(target) as part:
        with part.open("wb") as file:
            if earlier:
                shutil.copymode(target, part)
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)


@contextmanager
def part_of(target: Path, make: Callable[[Path], object] = Path.touch) -> Iterator[Path]:
    """Yield a new file or folder beside a path, to be renamed to it; what is not renamed is removed."""
    part = target.with_name(f".{sha256(os.fsencode(target.name)).hexdigest()[:16]}-{token_hex(8)}.part")
    make(part)
    try:
        yield part
    finally:
        with suppress(OSError):
            shutil.rmtree(part) if part.is_dir() else part.unlink()


def _is_device(path: Path) -> bool:
    """Return True for devices, pipes, and names of open files such as ``/dev/stdout``."""
    folder = path.parent.resolve()
    if folder == Path("/dev") or Path("/proc") in folder.parents:
        return True
    return path.exists() and not path.is_symlink() and not path.is_file()


Item = TypeVar("Item")
Value = TypeVar("Value")


def each_in(context: Callable[[], AbstractContextManager[Any]], items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items, each of which is made inside a new context; it is left before the reader has the item."""
    while True:
        with context():
            try:
                item = next(items)
            except StopIteration:
                return
        yield item


def value_of(steps: Generator[Item, None, Value], show: Callable[[Item], object] = lambda _: None) -> Value:
    """Run all steps and return the value at their end; ``show`` gets each step."""
    while True:
        try:
            show(next(steps))
        except StopIteration as end:
            value: Value = end.value
            return value


CancelCheck = Callable[[], None]
"""A function that is called before each forward of a model; it raises StoppedError to stop the decode."""


def never_cancel() -> None:
    """Do nothing: the check of a decode that cannot be stopped."""


def cancel_check(cancel: Callable[[], bool] | None) -> CancelCheck:
    """Return a check that raises StoppedError once ``cancel`` returns True."""
    if cancel is None:
        return never_cancel

    def check() -> None:
        if cancel():
            raise StoppedError("the decode was stopped before its end: cancel() returned True")

    return check


def cut(text: str, ends: Iterable[str]) -> str:
    """Return the text before the one of ``ends`` that is complete first in it; all of it if it holds none.

    >>> cut("SELECT 1;\\n\\nQ: and", ["\\n", ";"])
    'SELECT 1'
    """
    matches = [(index + len(end), index) for end in ends if (index := text.find(end)) >= 0]
    return text[: min(matches, default=(0, len(text)))[1]]


SECONDS = 10.0
"""Between two lines in a log; on a terminal one line is written again every second."""


class Progress(NamedTuple):
    """How far something is."""

    doing: str
    """In words."""
    done: int
    total: int


class ProgressLine:
    """Shows how far something is, during a ``with`` statement.

    Args:
        doing: what is done first.
        unit: what is counted; empty if nothing is counted.
    """

    def __init__(self, doing: str, unit: str = "") -> None:
        self._doing, self._unit, self._done = doing, unit, 0
        self._total: int | None = None
        self._started, self._over = time.monotonic(), Event()
        self._telling = Thread(target=self._tell, daemon=True)

    def __enter__(self) -> "ProgressLine":
        self._telling.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._telling.join()

    def show(self, doing: str | None = None, done: int | None = None, total: int | None = None) -> None:
        """Show what is done now, how much is done, and of how much; what is left out stays as it was."""
        self._doing = self._doing if doing is None else doing
        self._done = self._done if done is None else done
        self._total = self._total if total is None else total

    def _tell(self) -> None:
        again, end = ("\r\x1b[K", "") if sys.stderr.isatty() else ("", "\n")
        while not self._over.wait(1.0 if again else SECONDS):
            of = "" if self._total is None else f" of {self._total}"
            count = f": {self._done}{of} {self._unit}s" if self._unit else ""
            line = f"{again}dsbd: {self._doing}{count}, {time.monotonic() - self._started:.0f} s"
            print(line, end=end, file=sys.stderr, flush=True)
        print(again, end="", file=sys.stderr, flush=True)
