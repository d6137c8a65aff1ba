"""What a contest found: a table for each task or set of prompts, and every answer scored."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.evaluation.exam import exam_of
from dsbd.evaluation.make_tables import score_all, tables_of
from dsbd.evaluation.tables import ContestTable
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.plain import to_plain
from dsbd.measure.bench.records import Control
from dsbd.progress import ProgressLine
from dsbd.results import brief
from dsbd.tasks.task import Task


@dataclass(frozen=True)
class Report:
    """What a bench or an evaluation found so far."""

    __repr__ = brief

    complete: bool
    """False where decodes are missing."""
    tables: dict[str, ContestTable]
    """By task, or ``prompts`` of a bench: quality, speed, energy and acceptance of each contender, with intervals."""
    answers: tuple[dict[str, Any], ...] = ()
    """Every answer to a task's question with its score, as plain data; texts are untrusted."""
    control: Control | None = None
    """Of a bench that came to its end."""

    def to_dict(self) -> dict[str, Any]:
        """The tables as plain data, ready for JSON."""
        control = {} if self.control is None else {"control": to_plain(self.control)}
        tables = {name: table.to_dict() for name, table in self.tables.items()}
        return {"complete": self.complete, "tables": tables, **control}


def score_file(path: str | Path, tasks: Sequence[Task] = ()) -> Report:
    """Score the answers of a file, without decoding.

    Args:
        path: of the file.
        tasks: your own tasks that were asked.

    Raises:
        SettingsError: it is no file of answers, has none yet, or other questions than were asked.
        TaskError: a task's data is missing or damaged.
    """
    if not Path(path).is_file():
        raise SettingsError(f"there is no file {str(path)!r}; name the --output of an evaluation")
    return make_report(AnswersFile(path), tasks)


def make_report(answers: AnswersFile, tasks: Sequence[Task] = ()) -> Report:
    """Score all answers; see :func:`score_file`."""
    if not answers.runs:
        raise SettingsError("there is no answer yet; run the evaluation again with --resume, it goes on")
    exam = exam_of(answers, tasks)
    exam = replace(exam, contenders=answers.with_auto(exam.contenders))
    with ProgressLine("scoring", "answer") as progress:
        progress.show(total=len(answers.runs))
        scored = score_all(exam, progress.each(answers.runs))
    questions = {(run.name, one.id): one for run in exam.runs for one in run.questions}
    plain = tuple(
        {
            "task": one.run.task,
            "question": one.run.question,
            "contender": one.run.contender,
            "seed": one.run.seed,
            "fields": dict(questions[one.run.task, one.run.question].fields),
            "references": list(questions[one.run.task, one.run.question].references),
            "answer": one.answer,
            "score": one.score,
            "reason": one.reason,
            "perplexity": one.run.perplexity,
        }
        for own in scored.values()
        for one in own
    )
    complete = len(answers.runs) >= exam.total
    return Report(complete, tables_of(exam, scored, answers.head["conditions"]), plain)
