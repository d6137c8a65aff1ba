"""The JSON lines of a bench: conditions first, then one line a run, each written as soon as it is measured.

A file can be gone on with: what is in it is not run again, and a line that was cut off by a crash is dropped.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import Contender
from dsbd.measure.bench.records import Run

FORMAT = "dsbd-bench/1"


class Journal:
    """Runs measured so far, in a file, or (``path`` None) in memory alone.

    Raises:
        SettingsError: the file is no bench file, cannot be read or written, or was measured under other conditions.
    """

    def __init__(self, path: str | Path | None = None, conditions: Mapping[str, Any] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._runs: dict[str, Run] = {}
        self._costs: dict[str, Any] = {}
        self.conditions = json.loads(json.dumps(conditions or {}))
        if self._path is not None and self._path.exists() and self._path.stat().st_size:
            self._load(self._path)
        else:
            self._write({"record": "conditions", "format": FORMAT, **self.conditions})

    def find(self, contender: Contender, prompt: str, seed: int) -> Run | None:
        """The run, where it was measured already."""
        run = self._runs.get(key(contender, prompt, seed))
        return None if run is None else replace(run, contender=contender.name)

    def add(self, contender: Contender, run: Run) -> None:
        """Keep a run."""
        own = key(contender, run.prompt, run.seed)
        self._runs[own] = run
        self._write({"record": "run", "key": own, "method": contender.method,
                     "settings": asdict(contender.settings), **asdict(run)})  # fmt: skip

    def cost(self, name: str) -> Any:
        """A figure of the machine or of a contender that was kept under this name, or None."""
        return self._costs.get(name)

    def add_cost(self, name: str, value: Any) -> None:
        """Keep a figure that belongs to no single run: of a forward, of a contender's acceptance."""
        self._costs[name] = value
        self._write({"record": "cost", "name": name, "value": value})

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._path is None:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=True, allow_nan=False) + "\n")
        except OSError as error:
            raise SettingsError(f"cannot write {str(self._path)!r}: {error.strerror or error}") from None

    def _load(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"cannot read {str(path)!r}: {error}; name another --output") from None
        whole = text[: text.rfind("\n") + 1]
        try:
            records = [json.loads(line) for line in whole.splitlines()]
            head = records[0]
            if head["format"] != FORMAT:
                raise ValueError(head["format"])
            for record in records[1:]:
                self._take(record)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise SettingsError(f"{str(path)!r} is no file of a bench ({error}); name another --output") from None
        changed = difference({name: head.get(name) for name in self.conditions}, self.conditions)
        if changed is not None:
            raise SettingsError(
                f"{str(path)!r} was measured under other conditions: {changed}; name another --output, for figures "
                "of different conditions do not compare"
            )
        if len(whole) < len(text):
            path.write_text(whole, encoding="utf-8")

    def _take(self, record: Mapping[str, Any]) -> None:
        if record["record"] == "cost":
            self._costs[record["name"]] = record["value"]
        else:
            self._runs[record["key"]] = Run(**{field.name: record[field.name] for field in fields(Run)})


def key(contender: Contender, prompt: str, seed: int) -> str:
    """What makes two runs the same run: method, settings, prompt and seed."""
    settings = asdict(contender.settings) | {"seed": seed}
    return json.dumps([contender.method, settings, prompt], sort_keys=True)


def difference(old: Any, new: Any, place: str = "") -> str | None:
    """The first place where two pieces of plain data differ, with both values; None where they are equal."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in [*new, *(name for name in old if name not in new)]:
            found = difference(old.get(name), new.get(name), f"{place}.{name}" if place else str(name))
            if found is not None:
                return found
        return None
    return None if old == new else f"{place} was {old!r}, is {new!r}"
