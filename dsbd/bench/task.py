"""What a task is: questions, where an answer ends, how it is scored; and reading files of questions. No torch."""

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsbd.errors import TaskError
from dsbd.util import cut, object_of, read_file

ORDER_SEED = 1
"""Questions are asked in the order of a hash of this number and their id."""
MAX_BYTES = 200_000_000
"""The most bytes of a file."""
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Question:
    """One prompt with its right answers."""

    id: str
    """Of the bundled tasks it begins with what results can be split by: ``compound-070``, or a distance of needles."""
    prompt: str
    references: tuple[str, ...] = ()
    """Right answers, any of which counts; none where a task has no right answers."""
    cluster: str = ""
    """Questions of one cluster share a database or a passage, so they are not independent. Left out: the id."""

    def __post_init__(self) -> None:
        if not self.cluster:
            object.__setattr__(self, "cluster", self.id)


class Task:
    """One task. A subclass sets the class attributes, and says what is asked and how an answer is scored."""

    name: str
    until: tuple[str, ...] = ()
    """Texts that end an answer, and are no part of it; the end-of-text token does too."""
    max_new_tokens: int | None = None
    """None: as the settings say."""
    main_metric: str = ""
    """What a score between 0 and 1 is, more is better; empty where a task has no right answers."""

    def __init__(self, questions: Iterable[Question]) -> None:
        """Take the questions, in the order in which they are asked.

        Raises:
            TaskError: there are none, or two have the same id.
        """
        self._questions = tuple(questions)
        often = [id for id, count in Counter(question.id for question in self._questions).items() if count > 1]
        if often or not self._questions:
            wrong = f"several questions with the id {often[0]!r}; give each another" if often else "no questions"
            raise TaskError(f"the data of task {self.name} has {wrong}")

    def questions(self, limit: int | None = None) -> list[Question]:
        """Return the first ``limit`` questions, or all of them, in an order that is the same everywhere and always.

        Raises:
            TaskError: the limit is less than 1.
        """
        if limit is not None and limit < 1:
            raise TaskError(f"limit is {limit}; give at least 1, or None for all questions")
        return list(self._questions[:limit])

    def answer(self, text: str) -> str:
        """Return the answer in a continuation: everything before ``until``, without outer spaces."""
        return cut(text, self.until).strip()

    def score(self, question: Question, answer: str) -> tuple[float | None, str]:
        """Return the score, None without a metric, and why the answer is wrong where that is known; untrusted text."""
        return None, ""


def in_order(questions: Iterable[Question]) -> list[Question]:
    """Return questions in the order of a hash of their ids: as good as random, and always the same.

    The first n are a random sample of all: they come from everywhere in the data, not from its first passage.
    """
    return sorted(questions, key=lambda one: hashlib.sha256(f"{ORDER_SEED}:{one.id}".encode()).digest())


def read_text(path: Path) -> str:
    """Return the text of a file. Raises: TaskError."""
    try:
        return read_file(path, MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise TaskError(f"there is no file {path}; check the path") from None
    except OSError as error:
        raise TaskError(f"{path} cannot be read: {error.strerror or error}; give a smaller file, or another") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not UTF-8 at byte {error.start}; save it as UTF-8") from error


def read_json(path: Path) -> Any:
    """Return what a JSON file holds. Raises: TaskError."""
    try:
        return json.loads(read_text(path), object_pairs_hook=object_of)
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{path} is not JSON: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty; the first line is 1. Raises: TaskError."""
    for number, line in enumerate(io.StringIO(read_text(path)), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line, object_pairs_hook=object_of)
        except (ValueError, RecursionError) as error:
            raise TaskError(f"{path}, line {number}: no JSON ({error}); each line holds one object") from error
        if not isinstance(entry, dict):
            raise TaskError(f"{path}, line {number}: a {type(entry).__name__}; each line holds one object")
        yield number, entry


def text_in(where: str, entry: Any, name: str, *, id: Any = None) -> str:
    """Return a field of an entry: a text that is not blank. An ``id``, where there is none, may be a number too.

    Raises: TaskError: it is no such text; the message begins with ``where`` the entry stands.
    """
    value, also = _field(where, entry, name, id), "" if id is None else ", or a whole number"
    if also and isinstance(value, int) and not isinstance(value, bool):
        return f"{value}"
    if not isinstance(value, str) or not value.strip():
        raise TaskError(f"{where}: {name} is {value!r:.100}; write a text that is not blank{also}")
    if _HALF.search(value):
        raise TaskError(f"{where}: {name} is {value!a:.100}, with half of a surrogate pair; write whole characters")
    return value


def list_in(where: str, entry: Any, name: str) -> list[Any]:
    """Return a field of an entry that is a list. Raises: TaskError."""
    value = _field(where, entry, name)
    if not isinstance(value, list):
        raise TaskError(f"{where}: {name} is {value!r:.100}; write a list")
    return value


def _field(where: str, entry: Any, name: str, default: Any = None) -> Any:
    if not isinstance(entry, dict):
        raise TaskError(f"{where}: {entry!r:.100}; write an object with {name}")
    return entry.get(name, default)


def path_of(task: str, data: str | Path | None, remedy: str) -> Path:
    """Return a path that exists; ``remedy`` says what to give. Raises: TaskError."""
    if data is None:
        raise TaskError(f"task {task} has no bundled data; give {remedy}")
    if not Path(data).exists():
        raise TaskError(f"there is nothing at {str(data)[:200]!r}, the data of task {task}; give {remedy}")
    return Path(data)
