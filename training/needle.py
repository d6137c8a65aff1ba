"""Rows that a memory learns from: a word to remember, sections of books, and plain text.

Somewhere before its last segment a needle row says "The secret animal is a <word>.", and it ends with the same
sentence. So its last token cannot be known without an earlier segment, and recall has to find which one. `NEEDLE_WORDS`
are the words; the task `needle` asks for the same ones.
"""

from dataclasses import dataclass

import numpy as np
from transformers import PreTrainedTokenizerBase

from dsbd.contest.tasks import NEEDLE, NEEDLE_WORDS
from training.corpus import DocumentStream, EncodedDocuments

BOS = 0


@dataclass(frozen=True)
class Rows:
    """Rows of equal length for one step.

    `ids`: (rows, tokens) int64. `answers`: (rows,) int64, the place of each row's word among `NEEDLE_WORDS`; None if
    nothing is asked.
    """

    ids: np.ndarray
    answers: np.ndarray | None


class MemoryRows:
    """Draws rows; its `state`, which `restore` takes, decides all later rows."""

    def __init__(self, parts: dict[str, EncodedDocuments], tokenizer: PreTrainedTokenizerBase, seed: int) -> None:
        self._books = parts["books"]
        self._book_sizes = np.diff(self._books.starts)
        self._stories = DocumentStream(parts["stories"], seed)
        self._random = np.random.default_rng(seed)
        self._newline, *_ = self._ids(tokenizer, "\n")
        self._needle = self._ids(tokenizer, NEEDLE)
        self._end = self._ids(tokenizer, ".\n\n")
        self.words = np.array([self._ids(tokenizer, f" {word}") for word in NEEDLE_WORDS])[:, 0]
        """Token ids of the words, (words,): each is one token."""

    @staticmethod
    def _ids(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    def needle(self, rows: int, tokens: int, last: int) -> Rows:
        """Return rows with a word that is told before the ``last`` tokens, and asked for at the end."""
        answers = self._random.integers(len(self.words), size=rows)
        return Rows(np.stack([self._needle_row(self.words[answer], tokens, last) for answer in answers]), answers)

    def _needle_row(self, word: int, tokens: int, last: int) -> np.ndarray:
        tell, ask = [self._newline, *self._needle, word, *self._end], [self._newline, *self._needle, word]
        story = self._stories.take(tokens - len(tell) - len(ask) - 1)
        story = np.where(story == BOS, self._newline, story)
        place = int(self._random.integers(tokens - last - len(tell)))
        return np.concatenate([[BOS], story[:place], tell, story[place:], ask])

    def books(self, rows: int, tokens: int) -> Rows:
        """Return rows from anywhere in sections of books that are long enough."""
        chosen = self._random.choice(np.flatnonzero(self._book_sizes >= tokens), size=rows)
        starts = [int(self._random.integers(self._book_sizes[index] - tokens + 1)) for index in chosen]
        found = [
            self._books.document(index)[start : start + tokens] for index, start in zip(chosen, starts, strict=True)
        ]
        return Rows(np.stack(found).astype(np.int64), None)

    def plain(self, rows: int, tokens: int) -> Rows:
        """Return rows of stories, as the target was trained on."""
        return Rows(np.stack([self._stories.take(tokens) for _ in range(rows)]), None)

    @property
    def state(self) -> dict:
        """Return everything that decides the next rows."""
        return {"stories": self._stories.state, "random": self._random.bit_generator.state}

    def restore(self, state: dict) -> None:
        """Go to a place that `state` returned."""
        self._stories.restore(state["stories"])
        self._random.bit_generator.state = state["random"]
