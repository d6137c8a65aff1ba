"""The results of a bench as JSON lines: the conditions first, then one line per run, written as soon as it is measured.

A bench can continue an existing file: it does not repeat the runs in it, and drops a line that a crash cut off.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import Contender
from dsbd.measure.bench.json_lines import append_line, read_lines
from dsbd.measure.bench.plain import from_plain, to_plain
from dsbd.measure.bench.records import FORMAT, Acceptance, Forwards, ResolvedAuto, Run
from dsbd.settings import plain_settings

FORWARDS = "forwards"
ACCEPTANCE = "acceptance"
AUTO = "plan"


class ResultsFile:
    """What was measured so far, in a file; with ``path`` None in memory only.

    Raises:
        SettingsError: the file is no file of a bench, cannot be read or written, or was measured under other
            conditions.
    """

    def __init__(self, path: str | Path | None = None, conditions: Mapping[str, Any] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._runs: dict[str, Run] = {}
        self._acceptance: dict[str, Acceptance] = {}
        self._auto: dict[str, ResolvedAuto] = {}
        self._forwards: Forwards | None = None
        self.conditions: dict[str, Any] = json.loads(json.dumps(conditions or {}))
        if self._path is not None and self._path.exists() and self._path.stat().st_size:
            self._load(self._path)
        else:
            self._write({"record": "conditions", "format": FORMAT, **self.conditions})

    def find(self, contender: Contender, prompt: str, seed: int) -> Run | None:
        """Return the run if it was measured already."""
        run = self._runs.get(run_key(contender, prompt, seed))
        return None if run is None else replace(run, contender=contender.name)

    def add(self, contender: Contender, run: Run) -> None:
        """Keep a run."""
        key = run_key(contender, run.prompt, run.seed)
        self._runs[key] = run
        settings = plain_settings(contender.settings)
        self._write({"record": "run", "key": key, "method": contender.method, "settings": settings, **to_plain(run)})

    @property
    def forwards(self) -> Forwards | None:
        """Costs of the models' forwards on this machine."""
        return self._forwards

    def add_forwards(self, forwards: Forwards) -> None:
        """Keep the costs of the models' forwards."""
        self._forwards = forwards
        self._write_cost(FORWARDS, forwards)

    def acceptance(self, contender: Contender) -> Acceptance | None:
        """Return how probable it is that a contender's draft layers pass."""
        return self._acceptance.get(contender_key(contender))

    def add_acceptance(self, contender: Contender, acceptance: Acceptance) -> None:
        """Keep a contender's acceptance."""
        self._acceptance[contender_key(contender)] = acceptance
        self._write_cost(f"{ACCEPTANCE} {contender_key(contender)}", acceptance)

    def resolved_auto(self, contender: Contender) -> ResolvedAuto | None:
        """Return what a contender's ``auto`` resolved to."""
        return self._auto.get(contender_key(contender))

    def add_resolved_auto(self, contender: Contender, resolved: ResolvedAuto) -> None:
        """Keep what a contender's ``auto`` resolved to."""
        self._auto[contender_key(contender)] = resolved
        self._write_cost(f"{AUTO} {contender_key(contender)}", resolved)

    def _write_cost(self, name: str, value: Any) -> None:
        self._write({"record": "cost", "name": name, "value": to_plain(value)})

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._path is not None:
            append_line(self._path, record)

    def _load(self, path: Path) -> None:
        heads: list[dict[str, Any]] = []

        def take(record: dict[str, Any]) -> None:
            if heads:
                self._take(record)
            elif record["format"] != FORMAT:
                raise ValueError(record["format"])
            else:
                heads.append(record)

        read_lines(path, take, "a file of a bench", "name another --output")
        if not heads:
            raise SettingsError(f"{str(path)!r} is not a file of a bench (no line is whole); name another --output")
        changed = difference({name: heads[0].get(name) for name in self.conditions}, self.conditions)
        if changed is not None:
            raise SettingsError(
                f"{str(path)!r} was measured under other conditions: {changed}; name another --output, because figures "
                "of different conditions cannot be compared"
            )

    def _take(self, record: Mapping[str, Any]) -> None:
        if record["record"] == "run":
            self._runs[record["key"]] = from_plain(Run, record)
            return
        name, _, key = record["name"].partition(" ")
        if name == FORWARDS:
            self._forwards = from_plain(Forwards, record["value"])
        elif name == ACCEPTANCE:
            self._acceptance[key] = from_plain(Acceptance, record["value"])
        else:
            self._auto[key] = from_plain(ResolvedAuto, record["value"])


def run_key(contender: Contender, prompt: str, seed: int) -> str:
    """Return what makes two runs the same run: method, settings, prompt and seed."""
    settings = plain_settings(contender.settings) | {"seed": seed}
    return json.dumps([contender.method, settings, prompt], sort_keys=True)


def contender_key(contender: Contender) -> str:
    """Return what makes two contenders the same: method and settings, whatever the prompt and seed."""
    return run_key(contender, "", 0)


def difference(old: Any, new: Any, place: str = "") -> str | None:
    """Return the first place where two pieces of plain data differ, with both values; None where they are equal."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in [*new, *(name for name in old if name not in new)]:
            found = difference(old.get(name), new.get(name), f"{place}.{name}" if place else str(name))
            if found is not None:
                return found
        return None
    return None if old == new else f"{place} was {old!r}, is {new!r}"
