"""An exam: tasks and contenders, from what a user names, and again from what a file says was asked. Needs no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import OPPONENTS, Contender, require_count, require_names
from dsbd.measure.bench.contest import Contest, ContestPrompt, digest_of, plain_contenders
from dsbd.results import brief
from dsbd.settings import DecodingSettings
from dsbd.tasks.registry import TASKS, load_task
from dsbd.tasks.task import Question, Task

MAX_SEEDS = 1000


@dataclass(frozen=True)
class TaskRun:
    """One task of an exam, with the questions that are asked."""

    __repr__ = brief

    name: str
    """What a user calls it: each split of a task has another name."""
    task: Task
    data: str | None
    """Where the data came from; None where it is bundled."""
    questions: tuple[Question, ...]
    max_new_tokens: int

    def asked(self) -> dict[str, Any]:
        """Return what was asked, as plain data."""
        return {
            "version": self.task.version,
            "data": self.data,
            "questions": len(self.questions),
            "digest": digest_of((question.id, question.prompt) for question in self.questions),
            "max_new_tokens": self.max_new_tokens,
        }


@dataclass(frozen=True)
class Exam(Contest):
    """A contest on the questions of tasks; ``rounds`` is how often every question is answered."""

    __repr__ = brief

    runs: tuple[TaskRun, ...] = ()
    limit: int | None = None

    def asked(self) -> dict[str, Any]:
        """Return as plain data what two exams must have in common to share a file."""
        return {
            "tasks": {run.name: run.asked() for run in self.runs},
            "contenders": plain_contenders(self.contenders),
            "seeds": self.rounds,
            "limit": self.limit,
            "chat": self.chat,
        }


def _exam(runs: Sequence[TaskRun], contenders: Sequence[Contender], seeds: int, limit: int | None, chat: bool) -> Exam:
    prompts = [
        ContestPrompt(one.prompt, one.id, run.name, one.cluster, run.task.until, run.max_new_tokens)
        for run in runs
        for one in run.questions
    ]
    return Exam(tuple(contenders), tuple(prompts), seeds, chat, tuple(runs), limit)


def make_exam(
    tasks: Sequence[str | Task],
    contenders: Sequence[Contender],
    *,
    data: Mapping[str, str] | None = None,
    limit: int | None = None,
    seeds: int = 1,
    max_new_tokens: int | None = None,
    chat: bool = False,
) -> Exam:
    """Return the exam; the arguments are those of :func:`dsbd.evaluate`.

    Raises:
        SettingsError: an unknown or repeated name, a number out of range, or data for a task that is not asked for.
        TaskError: a task's data is missing or damaged.
    """
    names = [task if isinstance(task, str) else task.name for task in tasks]
    own = [task.name for task in tasks if isinstance(task, Task)]
    require_names("tasks", names, (*sorted(TASKS), *own))
    for name in data or {}:
        if name not in names:
            raise SettingsError(f"data is given for {name!r}, which is not asked for; tasks are {', '.join(names)}")
    if limit is not None:
        require_count("limit", limit)
    require_count("seeds", seeds, MAX_SEEDS)
    runs = []
    for name, task in zip(names, tasks, strict=True):
        place = (data or {}).get(name)
        asked = load_task(task, place) if isinstance(task, str) else task
        runs.append(_run(name, asked, place, limit, max_new_tokens))
    return _exam(runs, contenders, seeds, limit, chat)


def exam_of(answers: AnswersFile, tasks: Sequence[Task] = ()) -> Exam:
    """Return the exam that a file's first line asks for; your own tasks are given, the others are loaded again.

    Raises:
        SettingsError: the file is of a bench, or the questions are not those that were asked.
        TaskError: a task's data is missing or damaged.
    """
    asked, own = answers.head.get("asked", {}), {task.name: task for task in tasks}
    if "tasks" not in asked:
        raise SettingsError("the file holds no answers to the questions of a task; name one of python -m dsbd eval")
    runs = []
    for name, facts in asked["tasks"].items():
        task = own.get(name) or load_task(name, facts["data"])
        run = _run(name, task, facts["data"], asked["limit"], facts["max_new_tokens"])
        if run.asked()["digest"] != facts["digest"]:
            raise SettingsError(
                f"the questions of task {name} are not those that were asked: its data has changed; bring back the "
                "data, or decode again into another file"
            )
        runs.append(run)
    contenders = [_contender(name, facts) for name, facts in asked["contenders"].items()]
    return _exam(runs, contenders, asked["seeds"], asked["limit"], asked["chat"])


def _contender(name: str, facts: Mapping[str, Any]) -> Contender:
    method = facts["method"]
    return Contender(name, method, DecodingSettings(**{**facts, "method": OPPONENTS.get(method, method)}))


def _run(name: str, task: Task, data: str | None, limit: int | None, max_new_tokens: int | None) -> TaskRun:
    length = task.max_new_tokens if max_new_tokens is None else max_new_tokens
    return TaskRun(name, task, data, tuple(task.questions(limit)), length)
