"""What a task is: questions, where an answer ends, and how it is scored. No torch.

:class:`Task` is all that a benchmark needs. :class:`QuestionList` has most of it, for a task that has all its questions
at hand; those of ``tasks.py`` are made from it.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from dsbd.errors import TaskError
from dsbd.util import cut

ORDER_SEED = 1
"""Questions are asked in the order of a hash of this number and their id."""


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


class Task(Protocol):
    """Something to be answered and scored. Any object with these members is a task; nothing needs to be inherited.

    A benchmark reads ``questions`` once, decodes each prompt with every system until one of the texts of ``until``
    comes up, takes the ``answer`` out of the text, and has it scored. So a task never sees a model, and the same answer
    must always get the same score.

    Example:
        >>> class Sums:
        ...     name, until, max_new_tokens, main_metric = "sums", ("\\n",), 8, "exact_match"
        ...
        ...     def questions(self, limit=None):
        ...         return [Question(f"{n}", f"{n} + {n} =", (f"{2 * n}",)) for n in range(1, 100)][:limit]
        ...
        ...     def answer(self, text):
        ...         return cut(text, self.until).strip()
        ...
        ...     def score(self, question, answer):
        ...         is_right = answer in question.references
        ...         return float(is_right), "" if is_right else "another number"
        >>> task = Sums()
        >>> task.score(task.questions(1)[0], task.answer(" 3\\n2 + 2 = 4"))
        (0.0, 'another number')

    ``report_benchmark(pair, make_benchmark(pair, systems(["dsbd:exact", "beam_sampling"], {}), [Sums()]))`` of
    ``dsbd.bench.benchmark`` and ``dsbd.bench.systems`` runs it. An entry in ``TASKS`` of ``dsbd/bench/tasks.py`` gives
    it a name for ``python -m dsbd eval --tasks``.
    """

    name: str
    """In tables and records; seeds depend on it."""
    until: tuple[str, ...]
    """Texts that end an answer; the end-of-text token does too. Decoding stops at the first."""
    max_new_tokens: int | None
    """The most tokens of an answer; None: as the settings of each system say."""
    main_metric: str
    """The name of the score; empty where a task has no right answers: then perplexity stands for quality."""

    def questions(self, limit: int | None = None) -> list[Question]:
        """Return the first ``limit`` questions, or all of them, in an order that is the same everywhere and always.

        No two have the same id. A prompt that the models have no room for loses its beginning, so what matters most
        belongs at its end.
        """

    def answer(self, text: str) -> str:
        """Return the part of a decoded text that is scored."""

    def score(self, question: Question, answer: str) -> tuple[float | None, str]:
        """Return the score and, where that is known, why the answer is wrong.

        A score lies between 0 and 1, and more is better; None where the task has no right answers. Answers are
        untrusted: whatever a model wrote must get a score, not an exception.
        """


class QuestionList(Task):
    """A task that has all its questions at hand. Subclasses set the attributes, and say how an answer is scored."""

    name: str
    until: tuple[str, ...] = ()
    max_new_tokens: int | None = None
    main_metric: str = ""

    def __init__(self, questions: Iterable[Question]) -> None:
        """Take the questions, in the order in which they are asked.

        Raises:
            TaskError: there are none, or two have the same id.
        """
        self._questions = tuple(questions)
        repeated = [id for id, count in Counter(one.id for one in self._questions).items() if count > 1]
        if repeated or not self._questions:
            ids = f"several questions with the id {repeated[0]!r}; give each another" if repeated else "no questions"
            raise TaskError(f"the data of task {self.name} has {ids}")

    def questions(self, limit: int | None = None) -> list[Question]:
        """Return the first ``limit`` questions, or all. Raises: TaskError: the limit is less than 1."""
        if limit is not None and limit < 1:
            raise TaskError(f"limit is {limit}; give at least 1, or None for all questions")
        return list(self._questions[:limit])

    def answer(self, text: str) -> str:
        """Return everything before ``until``, without outer spaces."""
        return cut(text, self.until).strip()

    def score(self, question: Question, answer: str) -> tuple[float | None, str]:
        """Return no score: a subclass with a metric has another."""
        return None, ""


def in_order(questions: Iterable[Question]) -> list[Question]:
    """Return questions in the order of a hash of their ids: as good as random, and always the same.

    The first n are a random sample of all: they come from everywhere in the data, not from its first passage.
    """
    return sorted(questions, key=lambda one: hashlib.sha256(f"{ORDER_SEED}:{one.id}".encode()).digest())
