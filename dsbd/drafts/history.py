"""Counts of what followed what, and the earlier answers that a caller keeps to guess from."""

import json
from array import array
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.util import object_of, read_file, write_file

SIZES = 8, 6, 4, 3, 2
"""How many tokens are compared with earlier ones. A single one says too little: in free chat, guesses after it made a
decode a fifth slower than none."""
EXPECTED_SIZES = *SIZES, 1
"""The same for a text that is expected."""
CONTEXT = SIZES[0]
FORMAT = "dsbd-history/1"
MOST_TOKENS = 100_000
MOST_BYTES = 200_000_000
"""Of a file that is read."""
_BITS = 32
_KEY = (1 << 60) - 1  # a longer whole number takes more memory


class Continuations:
    """Counts of the tokens that followed each context of ``sizes`` tokens.

    Contexts are kept as hashes: a collision would only make a guess worse. Where a context was followed by one token
    only, its entry is one whole number: the token's id and, in the bits above, how often it came again.
    """

    def __init__(self, sizes: Sequence[int] = SIZES) -> None:
        self.sizes = sizes
        self._table: dict[int, int | dict[int, int]] = {}

    def add(self, ids: Sequence[int], start: int, times: int = 1) -> None:
        """Count the ids from ``start`` on, each behind those before it; ``times=-1`` takes that back."""
        for end in range(start, len(ids)):
            token = ids[end]  # one object in all tables
            for size in self.sizes:
                if size <= end:
                    self._count(_key(ids[end - size : end]), token, times)

    def _count(self, key: int, token: int, times: int) -> None:
        counts = _unpacked(self._table.get(key))
        counts[token] = counts.get(token, 0) + times
        if not counts[token]:
            del counts[token]
        if len(counts) > 1:
            self._table[key] = counts
        elif counts:
            ((token, count),) = counts.items()
            self._table[key] = token if count == 1 else token + (count - 1 << _BITS)
        else:
            del self._table[key]

    def after(self, context: Sequence[int]) -> dict[int, int]:
        """Return the counts of what followed a context, none where it did not occur."""
        return _unpacked(self._table.get(_key(context)))


def _key(context: Sequence[int]) -> int:
    return hash(tuple(context)) & _KEY


def _unpacked(known: int | dict[int, int] | None) -> dict[int, int]:
    if isinstance(known, int):
        return {known & (1 << _BITS) - 1: (known >> _BITS) + 1}
    return {} if known is None else known


class History:
    """Earlier answers, to guess from: ``decode(pair, prompt, history=history)`` reads them, and adds its own.

    It stays with you: nothing else stores or sends it. The time that a decode takes shows which answers it holds, so
    share one only among people who may read each other's answers. 100,000 tokens take at most some 50 MB.

    Args:
        most_tokens: 1 to 10,000,000; once all answers have more, the oldest are dropped.

    Raises:
        SettingsError: ``most_tokens`` is out of range.
    """

    def __init__(self, most_tokens: int = MOST_TOKENS) -> None:
        if isinstance(most_tokens, bool) or not isinstance(most_tokens, int) or not 0 < most_tokens <= 10_000_000:
            raise SettingsError(f"most_tokens is {most_tokens!r}; allowed are whole numbers from 1 to 10000000")
        self.most_tokens = most_tokens
        self.continuations = Continuations()
        self.largest_id = -1
        """The largest id that it ever held."""
        self._answers: deque[tuple[array[int], int]] = deque()  # context and ids, and the size of the context
        self._tokens = 0

    def __len__(self) -> int:
        """Return the number of tokens of all answers."""
        return self._tokens

    def __bool__(self) -> bool:
        return True

    def add(self, ids: Sequence[int], context: Sequence[int] = ()) -> None:
        """Add an answer, of which the last ``most_tokens`` ids are kept; ``context`` are the ids before it.

        Raises:
            SettingsError: an id is not a whole number from 0 to 2**31 - 1.
        """
        before, own = context[-CONTEXT:], ids[-self.most_tokens :]
        try:
            both = array("i", [*before, *own])
        except (TypeError, OverflowError):
            both = array("i", [-1])
        if any(token < 0 for token in both):
            raise SettingsError("an answer has an id that is no whole number from 0 to 2147483647; give a list of ids")
        self._answers.append((both, len(before)))
        self.continuations.add(both, len(before))
        self.largest_id = max(self.largest_id, *both, -1)
        self._tokens += len(own)
        while self._tokens > self.most_tokens:
            oldest, start = self._answers.popleft()
            self.continuations.add(oldest, start, -1)
            self._tokens -= len(oldest) - start

    def save(self, path: str | Path) -> None:
        """Write it as JSON. Raises: SettingsError: the file cannot be written."""
        answers = [{"context": [*ids[:start]], "ids": [*ids[start:]]} for ids, start in self._answers]
        content = {"format": FORMAT, "most_tokens": self.most_tokens, "answers": answers}
        try:
            write_file(path, json.dumps(content, separators=(",", ":")))
        except OSError as error:
            raise SettingsError(f"cannot write history {str(path)!r}: {error.strerror or error}") from None

    @staticmethod
    def load(path: str | Path) -> "History":
        """Read a file that :meth:`save` wrote. Raises: SettingsError: it is no such file."""
        name = f"history {str(path)!r}"
        try:
            content: Any = json.loads(read_file(path, MOST_BYTES), object_pairs_hook=object_of)
            if content["format"] != FORMAT:
                raise ValueError(f"format is {content['format']!r:.60}")
            history = History(content["most_tokens"])
            for one in content["answers"]:
                history.add(one["ids"], one["context"])
        except OSError as error:
            raise SettingsError(f"cannot read {name}: {error.strerror or error}") from None
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise SettingsError(
                f"{name} is no {FORMAT} ({error!s:.100}); give a file that History.save wrote"
            ) from None
        return history
