"""Drafts without a draft model: guesses copied from the prompt and the text so far.

What followed the last tokens earlier in the text is likely to follow them again, in edits, summaries and answers from a
passage. That makes a distribution of next tokens as a draft model does, so every method that drafts, its records and
its audit stay as they are: the target's distribution does not depend on where the drafts come from.

*Source:* prompt lookup decoding, whose guesses are one chain; docs/algorithm.md, *Drafts without a draft model*.
"""

from collections.abc import Sequence

from dsbd.drafts.source import DraftRecord, top_tokens
from dsbd.verification.beams import Node, common_prefix
from dsbd.verification.distributions import TopTokens

LOOKUP = "lookup"
"""The name of this draft, where a draft model is named."""
LONGEST, SHORTEST = 6, 2
"""The most and the fewest tokens that are compared with earlier ones. A single one says too little: in free chat,
guesses after it made a decode a fifth slower than none."""


class PromptLookup:
    """A draft source that knows what followed in the text so far.

    Of the last n tokens, n from ``LONGEST`` down to ``SHORTEST``, each n that occurred before takes n / (n + 1) of the
    probability that the longer ones left, shared by what followed. The rest stays unused, so that a candidate after a
    long agreement has a higher log-probability than one after a short one.

    The text is the prompt and what all beams share when an iteration begins. So the drafts do not look at the random
    numbers of their iteration, as exactness demands.
    """

    record = DraftRecord(LOOKUP, copies=True)

    def __init__(self) -> None:
        self._prompt: Sequence[int] | None = None

    def _read(self, prompt: Sequence[int]) -> None:
        self._prompt, self._ids = prompt, list(prompt)
        self._followers: dict[tuple[int, ...], dict[int, int]] = {}
        for end in range(1, len(prompt)):
            self._count(end)

    def _count(self, end: int) -> None:
        """Note that the id at ``end`` follows those before it."""
        for size in range(SHORTEST, min(LONGEST, end) + 1):
            followers = self._followers.setdefault(tuple(self._ids[end - size : end]), {})
            followers[self._ids[end]] = followers.get(self._ids[end], 0) + 1

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        """Take in what the beams share, and return their next tokens."""
        if self._prompt is None:
            self._read(prompt)
        self._shared = common_prefix(beams)
        for token in self._shared.token_ids()[len(self._ids) - len(prompt) :]:
            self._ids.append(token)
            self._count(len(self._ids) - 1)
        return self.extend(beams)

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the next tokens after each node; none where nothing in the text agrees with it."""
        return [self._next(self._last_ids(node)) for node in nodes]

    def _last_ids(self, node: Node) -> tuple[int, ...]:
        """Return the last ids up to a node, at most ``LONGEST``, in reading order."""
        ids = list[int]()
        while node is not self._shared and node.parent is not None and len(ids) < LONGEST:
            ids.append(node.token)
            node = node.parent
        left = LONGEST - len(ids)
        return (*(self._ids[-left:] if left else ()), *ids[::-1])

    def _next(self, last: tuple[int, ...]) -> TopTokens:
        probs, left = dict[int, float](), 1.0
        for size in range(len(last), SHORTEST - 1, -1):
            followers = self._followers.get(last[-size:])
            if followers is None:
                continue
            part = left * size / (size + 1)
            total = sum(followers.values())
            for token, count in followers.items():
                probs[token] = probs.get(token, 0.0) + part * count / total
            left -= part
        return top_tokens(probs)
