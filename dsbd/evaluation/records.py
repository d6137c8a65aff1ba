"""What an evaluation is asked for, and what it keeps of every decode. Needs no torch.

A line of ``predictions.jsonl`` holds a :class:`Prediction`. None means "not measured", or that a method has no such
figure.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dsbd.measure.bench.contenders import Contender
from dsbd.measure.bench.records import Run
from dsbd.results import brief
from dsbd.tasks.records import Question, Task

PREFIX = "dsbd_"
"""Stands before a task's name in files for other tools, so that nobody takes it for the task of another harness."""


@dataclass(frozen=True, kw_only=True)
class Drafting:
    """What became of the drafts of a decode."""

    steps: tuple[int, ...]
    """How many iterations with a forest had 0, 1, 2, ... accepted layers: the histogram of vLLM and SGLang.

    A layer counts as accepted if it is final and was not the last of its iteration; the last one is drawn from the
    target. Its drafts may all be accepted only where it ends the text; then it counts too.
    """
    drafted_layers: int
    """Layers of all forests."""
    accepted: int
    """Drafts accepted, of those that were tried."""
    rejected: int

    @property
    def drafts(self) -> int:
        """Iterations with a forest."""
        return sum(self.steps)

    @property
    def accepted_layers(self) -> int:
        """Accepted layers of all iterations."""
        return sum(size * count for size, count in enumerate(self.steps))


@dataclass(frozen=True, kw_only=True)
class Prediction(Run):
    """One decode of one question; the fields of a run of the bench, and which question it was."""

    __repr__ = brief

    task: str
    question: str
    """The question's id."""
    cluster: str
    turn: int
    """0 for the first seed of a question, 1 for the second, ..."""
    shortened: bool
    """Whether the prompt was shortened to fit the models."""
    ended: str
    """``eos``, ``until`` (a text that ends an answer was there, and everything before it settled) or ``limit``."""
    first_token_seconds: float | None
    """From the call to the first token that every beam has, the reading of the prompt included."""
    processes: int
    """Processes that shared this machine: with more than one, a time says little about the method."""
    drafting: Drafting | None = None
    widths: dict[int, int] | None = None
    """How many layers yielded how many beams, duplicates counted."""

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What makes two predictions the same one."""
        return (self.contender, self.task, self.question, self.turn)


@dataclass(frozen=True)
class TaskRun:
    """One task of an evaluation, with the questions that are asked."""

    __repr__ = brief

    name: str
    """What a user calls it: a split of a task has a name of its own."""
    task: Task
    data: str | None
    """Where the data came from; None where it is bundled."""
    questions: tuple[Question, ...]
    """Those that are asked."""
    available: int
    """How many the task has."""
    max_new_tokens: int

    @property
    def digest(self) -> str:
        """Sixteen hex digits of the ids and prompts, so that changed data is noticed."""
        whole = hashlib.sha256()
        for question in self.questions:
            whole.update(f"{len(question.id)} {len(question.prompt)} {question.id}{question.prompt}".encode())
        return whole.hexdigest()[:16]


@dataclass(frozen=True)
class Job:
    """One decode to do: a contender on a question, with one seed."""

    __repr__ = brief

    run: TaskRun
    question: Question
    turn: int
    contender: Contender

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The key of its prediction."""
        return (self.contender.name, self.run.name, self.question.id, self.turn)


@dataclass(frozen=True)
class Exam:
    """Which contenders answer which questions, and how often."""

    __repr__ = brief

    runs: tuple[TaskRun, ...]
    contenders: tuple[Contender, ...]
    seeds: int
    """How often every question is answered."""
    limit: int | None = None
    chat: bool = False

    @property
    def total(self) -> int:
        """Number of decodes."""
        return self.seeds * len(self.contenders) * sum(len(run.questions) for run in self.runs)

    def jobs(self) -> Iterator[Job]:
        """Yield every decode: all questions with the first seed, then with the second; contenders take turns.

        The order of the contenders in a question is random, but always the same.
        """
        for turn in range(self.seeds):
            for run in self.runs:
                for question in run.questions:
                    for contender in sorted(self.contenders, key=lambda one: _digest(question.id, turn, one.name)):
                        yield Job(run, question, turn, self.at_limit(contender, run))

    def at_limit(self, contender: Contender, run: TaskRun) -> Contender:
        """Return a contender with the new tokens that a task allows."""
        return replace(contender, settings=replace(contender.settings, max_new_tokens=run.max_new_tokens))

    def asked(self) -> dict[str, Any]:
        """Return as plain data what two evaluations must have in common to be one."""
        return {
            "tasks": {
                run.name: {
                    "version": run.task.version,
                    "data": run.data,
                    "questions": len(run.questions),
                    "digest": run.digest,
                    "max_new_tokens": run.max_new_tokens,
                }
                for run in self.runs
            },
            "contenders": {
                one.name: {"method": one.method, **{name: getattr(one.settings, name) for name in one.reads}}
                for one in self.contenders
            },
            "seeds": self.seeds,
            "limit": self.limit,
            "chat": self.chat,
        }


def seed_of(job: Job) -> int:
    """Return the seed of a decode: it depends on the question, the number of the seed, and the setting ``seed`` only.

    So it is the same on any number of processes, for every contender, and whatever was decoded before.
    """
    base = job.contender.settings.seed
    return int(_digest(base, job.run.name, job.question.id, job.turn)[:15], 16)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
