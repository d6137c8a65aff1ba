"""Files of JSON lines that a run killed at any moment leaves whole, and their shards. Needs no torch."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from dsbd.errors import RecordError, SettingsError

Item = TypeVar("Item")
START = b'{"record": '
"""How each line begins."""


@dataclass(frozen=True)
class Shard:
    """The part of a list that one of several processes works on: every ``count``-th item from ``index``, from 0."""

    index: int = 0
    count: int = 1

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return the items of this shard."""
        return items[self.index :: self.count]

    def file(self, path: str) -> str:
        """Return the path of this shard's file: ``out.0-of-2.jsonl`` of ``out.jsonl``."""
        whole = Path(path)
        return path if self.count == 1 else str(whole.with_suffix(f".{self.index}-of-{self.count}{whole.suffix}"))


WHOLE = Shard()
"""Of a single process."""


def digest(*parts: object) -> str:
    """Return hex digits that depend on the parts alone."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def shard_of(text: str | None, environment: Mapping[str, str]) -> Shard:
    """Return the shard that is typed as ``0/2``, or else that of the process, by the variables that launchers set.

    Of ``torchrun`` inside each task of an array of SLURM, each process has a shard of its own.

    Raises:
        SettingsError: it is no shard, or a variable is missing or no number.
    """
    if text is not None:
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        return _checked(f"shard is {text[:80]!r}", *map(int, match.groups() if match else (1, 0)))
    ranks = WHOLE
    if "SLURM_ARRAY_TASK_ID" in environment:
        names = ("ID", "MIN", "STEP", "COUNT")
        number, first, step, count = (_number(environment, f"SLURM_ARRAY_TASK_{name}") for name in names)
        ranks = _checked(f"task {number} is none of {count} from {first}", (number - first) / max(step, 1), count)
    if "RANK" in environment or "WORLD_SIZE" in environment:
        rank, size = (_number(environment, name) for name in ("RANK", "WORLD_SIZE"))
        own = _checked(f"RANK is {rank}, and WORLD_SIZE {size}", rank, size)
        ranks = Shard(ranks.index * own.count + own.index, ranks.count * own.count)
    return ranks


def _number(environment: Mapping[str, str], name: str) -> int:
    if not re.fullmatch(r"\d{1,9}", environment.get(name, "")):
        value = repr(environment[name][:80]) if name in environment else "not set"
        raise SettingsError(f"the variable {name} is {value}; a launcher sets it to a number, or give --shard i/n")
    return int(environment[name])


def _checked(what: str, index: float, count: int) -> Shard:
    if not (0 <= index < count and index == int(index)):
        raise SettingsError(f"{what}; give --shard i/n, i from 0 to n - 1, such as 0/2 and 1/2")
    return Shard(int(index), count)


class RecordFile:
    """The records of a run, a line each, as soon as they are made; the first are the conditions.

    Whatever kills the run, the file holds whole lines and at most a part of one more, which is dropped when another run
    goes on with it. One process writes it at a time.

    Args:
        path: of the file; None: nothing is written.
        conditions: what the records depend on, as plain data.
        resume: go on with the file, if there is one.

    Raises:
        SettingsError: the file exists and is not to be gone on with, has other conditions, cannot be written, or is
            being written by another process.
        RecordError: it holds something else.
    """

    def __init__(self, path: str | None, conditions: Mapping[str, Any], resume: bool = False) -> None:
        self.records: list[dict[str, Any]] = []
        """Those of earlier runs, without the conditions."""
        self._path, self._file = path or "", None
        if path is None:
            return
        try:
            self._file = open(path, "a+b" if resume else "x+b", buffering=0)  # noqa: SIM115  __exit__ closes it
        except FileExistsError:
            raise SettingsError(f"{path!r} exists; go on with it by --resume, or name another --output") from None
        except OSError as error:
            raise _unwritable(path, error) from None
        with ExitStack() as on_error:
            on_error.callback(self._file.close)
            first = {"record": "conditions", **conditions}
            _lock(self._file, path)
            self.records = self._whole_records(first)
            on_error.pop_all()

    def _whole_records(self, first: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the records after the conditions, which a new file gets; cut off a part of a line."""
        assert self._file is not None
        self._file.seek(0)
        lines = list(_lines(self._file.read(), self._path))
        if lines:
            require_same(self._path, json.loads(json.dumps(first)), lines[0][1])
        self._file.truncate(sum(size for size, _ in lines))
        if not lines:
            self.append(first)
        return [record for _, record in lines[1:]]

    def append(self, record: Mapping[str, Any]) -> None:
        """Write a record. Raises: SettingsError: it cannot be written."""
        if self._file is None:
            return
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def __enter__(self) -> "RecordFile":
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


def read_records(path: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the conditions and the other records of a file. Raises: RecordError."""
    try:
        records = [record for _, record in _lines(Path(path).read_bytes(), path)]
    except OSError as error:
        raise RecordError(f"{path!r} cannot be read: {error.strerror or error}; check the path") from None
    if not records:
        raise RecordError(f"{path!r} holds no records; name a file that --output wrote")
    return records[0], records[1:]


def require_same(path: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Check that a file has the conditions of a run, whatever the machine. Raises: SettingsError: one is another."""
    own, its = dict(_flat(ours)), dict(_flat(theirs))
    for name in [*own, *its]:
        if own.get(name) != its.get(name) and not name.startswith("machine."):
            raise SettingsError(
                f"{name} is {own.get(name)!r:.80}, and {path!r} was written with {its.get(name)!r:.80}; give the same, "
                "or name another file"
            )


def _flat(values: Mapping[str, Any], start: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of nested dictionaries with its whole name."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value


def _lines(content: bytes, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the size and the record of each whole line; what follows is part of one, left by a run that was killed."""
    for number, line in enumerate(BytesIO(content), start=1):
        try:
            is_ours = line.startswith(START) or START.startswith(line)
            record = json.loads(line) if line.endswith(b"\n") else {}
        except (ValueError, RecursionError):
            is_ours = False
        if not is_ours or (number == 1 and record.get("record", "conditions") != "conditions"):
            raise RecordError(f"{path!r}, line {number}, is no record; name a file that --output wrote") from None
        if record:
            yield len(line), record


def _unwritable(path: str, error: OSError) -> SettingsError:
    return SettingsError(f"cannot write {path!r}: {error.strerror or error}")


def _lock(file: Any, path: str) -> None:
    """Keep other processes from the file until it is closed; where nothing locks (Windows), nothing is kept."""
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        flock(file, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        raise SettingsError(f"{path!r} is being written by another process; wait for it, or name another") from None
    except (ImportError, OSError):
        pass
