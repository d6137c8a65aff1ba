"""The tasks by name, and loading one."""

from collections.abc import Callable
from pathlib import Path

from dsbd.errors import TaskError
from dsbd.tasks.books import Books
from dsbd.tasks.mt_bench import MtBench
from dsbd.tasks.needle import Needle
from dsbd.tasks.own import OwnQuestions
from dsbd.tasks.sql.library import Library
from dsbd.tasks.sql.spider import Spider
from dsbd.tasks.squad import Squad
from dsbd.tasks.stories import Stories
from dsbd.tasks.task import Task

TASKS: dict[str, Callable[[str | Path | None], Task]] = {
    "books": lambda data: Books(),
    "jsonl": OwnQuestions,
    "mt_bench": MtBench,
    "needle": lambda data: Needle(),
    "spider": Spider,
    "sql": lambda data: Library("test", data),
    "sql_validation": lambda data: Library("validation", data),
    "squad": Squad,
    "stories": lambda data: Stories(),
}
"""{name: makes the task of a path or hub id; None for bundled data}."""


def load_task(name: str, data: str | Path | None = None) -> Task:
    """Return a task with its data.

    Args:
        name: one of ``TASKS``.
        data: a file or folder, or the id of a data set on a hub; None for a task whose questions are bundled.

    Raises:
        TaskError: there is no such task; or its data is missing, damaged or not as its format says.
    """
    if name not in TASKS:
        raise TaskError(f"there is no task {name!r}; tasks are {', '.join(sorted(TASKS))}")
    return TASKS[name](data)
