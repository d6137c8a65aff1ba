"""The answers of a contest as JSON lines: first what was asked and on what machine, then a line for each decode.

A line is written as soon as its decode is made, and a line that a crash cut off is dropped. A contest continues a file
that was asked for the same under the same conditions; it does not repeat what is there.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.files import write_file
from dsbd.measure.bench.contenders import Contender
from dsbd.measure.bench.contest import Turn
from dsbd.measure.bench.plain import from_plain, to_plain
from dsbd.measure.bench.records import Control, ResolvedAuto, Run

FORMAT = "dsbd-answers/1"
REMEDY = "name another --output"
COMPARED = ("asked", "conditions")
Record = Run | Control | ResolvedAuto
KINDS: dict[str, Any] = {"decode": Run, "control": Control, "auto": ResolvedAuto}
"""What a line holds, by the name that it gives."""


class AnswersFile:
    """Everything that was measured so far.

    Args:
        path: of the file; None keeps everything in memory.

    Raises:
        SettingsError: the file cannot be read, or is no file of answers.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = None if path is None else Path(path)
        self.head: dict[str, Any] = {}
        """What was asked, and on what machine; empty before :meth:`begin`."""
        self.controls: list[Control] = []
        """Of every session that came to its end."""
        self.auto: dict[str, ResolvedAuto] = {}
        """What ``auto`` resolved to, by contender."""
        self._runs: dict[tuple[str, str, str, int], Run] = {}
        if self._path is not None and self._path.exists() and self._path.stat().st_size:
            self._load(self._path)

    @property
    def runs(self) -> tuple[Run, ...]:
        """Every decode so far."""
        return tuple(self._runs.values())

    def find(self, turn: Turn) -> Run | None:
        """Return the decode if it was made already."""
        return self._runs.get(turn.key)

    def with_auto(self, contenders: Iterable[Contender]) -> tuple[Contender, ...]:
        """Return the contenders with ``auto`` as it was resolved."""
        return tuple(_with_auto(one, self.auto[one.name]) if one.name in self.auto else one for one in contenders)

    def begin(self, asked: Mapping[str, Any], conditions: Mapping[str, Any]) -> None:
        """Write what is asked and on what machine; a file that has it already is continued.

        Raises:
            SettingsError: the file has other answers, and the message names what differs; or it cannot be written.
        """
        if self.head:
            self.require_same(asked=asked, conditions=conditions)
            return
        self.head = json.loads(json.dumps({"asked": asked, "conditions": conditions}))
        self._write({"record": "asked", "format": FORMAT, **self.head})

    def require_same(self, **parts: Mapping[str, Any]) -> None:
        """Refuse to continue where a part of the head differs. Raises: SettingsError, which names what differs."""
        for part, new in json.loads(json.dumps(parts)).items():
            changed = difference(self.head.get(part), new)
            if changed is not None:
                raise SettingsError(
                    f"{str(self._path)!r} holds answers to something else: {part}.{changed}; {REMEDY}, or ask for the "
                    "same again"
                )

    def add(self, record: Record, contender: str = "") -> None:
        """Keep a record, of a contender where it is of one; it is in the file when this returns."""
        self._keep(record, contender)
        kind = next(name for name, one in KINDS.items() if isinstance(record, one))
        named = {"contender": contender} if contender else {}
        self._write({"record": kind, **named, **to_plain(record)})

    def _keep(self, record: Record, contender: str) -> None:
        if isinstance(record, Run):
            self._runs[record.key] = record
        elif isinstance(record, Control):
            self.controls.append(record)
        else:
            self.auto[contender] = record

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n")
        except OSError as error:
            raise cannot_write(self._path, error) from None

    def _load(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"cannot read {str(path)!r}: {error}; {REMEDY}") from None
        whole = text[: text.rfind("\n") + 1]
        try:
            head, *lines = map(json.loads, whole.splitlines())
            if head["format"] != FORMAT:
                raise ValueError(f"format {head['format']!r}")
            self.head = {part: head[part] for part in COMPARED}
            for line in lines:
                self._keep(from_plain(KINDS[line["record"]], line), line.get("contender", ""))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SettingsError(f"{str(path)!r} is not a file of answers ({error}); {REMEDY}") from None
        if len(whole) < len(text):
            write_text(path, whole)


def _with_auto(contender: Contender, found: ResolvedAuto) -> Contender:
    return replace(contender, settings=replace(contender.settings, **found.values), auto_reason=found.sentence)


def difference(old: Any, new: Any, place: str = "") -> str | None:
    """Return the first place where two pieces of plain data differ, with both values; None where they are equal."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in [*new, *(name for name in old if name not in new)]:
            found = difference(old.get(name), new.get(name), f"{place}.{name}" if place else str(name))
            if found is not None:
                return found
        return None
    return None if old == new else f"{place} was {old!r}, is {new!r}"


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all. Raises: SettingsError: it cannot be written."""
    try:
        write_file(path, text)
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: Path, error: OSError) -> SettingsError:
    """Return the error that says why."""
    return SettingsError(f"cannot write {str(path)!r}: {error.strerror or error}")
