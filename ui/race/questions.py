"""What a race asks: a prompt, the questions of a bundled task, or those of a visitor's file."""

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from dsbd.contest.sandbox import Row, run_query
from dsbd.contest.sql import Library
from dsbd.contest.task import Question, Task
from dsbd.contest.tasks import OwnQuestions, load_task
from dsbd.errors import DsbdError, QueryError, SettingsError, TaskError

from ..asked.form import check_prompt
from ..host.limits import Limits
from ..runs.sentences import alert, sentence
from ..traffic.uploads import read_own_questions

SQL_TARGET = "bundled:sql/target"
MOST_QUESTIONS = 50
"""Of one race; of a visitor's file only so many are kept."""
FORMAT = (
    '<p class="said">One question a line: <code>{"prompt": "Q: …\\nA:", "references": ["…"]}</code>, or a CSV file '
    "with the columns prompt and references. Without references the perplexity of what is written is measured.</p>"
)


class Asked(NamedTuple):
    """The prompts of a race, and what scores the answers."""

    prompts: Sequence[str | Question]
    task: Task | None = None
    """None where no answer is right or wrong."""


@lru_cache
def task_of(target: str) -> Task:
    """Return the bundled task for a target model: questions to SQL for the models that write it, else stories."""
    return load_task("sql" if target == SQL_TARGET else "stories")


def asked_of(
    source: Any, prompt: Any, own: Sequence[Question] | None, count: Any, target: str, limits: Limits
) -> Asked:
    """Return what a visitor asks. Raises: PromptError, SettingsError, TaskError.

    ``source`` is ``prompt``, ``task`` or ``own``.
    """
    if source == "task":
        return first_questions(task_of(target), count)
    if source == "own":
        if not own:
            raise TaskError("there is no file of questions yet; upload a .jsonl or .csv file, or ask something else")
        return first_questions(OwnQuestions(own), count)
    return Asked([check_prompt(prompt, limits)])


def first_questions(task: Task, count: Any) -> Asked:
    """Return the first questions of a task. Raises: SettingsError."""
    questions = task.questions(whole("questions", count))
    return Asked(questions, task if task.metrics else None)


def whole(name: str, value: Any) -> int:
    """Return a whole number from 1. Raises: SettingsError."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingsError(f"{name} is {value!r}; allowed are whole numbers from 1")
    return value


def bring_questions(path: str | None, limits: Limits) -> tuple[list[Question] | None, str, str]:
    """Read a visitor's file: its first questions or None, what to say of them, and what is wrong; both as markup."""
    if path is None:
        return None, FORMAT, ""
    try:
        questions = check_questions(read_own_questions(Path(path), limits), limits)
    except DsbdError as error:
        return None, FORMAT, alert(sentence(error))
    count = "1 question" if len(questions) == 1 else f"{len(questions):,} questions"
    kind = "with right answers" if questions[0].references else "without right answers: perplexity is measured"
    first = escape(" ".join(questions[0].prompt.split())[:120])
    return questions[:MOST_QUESTIONS], f'<p role="status">{count}, {kind}. The first: “{first}”</p>', ""


def check_questions(questions: list[Question], limits: Limits) -> list[Question]:
    """Return a visitor's questions. Raises: TaskError: there are more, or longer ones, than this page takes."""
    if len(questions) > limits.max_questions:
        raise TaskError(f"there are {len(questions):,} questions; this page takes {limits.max_questions:,}; give fewer")
    most = limits.max_prompt_characters
    for question in questions:
        if max(len(question.prompt), sum(map(len, question.references))) > most:
            raise TaskError(f"question {question.id[:40]!r} has more than {most:,} characters; shorten it")
    return questions


def rows_of(task: Task | None, query: str) -> list[Row] | str | None:
    """Return the rows of a query on the task's first database, or why it has none; None where no query is run."""
    if not isinstance(task, Library) or not query:
        return None
    try:
        return run_query(task.databases[0], query)
    except QueryError as error:
        return str(error)
