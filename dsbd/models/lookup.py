"""Drafts without a draft model: guesses copied from the prompt and the text so far.

What followed the last tokens earlier in the text is likely to follow them again, in edits, summaries and answers from a
passage. That makes a distribution of next tokens as a draft model does, so every method that drafts, its records and
its audit stay as they are: the target's distribution does not depend on where the drafts come from.

*Source:* prompt lookup decoding, whose guesses are one chain; docs/algorithm.md, *Drafts without a draft model*.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dsbd.verification.beams import Node, common_prefix
from dsbd.verification.distributions import TopTokens

LOOKUP = "lookup"
"""The name of this draft, where a draft model is named."""
LONGEST, SHORTEST = 6, 2
"""The most and the fewest tokens that are compared with earlier ones. A single one says too little: in free chat,
guesses after it made a decode a fifth slower than none."""


@dataclass(frozen=True)
class Lookup:
    """Stands where a pair has its draft model; ``vocabulary_size`` is the target's."""

    vocabulary_size: int
    id = LOOKUP
    revision = None
    numbers = "none"
    device = torch.device("cpu")
    attention = "copies"


class PromptLookup:
    """The source of a drafter's next tokens: what followed in the text so far.

    Of the last n tokens, n from ``LONGEST`` down to ``SHORTEST``, each n that occurred before takes n / (n + 1) of the
    probability that the longer ones left, shared by what followed. The rest stays unused, so that a pair after a long
    agreement has a higher log-probability than one after a short one.

    The text is the prompt and what all beams share when an iteration begins. So the drafts do not look at the random
    numbers of their iteration, as exactness demands.

    Args:
        prompt: ids.
        root: the node of the prompt's last token.
    """

    row = None
    """A drafter's row; this has none."""

    def __init__(self, prompt: Sequence[int], root: Node) -> None:
        self._ids, self._start = list(prompt), len(prompt)
        self._settled = root
        self._followers: dict[tuple[int, ...], dict[int, int]] = {}
        for end in range(1, self._start):
            self._count(end)

    def _count(self, end: int) -> None:
        """Note that the id at ``end`` follows those before it."""
        for size in range(SHORTEST, min(LONGEST, end) + 1):
            found = self._followers.setdefault(tuple(self._ids[end - size : end]), {})
            found[self._ids[end]] = found.get(self._ids[end], 0) + 1

    def begin(self, beams: Sequence[Node], room: int) -> list[TopTokens]:
        """Take in what the beams share, and return their next tokens."""
        self._settled = common_prefix(beams)
        for token in self._settled.token_ids()[len(self._ids) - self._start :]:
            self._ids.append(token)
            self._count(len(self._ids) - 1)
        return self.extend(beams)

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the next tokens after each node; none where nothing in the text agrees with it."""
        return [self._next(self._last_ids(node)) for node in nodes]

    def _last_ids(self, node: Node) -> tuple[int, ...]:
        """Return the last ids up to a node, at most ``LONGEST``, in reading order."""
        ids = list[int]()
        while node is not self._settled and node.parent is not None and len(ids) < LONGEST:
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
            whole = sum(followers.values())
            for token, count in followers.items():
                probs[token] = probs.get(token, 0.0) + part * count / whole
            left -= part
        tokens = sorted(probs)
        return TopTokens(np.array(tokens, dtype=np.int64), np.log([probs[token] for token in tokens]))
