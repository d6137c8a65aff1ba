"""The task whose questions a pair was trained for, and the result tables of its queries."""

from functools import lru_cache

from dsbd.errors import QueryError, TaskError
from dsbd.tasks.records import Task
from dsbd.tasks.registry import load_task
from dsbd.tasks.sql.execution import Row, run_query
from dsbd.tasks.sql.library import Library

TASK_OF = {"bundled:sql/target": "sql"}


@lru_cache
def task_of(target: str) -> Task | None:
    """Return the bundled task of a target model; None where there is none, or its files are missing."""
    name = TASK_OF.get(target)
    try:
        return None if name is None else load_task(name)
    except TaskError:
        return None


def rows_of(task: Task | None, query: str) -> list[Row] | str | None:
    """Return the rows of a query on the task's first database, or why it has none; None where queries are not run."""
    if not isinstance(task, Library) or not query:
        return None
    try:
        return run_query(task.databases[0], query)
    except QueryError as error:
        return str(error)
