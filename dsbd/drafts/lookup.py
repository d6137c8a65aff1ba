"""Drafts without a draft model: guesses copied from the prompt, the text so far, and what is known already.

What followed the last tokens earlier is likely to follow them again, in edits, summaries and answers from a passage,
and where an answer is expected or like earlier ones. Counts of what followed make a distribution of next tokens, as
a draft model does, so methods, records and audit need not know the difference.

*Source:* prompt lookup decoding, whose guesses are one chain; docs/algorithm.md, *Drafts without a draft model*.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dsbd.drafts.history import CONTEXT, EXPECTED_SIZES, Continuations, History
from dsbd.drafts.source import DraftRecord, top_tokens
from dsbd.verification.beams import Node, common_prefix
from dsbd.verification.distributions import TopTokens

LOOKUP = "lookup"
"""The name of this draft, where a draft model is named."""
LEAST = 0.4
"""The hit rate below which nothing is guessed. Without it, free chat was a tenth slower than without guesses, and a
wrong expected text doubled the time."""


class Known(NamedTuple):
    """What is known before a decode, besides its prompt."""

    guesses: Sequence[Sequence[int]] = ()
    """The ids of answers that are expected."""
    history: History | None = None

    def __bool__(self) -> bool:
        return bool(self.guesses) or self.history is not None


NOTHING = Known()


class PromptLookup:
    """A draft source that knows what followed in the text so far, in guesses and in a history.

    Contexts are read from the longest to the shortest. One that was followed by ``total`` tokens, ``distinct`` of them
    different, takes total / (total + distinct) of the probability that longer ones left, shared among its followers
    (*method C* of PPM). Half of what is then left goes to the token of a guess at the same distance from the prompt, so
    that copying recovers after a token was replaced. The rest stays unused: so a candidate after a long match has a
    higher log-probability than one after a short match.

    The text is the prompt and what all beams share when an iteration begins. So the drafts do not look at the random
    numbers of their iteration, as exactness demands.

    The hit rate of the likeliest guess is counted for each length of match, token by token of the answer, whether or
    not it was guessed; it begins with that of shorter matches, and with one half. Where it is below :data:`LEAST`,
    :meth:`extend` guesses nothing.
    """

    record = DraftRecord(LOOKUP, copies=True)

    def __init__(self, known: Known = NOTHING) -> None:
        self._known = known
        self._prompt: Sequence[int] | None = None

    def _begin(self, prompt: Sequence[int]) -> None:
        self._prompt, self._ids = prompt, list(prompt)
        self._hits, self._tried = Counter[int](), Counter[int]()
        self._text, expected, before = Continuations(), Continuations(EXPECTED_SIZES), self._ids[-CONTEXT:]
        self._text.add(self._ids, 0)
        for guess in self._known.guesses:
            expected.add([*before, *guess], len(before))
        history = self._known.history
        self._tables = [expected, self._text, *([] if history is None else [history.continuations])]

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        """Take in what the beams share, and return their next tokens."""
        self.read(prompt, beams)
        return self.extend(beams)

    def read(self, prompt: Sequence[int], beams: Sequence[Node]) -> None:
        """Take in what the beams share."""
        if self._prompt is None:
            self._begin(prompt)
        self._shared = common_prefix(beams)
        for token in self._shared.token_ids()[len(self._ids) - len(prompt) :]:
            size, probs = self._after(tuple(self._ids[-CONTEXT:]), len(self._ids) - len(prompt))
            if probs:
                self._tried[size] += 1
                self._hits[size] += max(probs, key=probs.__getitem__) == token
            self._ids.append(token)
            self._text.add(self._ids, len(self._ids) - 1)

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the next tokens after each node; none without a match, or where such matches were mostly wrong."""
        return [top_tokens(probs if self._hit_rate(size) >= LEAST else {}) for size, probs in self._known_after(nodes)]

    def next_tokens(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return all that is known of what follows each node."""
        return [top_tokens(probs) for _, probs in self._known_after(nodes)]

    def _hit_rate(self, size: int) -> float:
        """Return the hit rate after a match of so many tokens."""
        share = 0.5
        for shorter in sorted(self._tried):
            if shorter <= size:
                share = (self._hits[shorter] + share) / (self._tried[shorter] + 1)
        return share

    def _known_after(self, nodes: Sequence[Node]) -> list[tuple[int, dict[int, float]]]:
        return [self._after(self._last_ids(node), node.length) for node in nodes]

    def _last_ids(self, node: Node) -> tuple[int, ...]:
        """Return the last ids up to a node, at most as many as are compared, in reading order."""
        ids = list[int]()
        while node is not self._shared and node.parent is not None and len(ids) < CONTEXT:
            ids.append(node.token)
            node = node.parent
        left = CONTEXT - len(ids)
        return (*(self._ids[-left:] if left else ()), *ids[::-1])

    def _after(self, last: tuple[int, ...], length: int) -> tuple[int, dict[int, float]]:
        """Return the longest match of the last ids before a place, and the probabilities of what followed."""
        longest, probs, left = 0, dict[int, float](), 1.0
        for size in EXPECTED_SIZES:
            context = last[-size:]
            for table in self._tables if size <= len(last) else ():
                if size in table.sizes and (counts := table.after(context)):
                    total = sum(counts.values())
                    part = left / (total + len(counts))
                    for token, count in counts.items():
                        probs[token] = probs.get(token, 0.0) + part * count
                    left -= part * total
                    longest = longest or size
        for guess in self._known.guesses:
            if length < len(guess):
                probs[guess[length]] = probs.get(guess[length], 0.0) + left / 2
                left /= 2
        return longest, probs
