"""The tables of a benchmark, from its runs or from the files of its shards. Needs no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsbd.bench.record_file import Shard, read_records, require_same
from dsbd.bench.records import Run, Table, read_record
from dsbd.bench.statistics import TaskName, make_table
from dsbd.bench.systems import BASELINE
from dsbd.errors import RecordError
from dsbd.results import ShortRepr

CONDITIONS = ("machine", "versions", "models")
"""Those that a table has."""


@dataclass(frozen=True, repr=False)
class Report(ShortRepr):
    """The result of a benchmark."""

    missing: int
    """Decodes that are still to be made; more than 0 where it was stopped."""
    tables: dict[str, Table]
    """By task: quality, speed and acceptance of each system, with intervals."""
    runs: tuple[Run, ...]
    """Every decode with its score; texts are untrusted."""

    @property
    def complete(self) -> bool:
        """Whether every decode was made."""
        return self.missing == 0


def make_report(runs: Sequence[Run], conditions: Mapping[str, Any], total: int) -> Report:
    """Return the tables of a benchmark of ``total`` decodes, from runs in the order of its turns."""
    order, here = list(conditions["systems"]), {name: conditions[name] for name in CONDITIONS}
    runs, tables = sorted(runs, key=lambda run: order.index(run.system)), {}
    for name, metric in conditions["tasks"].items():
        if own := [run for run in runs if run.task == name]:
            tables[name] = make_table(own, TaskName(name, metric), BASELINE, here)
    return Report(total - len(runs), tables, tuple(runs))


def run_of(record: Mapping[str, Any]) -> Run:
    """Return the run of a line. Raises: RecordError: it holds none."""
    return read_record(Run, {name: value for name, value in record.items() if name != "record"})


def read_report(paths: Sequence[str]) -> Report:
    """Return the report of the files that the processes of one benchmark wrote, or of a single one.

    Raises:
        RecordError: a file cannot be read or holds no benchmark, or two hold the same shard.
        SettingsError: two have other conditions than their machine; the message names what.
    """
    parts = dict[Shard, tuple[str, list[Run]]]()
    machines, conditions = list[Any](), dict[str, Any]()
    for path in paths:
        own, records = read_records(path)
        if not {"systems", "tasks", "shard", *CONDITIONS} <= own.keys():
            raise RecordError(f"{path!r} holds no benchmark; name files that bench or eval wrote by --output")
        conditions = conditions or own
        require_same(path, conditions, own | {"shard": conditions["shard"]})
        shard = Shard(**own["shard"])
        for other, (name, _) in parts.items():
            if shard == other or shard.count != other.count:
                raise RecordError(f"{path!r} and {name!r} hold the same decodes; name the files of one run, each once")
        parts[shard] = path, [run_of(record) for record in records]
        machines += [own["machine"]] if own["machine"] not in machines else []
    if len(machines) > 1:
        conditions = conditions | {"machine": {"machines": machines}}
    total = len(conditions["systems"]) * conditions["questions"]["count"] * conditions["seeds"]
    return make_report(_in_turn(parts), conditions, total)


def _in_turn(parts: Mapping[Shard, tuple[str, list[Run]]]) -> list[Run]:
    """Return the runs in the order in which one process makes them: sums of floats depend on it.

    A shard's questions come in its file in their order.
    """
    placed = list[tuple[int, int, Run]]()
    for shard, (_, runs) in parts.items():
        questions = list(dict.fromkeys((run.task, run.question) for run in runs))
        indices = {question: shard.index + shard.count * at for at, question in enumerate(questions)}
        placed += [(run.round, indices[run.task, run.question], run) for run in runs]
    return [run for *_, run in sorted(placed, key=lambda one: one[:2])]
