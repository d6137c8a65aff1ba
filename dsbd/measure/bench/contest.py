"""A contest: which contenders answer which prompts, how often and in which order. Needs no torch."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from dsbd.measure.bench.contenders import Contender


@dataclass(frozen=True)
class ContestPrompt:
    """A text to continue: a plain prompt, or the question of a task."""

    text: str
    id: str
    task: str = ""
    """Empty for a plain prompt."""
    cluster: str = ""
    """Prompts of one cluster are not independent."""
    until: tuple[str, ...] = ()
    """Texts that end an answer."""
    max_new_tokens: int | None = None
    """Of every contender; None: each has that of its settings."""
    shortened: bool = False
    """Whether the text was shortened to fit the models."""


@dataclass(frozen=True)
class Turn:
    """One decode: a contender continues a prompt, with one seed."""

    prompt: ContestPrompt
    contender: Contender
    """With the new tokens that the prompt allows."""
    round: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """The key of its :class:`~dsbd.measure.bench.records.Run`."""
        return (self.contender.name, self.prompt.task, self.prompt.id, self.round)

    @property
    def seed(self) -> int:
        """The seed: the same for every contender, whatever was decoded before.

        Seeds of a plain prompt count up from the setting ``seed``. Those of a task's question depend on the question
        too: with equal seeds, questions would share their random numbers, and would not be independent.
        """
        base = self.contender.settings.seed
        if not self.prompt.task:
            return (base + self.round) % 2**63
        return int(digest(base, self.prompt.task, self.prompt.id, self.round)[:15], 16)


@dataclass(frozen=True)
class Contest:
    """Which contenders continue which prompts, and how often."""

    contenders: tuple[Contender, ...]
    prompts: tuple[ContestPrompt, ...]
    rounds: int
    """How often each contender continues each prompt, every time with another seed."""
    chat: bool = False
    """Apply the model's chat template."""

    @property
    def total(self) -> int:
        """Number of decodes."""
        return len(self.contenders) * len(self.prompts) * self.rounds

    def turns(self) -> Iterator[Turn]:
        """Yield every decode: all prompts once, then once more; the contenders of a prompt follow each other.

        Their order is random, but always the same, so that a slow minute hits all alike.
        """
        for round in range(self.rounds):
            for prompt in self.prompts:
                for contender in sorted(self.contenders, key=lambda one: digest(prompt.id, round, one.name)):
                    yield self.turn(prompt, contender, round)

    def turn(self, prompt: ContestPrompt, contender: Contender, round: int = 0) -> Turn:
        """Return one decode."""
        return Turn(prompt, limited(contender, prompt.max_new_tokens), round)

    def asked(self) -> dict[str, Any]:
        """Return as plain data what two contests must have in common to share a file."""
        return {
            "prompts": len(self.prompts),
            "digest": digest_of((prompt.id, prompt.text) for prompt in self.prompts),
            "contenders": plain_contenders(self.contenders),
            "rounds": self.rounds,
            "chat": self.chat,
        }


def plain_prompts(texts: Iterable[str]) -> tuple[ContestPrompt, ...]:
    """Return prompts that belong to no task, named by their number from 1; each is a cluster."""
    return tuple(ContestPrompt(text, str(number), cluster=str(number)) for number, text in enumerate(texts, 1))


def limited(contender: Contender, max_new_tokens: int | None) -> Contender:
    """Return a contender with another number of new tokens; None keeps its own."""
    if max_new_tokens is None:
        return contender
    return replace(contender, settings=replace(contender.settings, max_new_tokens=max_new_tokens))


def plain_contenders(contenders: Iterable[Contender]) -> dict[str, Any]:
    """Return method and settings of contenders as plain data, by name."""
    return {
        one.name: {"method": one.method, **{name: getattr(one.settings, name) for name in one.reads}}
        for one in contenders
    }


def digest_of(texts: Iterable[tuple[str, str]]) -> str:
    """Return sixteen hex digits of ids and texts, so that changed prompts are noticed."""
    whole = hashlib.sha256()
    for id, text in texts:
        whole.update(f"{len(id)} {len(text)} {id}{text}".encode())
    return whole.hexdigest()[:16]


def digest(*parts: object) -> str:
    """Return hex digits that depend on the parts alone."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
