"""Guesses of two sources: copied ones and, where they are not sure, those of a draft model as well."""

import math
from collections.abc import Sequence

import numpy as np

from dsbd.drafts.lookup import PromptLookup
from dsbd.drafts.source import DraftRecord, DraftSource
from dsbd.verification.beams import Node
from dsbd.verification.distributions import TopTokens

SURE = 0.95
"""If every node has a copied guess at least this likely, the other source is not asked."""
SHARE = 0.1
"""The weight of copied guesses in the mixture; the other source has the rest. With larger weights, iterations on the
bundled SQL pair yielded less."""


class Mixture:
    """Asks a lookup first and, for layers in which some node has no sure copy, the other source, too.

    The other source is given the layers that it was not asked for together with the next one that it is asked for.
    """

    def __init__(self, lookup: PromptLookup, other: DraftSource, top_k: int) -> None:
        self._lookup, self._other, self._top_k = lookup, other, top_k

    @property
    def record(self) -> DraftRecord:
        return self._other.record

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        self._start, self._left = (prompt, beams, depth), list[Node]()
        self._has_begun = False
        self._lookup.read(prompt, beams)
        return self._mixed(self._lookup.next_tokens(beams))

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        self._left += nodes
        return self._mixed(self._lookup.next_tokens(nodes))

    def _mixed(self, copied: list[TopTokens]) -> list[TopTokens]:
        if all(one.log_probs.max(initial=-math.inf) >= math.log(SURE) for one in copied):
            return copied
        if not self._has_begun:
            self._has_begun, answers = True, self._other.begin(*self._start)
        if self._left:
            answers, self._left = self._other.extend(self._left), []
        return [mixed(*both, self._top_k) for both in zip(copied, answers[-len(copied) :], strict=True)]


def mixed(copied: TopTokens, other: TopTokens, top_k: int) -> TopTokens:
    """Return the mixture of two answers, by token; of the other one its ``top_k`` likeliest, 0 is all.

    >>> from dsbd.drafts.source import top_tokens
    >>> mixture = mixed(top_tokens({3: 0.5}), top_tokens({2: 0.6, 3: 0.4}), top_k=0)
    >>> mixture.tokens.tolist(), np.exp(mixture.log_probs).round(2).tolist()
    ([2, 3], [0.57, 0.43])
    """
    if not copied.tokens.size:
        return other
    best = np.sort((-other.log_probs).argsort(kind="stable")[: top_k or None])
    other = TopTokens(other.tokens[best], other.log_probs[best])
    tokens, index = np.unique(np.concatenate([copied.tokens, other.tokens]), return_inverse=True)
    own, theirs = SHARE * np.exp(copied.log_probs), np.exp(other.log_probs)
    probs = np.bincount(index, np.concatenate([own, (1.0 - own.sum()) * theirs]))
    return TopTokens(tokens[probs > 0], np.log(probs[probs > 0]))  # what underflows is no guess
