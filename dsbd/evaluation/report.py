"""What an evaluation found: written as files that other tools read, and shown as one table."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.evaluation.exams import exam_of
from dsbd.evaluation.harness import model_name, results_of, samples_of, sanitised
from dsbd.evaluation.records import PREFIX, Exam
from dsbd.evaluation.scoring import Scored, score_all, table_of
from dsbd.evaluation.store import Store, read_store
from dsbd.evaluation.tables import EvaluationTable
from dsbd.measure.bench.json_lines import cannot_write, write_text
from dsbd.progress import Progress
from dsbd.results import brief
from dsbd.tasks.records import Task


@dataclass(frozen=True)
class Report:
    """What an evaluation found so far."""

    __repr__ = brief

    complete: bool
    """False where decodes are missing."""
    tables: dict[str, EvaluationTable]
    """By task: quality, speed, energy and acceptance of each contender, with intervals."""
    files: tuple[Path, ...]
    """The results that were written, and the samples."""

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data, ready for JSON."""
        return {
            "complete": self.complete,
            "tables": {name: table.to_dict() for name, table in self.tables.items()},
            "files": [str(path) for path in self.files],
        }


def score_folder(folder: str | Path, log_samples: bool = False, tasks: Sequence[Task] = ()) -> Report:
    """Score the predictions of a folder and write the results, without decoding; the files get the same names again.

    Args:
        folder: of an evaluation.
        log_samples: also write a file of samples for each task and contender.
        tasks: tasks of your own that were asked.

    Raises:
        SettingsError: the folder has no evaluation, no prediction, or other questions than were asked.
        TaskError: a task's data is missing or damaged.
    """
    store = read_store(folder)
    assert store.head is not None, "a store that was read has a head"
    return write_report(store, exam_of(store.head, tasks), log_samples)


def write_report(store: Store, exam: Exam, log_samples: bool) -> Report:
    """Score everything in a store and write results and samples. Raises: SettingsError: nothing was predicted."""
    head, predictions = store.head, store.predictions
    if head is None or not predictions:
        raise SettingsError(f"{str(store.folder)!r} has no prediction yet; run the evaluation again, it goes on there")
    with Progress("scoring", "answer") as progress:
        progress.show(total=len(predictions))
        scored = score_all(exam, progress.each(predictions))
    answered = {one.task for one in predictions}
    tables = {run.name: table_of(run, exam, scored, head["conditions"]) for run in exam.runs if run.name in answered}
    files: list[Path] = []
    for contender in exam.contenders:
        own = [one for one in scored if one.prediction.contender == contender.name]
        if own:
            place = _folder(store.folder / sanitised(model_name(contender, head)))
            path = place / f"results_{head['date_id']}.json"
            write_text(path, json.dumps(results_of(contender, exam, head, own, tables), indent=2) + "\n")
            files += [path, *(_write_samples(place, head["date_id"], exam, contender.name, own) if log_samples else [])]
    return Report(len(predictions) >= exam.total, tables, tuple(files))


def _write_samples(place: Path, date: str, exam: Exam, contender: str, own: Sequence[Scored]) -> list[Path]:
    found = []
    for run in exam.runs:
        mine = [one for one in own if one.prediction.task == run.name]
        if mine:
            who = exam.at_limit(next(one for one in exam.contenders if one.name == contender), run)
            path = place / f"samples_{PREFIX}{run.name}_{date}.jsonl"
            lines = [json.dumps(sample, ensure_ascii=False) + "\n" for sample in samples_of(run, who, mine)]
            write_text(path, "".join(lines))
            found.append(path)
    return found


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from None
    return path
