"""The target as its own draft source, for ``mjgd``: the likeliest block of tokens, found by search."""

from collections.abc import Collection, Iterator, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
import torch

from dsbd.drafts.source import DraftRecord
from dsbd.errors import SettingsError
from dsbd.models.states.state import DecodingState
from dsbd.next_tokens import host_next_tokens
from dsbd.verification.beams import Node
from dsbd.verification.distributions import TopTokens

MOST_EXTENDED = 512
"""Beginnings of a block that a search extends, at most."""


class Beginning(NamedTuple):
    """A beginning of a block. The likeliest sorts first, then the shortest, then the one with the lowest ids."""

    cost: float = 0.0  # minus its log-probability
    length: int = 0
    ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    place: int = 0  # of the last id, in the order fed


class BlockSearch:
    """Guesses the target's likeliest block of tokens, and nothing else.

    Best-first search: the beginning with the largest joint probability is extended, until the likeliest one is a whole
    block. No other block can then be likelier, because no block is likelier than its beginnings.

    Args:
        state: a decoding state of the target for the search; it computes each path from its first token.
        eos: token ids that end a beam. A block may end early.
        device: where ``state`` takes tokens and returns logits.

    *Source:* multi-token joint greedy decoding (arXiv 2407.09722); docs/algorithm.md, *Joint tests*.
    """

    record = DraftRecord("block search")

    def __init__(self, state: DecodingState, eos: Collection[int], device: torch.device) -> None:
        self._state, self._eos, self._device = state, eos, device

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        """Search the likeliest block of ``depth`` tokens; ties go to the shorter block, then to the lowest ids.

        Raises:
            SettingsError: it is not found among the most beginnings that are extended.
        """
        self._left = self._likeliest(beams, depth)
        return [next(self._left)]

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        return [next(self._left)]

    def _likeliest(self, beams: Sequence[Node], depth: int) -> Iterator[TopTokens]:
        self._state.begin(beams, 0)
        waiting, block = list[Beginning](), Beginning()
        for index in range(MOST_EXTENDED):
            last = torch.tensor(block.ids[-1:], dtype=torch.int64, device=self._device)
            logits = self._state.forward(last, torch.full_like(last, block.place), ())
            (following,) = host_next_tokens(logits, MOST_EXTENDED, "target")
            for token, log_prob in zip(following.tokens.tolist(), following.log_probs.tolist(), strict=True):
                ids, log_probs = (*block.ids, token), (*block.log_probs, log_prob)
                heappush(waiting, Beginning(block.cost - log_prob, len(ids), ids, log_probs, index))
            block = heappop(waiting)
            if block.length == depth or block.ids[-1] in self._eos:
                tokens = zip(block.ids, block.log_probs, strict=True)
                return (TopTokens(np.array([token]), np.array([log_prob])) for token, log_prob in tokens)
        raise SettingsError(
            f"block is {depth}: the likeliest block is not among the first {MOST_EXTENDED} beginnings that mjgd "
            f"extends; take a smaller block, or method mjsd"
        )
