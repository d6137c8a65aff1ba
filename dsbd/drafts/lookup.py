"""Drafts without a draft model: guesses copied from the prompt, the text so far, and what is known already.

What followed the last tokens earlier is likely to follow them again, in edits, summaries and answers from a passage,
and where an answer is expected or like earlier ones. Counts of what followed make a distribution of next tokens, as
a draft model does, so methods, records and audit need not know the difference.

*Source:* prompt lookup decoding, whose guesses are one chain; docs/algorithm.md, *Drafts without a draft model*.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dsbd.drafts.history import CONTEXT, EXPECTED_SIZES, Continuations, History
from dsbd.drafts.source import DraftRecord, top_tokens
from dsbd.verification.beams import Node, common_prefix
from dsbd.verification.distributions import TopTokens

LOOKUP = "lookup"
"""The name of this draft, where a draft model is named."""


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
    """

    record = DraftRecord(LOOKUP, copies=True)

    def __init__(self, known: Known = NOTHING) -> None:
        self._known = known
        self._prompt: Sequence[int] | None = None

    def _read(self, prompt: Sequence[int]) -> None:
        self._prompt, self._ids = prompt, list(prompt)
        self._text, expected, before = Continuations(), Continuations(EXPECTED_SIZES), self._ids[-CONTEXT:]
        self._text.add(self._ids, 0)
        for guess in self._known.guesses:
            expected.add([*before, *guess], len(before))
        history = self._known.history
        self._tables = [expected, self._text, *([] if history is None else [history.continuations])]

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        """Take in what the beams share, and return their next tokens."""
        if self._prompt is None:
            self._read(prompt)
        self._shared = common_prefix(beams)
        new = self._shared.token_ids()[len(self._ids) - len(prompt) :]
        self._ids += new
        self._text.add(self._ids, len(self._ids) - len(new))
        return self.extend(beams)

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the next tokens after each node; none where nothing that is known agrees with it."""
        return [self._next(self._last_ids(node), node.length) for node in nodes]

    def _last_ids(self, node: Node) -> tuple[int, ...]:
        """Return the last ids up to a node, at most as many as are compared, in reading order."""
        ids = list[int]()
        while node is not self._shared and node.parent is not None and len(ids) < CONTEXT:
            ids.append(node.token)
            node = node.parent
        left = CONTEXT - len(ids)
        return (*(self._ids[-left:] if left else ()), *ids[::-1])

    def _next(self, last: tuple[int, ...], length: int) -> TopTokens:
        probs, left = dict[int, float](), 1.0
        for size in EXPECTED_SIZES:
            context = last[-size:]
            for table in self._tables if size <= len(last) else ():
                if size in table.sizes and (counts := table.after(context)):
                    total = sum(counts.values())
                    part = left / (total + len(counts))
                    for token, count in counts.items():
                        probs[token] = probs.get(token, 0.0) + part * count
                    left -= part * total
        for guess in self._known.guesses:
            if length < len(guess):
                probs[guess[length]] = probs.get(guess[length], 0.0) + left / 2
                left /= 2
        return top_tokens(probs)
