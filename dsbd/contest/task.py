"""What a task is: questions with their right answers, where an answer ends, and how it is scored. No torch."""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dsbd.errors import PromptError, TaskError
from dsbd.util import cut

ORDER_SEED = 1
"""Questions are asked in the order of a hash of this number and their id."""


@dataclass(frozen=True)
class Question:
    """One prompt with its right answers."""

    id: str
    prompt: str
    references: tuple[str, ...] = ()
    """Right answers, any of which counts; none where a task has no right answers."""
    cluster: str = ""
    """Questions of one cluster share a database or a passage, so they are not independent. Left out: the id."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What results are split by: split, hardness, db_id, skeleton, ..."""
    passage: tuple[int, int] = (0, 0)
    """Start and end, in characters of the prompt, of the part that may be shortened. Empty: nothing may."""

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
    metrics: tuple[str, ...] = ()
    """The main one first, each between 0 and 1, more is better; empty where a task has no right answers."""
    cut_at: str = " "
    """A passage is shortened to a whole number of parts that end here: words, or lines."""
    keeps_end: bool = False
    """True: a passage loses its beginning, as a user would cut a long text. False: it loses its end."""

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

    def score(self, question: Question, answer: str) -> tuple[dict[str, float], str]:
        """Return a value for each metric, and why the answer is wrong where that is known; untrusted text."""
        return {}, ""

    def fit(self, question: Question, count_tokens: Callable[[str], int], limit: int) -> str:
        """Return the prompt with as much of its passage as fits; the question itself is never cut.

        Args:
            question: one question of this task.
            count_tokens: the number of tokens of a text.
            limit: the most tokens that the prompt may have.

        Raises:
            PromptError: the prompt is too long even without its passage.
        """
        prompt = question.prompt
        if count_tokens(prompt) <= limit:
            return prompt
        start, end = question.passage
        before, passage, after = prompt[:start], prompt[start:end], prompt[end:]
        cuts = list(re.finditer(re.escape(self.cut_at), passage))
        kept = [slice(0), *(slice(found.start()) for found in cuts)]
        if self.keeps_end:
            kept = [slice(len(passage), None), *(slice(found.end(), None) for found in reversed(cuts))]
        fitting = bisect_right(kept, limit, key=lambda part: count_tokens(before + passage[part] + after))
        if not fitting:
            short = count_tokens(before + after)
            raise PromptError(
                f"question {question.id!r} of task {self.name} has {short} tokens without its passage, and {limit} "
                "fit; use models with a longer context, or fewer new tokens"
            )
        return before + passage[kept[fitting - 1]] + after


def in_order(questions: Iterable[Question]) -> list[Question]:
    """Return questions in the order of a hash of their ids: as good as random, and always the same.

    The first n are a random sample of all: they come from everywhere in the data, not from its first passage.
    """
    return sorted(questions, key=lambda one: hashlib.sha256(f"{ORDER_SEED}:{one.id}".encode()).digest())
