"""A user's own prompts and right answers, from a JSON-lines or CSV file.

A line is ``{"prompt": text, "references": text or list of texts, "id": text}``; ``reference`` and ``answer`` are other
names for ``references``, and ``id`` may be left out. Either every line has right answers or none has.
"""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dsbd.errors import TaskError
from dsbd.tasks.files import csv_rows, json_lines
from dsbd.tasks.task import Question, Score, Task

ANSWERS = ("references", "reference", "answer")
ALLOWED = "prompt, one of references, reference and answer, and id"


class OwnQuestions(Task):
    """Questions of a file, in its order. Where there are right answers, an answer is one line."""

    name = "jsonl"
    version = 1
    until: tuple[str, ...] = ("\n",)
    max_new_tokens = 128
    metrics = MappingProxyType({"exact_match": True})
    main_metric: str | None = "exact_match"

    def __init__(self, data: str | Path | Sequence[Question] | None) -> None:
        """Read the questions.

        Args:
            data: path of a .jsonl or .csv file, which may be packed by gzip (.gz); or questions of such a file.

        Raises:
            TaskError: the file is missing, or a line is wrong; the message names it.
        """
        if data is None:
            raise TaskError(f"task {self.name} asks your own questions; give the path of a .jsonl or .csv file")
        questions = _read(Path(data)) if isinstance(data, (str, Path)) else data
        if not any(question.references for question in questions):
            self.until, self.metrics, self.main_metric = (), MappingProxyType({}), None
        super().__init__(questions)

    def score(self, question: Question, answer: str) -> Score:
        """Score 1 for a right answer, whatever its case and its spaces."""
        if not question.references:
            return Score({})
        return Score({"exact_match": float(_plain(answer) in map(_plain, question.references))})


def read_questions(data: str | Path) -> list[Question]:
    """Return the questions of a file. Raises: TaskError: as :class:`OwnQuestions`."""
    return OwnQuestions(data).questions()


def _read(path: Path) -> list[Question]:
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if kind not in (".jsonl", ".csv"):
        raise TaskError(f"the data of task jsonl is {path.name!r}; give a .jsonl or .csv file, or one in .gz")
    lines = list((json_lines if kind == ".jsonl" else csv_rows)(path))
    return questions_of(path, lines)


def questions_of(source: str | Path, lines: Sequence[tuple[int, Any]]) -> list[Question]:
    """Return the questions of numbered lines that were read from ``source``.

    Raises:
        TaskError: a line is not as it should be; the message names it.
    """
    questions = [_question(source, line, entry) for line, entry in lines]
    answered = [bool(question.references) for question in questions]
    if any(answered) and not all(answered):
        line = lines[answered.index(False)][0]
        raise TaskError(
            f"{source}, line {line}: no right answer, and other lines have one; give all lines one, or none"
        )
    return questions


def _question(path: str | Path, line: int, entry: Any) -> Question:
    """Return the question of a line."""

    def wrong(what: str) -> TaskError:
        return TaskError(f"{path}, line {line}: {what}; a line has {ALLOWED}")

    if not isinstance(entry, dict):
        raise wrong("no object")
    if unknown := sorted(set(entry) - {"prompt", "id", *ANSWERS}):
        raise wrong(f"unknown field {unknown[0]!r:.100}")
    prompt, given = entry.get("prompt"), [name for name in ANSWERS if name in entry]
    if not isinstance(prompt, str) or not prompt:
        raise wrong("prompt must be a text that is not empty")
    if len(given) > 1:
        raise wrong(f"{given[0]} and {given[1]} are both given")
    id = entry.get("id", f"{line}")
    if not isinstance(id, (str, int)) or isinstance(id, bool):
        raise wrong("id must be a text or a whole number")
    found = entry[given[0]] if given else []
    references = found if isinstance(found, list) else [found]
    for reference in references:
        if not isinstance(reference, str) or "\n" in reference.strip() or not reference.strip():
            raise wrong(f"{given[0]} must be a text of one line that is not empty, or a list of such texts")
    try:
        "".join((f"{id}", prompt, *references)).encode()
    except UnicodeEncodeError:
        raise wrong("half of a surrogate pair, which is no character") from None
    return Question(f"{id}", prompt, tuple(references))


def _plain(text: str) -> str:
    """Return a text in one case, with single spaces."""
    return " ".join(text.casefold().split())
