"""Block verification: how many drafts of a chain are accepted, decided for all of them together.

A *beginning* is the first draft of the chain, the first two, and so on to the whole chain.

*Source:* Sun et al., Block Verification Accelerates Speculative Decoding (arXiv 2403.10444), with the beginnings tried
from the longest to the shortest; docs/algorithm.md, *Block verification*.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from dsbd.law.beams import Node
from dsbd.law.choices import Choices
from dsbd.law.laws import Floats


class Link(NamedTuple):
    """One draft of a chain with the laws of its layer, on the pairs of P [n]."""

    node: Node
    pair: int | None
    """The draft's pair; None if P has no such pair."""
    draft_prob: float
    """Q at the draft."""
    target: Floats
    draft: Floats


class Beginning(NamedTuple):
    """A beginning of a chain and its test. The fields mean what those of ``dsbd.tracing.records.Beginning`` mean."""

    node: Node
    target_prob: float
    """P at its last draft."""
    probability: float
    rest: float | None
    acceptance: float
    uniform: float | None = None

    @property
    def accepted(self) -> bool:
        """True for the longest accepted beginning. Shorter ones are accepted with it and have no test."""
        return self.uniform is not None and self.uniform < self.acceptance


def beginnings_of(chain: Sequence[Link]) -> list[Beginning]:
    """Return every beginning of a chain with its chance of being accepted, shortest first.

    With p = 1 before the first draft, P and Q at draft i, and the laws P′ and Q′ of the layer below it:

        p becomes min(1, p * P / Q)
        s = sum of max(p * P′ - Q′, 0)
        chance = s / (s + 1 - p); of the whole chain it is p

    In the toy's first layer the draft "ab" has P = 1/8 and Q = 1/4, and as the whole chain the chance 1/2. If "aa"
    follows with the laws of the same table, the chance of "ab" alone is smaller: p P' - Q' is positive nowhere.

    >>> from dsbd.law import toy
    >>> laws = toy.target_law().probs, toy.DRAFT_PROBS
    >>> ab, aa = Link(toy.AB, 1, 1 / 4, *laws), Link(toy.AA, 0, 1 / 4, *laws)
    >>> [(round(one.probability, 6), round(one.acceptance, 6)) for one in beginnings_of([ab])]
    [(0.5, 0.5)]
    >>> [(round(one.probability, 6), round(one.acceptance, 6)) for one in beginnings_of([ab, aa])]
    [(0.5, 0.0), (1.0, 1.0)]
    """
    found, probability = list[Beginning](), 1.0
    for link, following in zip_longest(chain, chain[1:]):
        target = 0.0 if link.pair is None else float(link.target[link.pair])
        probability = min(1.0, probability * target / link.draft_prob)
        rest, acceptance = None, probability
        if following is not None:
            rest = float(np.maximum(probability * following.target - following.draft, 0.0).sum())
            acceptance = rest / (rest + 1.0 - probability) if rest > 0 else 0.0
        found.append(Beginning(link.node, target, probability, rest, acceptance))
    return found


def try_beginnings(beginnings: Sequence[Beginning], choices: Choices) -> tuple[list[Beginning], int]:
    """Test the beginnings, longest first, until one is accepted. Returns them, and how many drafts are accepted.

    >>> from dsbd.law import toy
    >>> from dsbd.law.choices import Uniforms
    >>> both = [Beginning(toy.AB, 1 / 8, 0.5, 0.2, 2 / 7), Beginning(toy.AA, 1 / 2, 0.4, None, 0.4)]
    >>> tried, accepted = try_beginnings(both, Uniforms([0.7, 0.1]))
    >>> [one.uniform for one in tried], accepted
    ([0.1, 0.7], 1)
    """
    tried = list(beginnings)
    for place in reversed(range(len(tried))):
        accepted, uniform = choices.accept(tried[place].acceptance)
        tried[place] = tried[place]._replace(uniform=uniform)
        if accepted:
            return tried, place + 1
    return tried, 0
