"""Gumbel noise that is a function of seed, prompt and path: the die of a draw is thrown before anything is guessed.

With independent standard Gumbel numbers G, the candidate with the largest score + G is a draw from the joint
distribution (Gumbel-max), and the W largest are W draws without replacement. Here G follows from the seed and from what
the candidate *is*: its path from the prompt on, and the number of the draw. So draft and target see the same G,
whatever is drafted, and beams are a function of target and seed alone.

*Source:* Philox4x32-10 (Salmon et al. 2011, *Parallel random numbers: as easy as 1, 2, 3*); docs/algorithm.md, *Coupled
draws*.
"""

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dsbd.verification.beams import Node
from dsbd.verification.distributions import Floats, Ints, JointDistribution, TopTokens

MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10
WORD = 0xFFFFFFFF
Words = npt.NDArray[np.uint32]
HALVES = np.array(MULTIPLIERS[::-1], dtype=np.uint64)[:, None]
HIGH, LOW = (1, 0) if sys.byteorder == "little" else (0, 1)
"""Where the two words of a product stand in memory."""
AT_ONCE = 20_000
"""Numbers that are made before it is known whether they are needed."""
PATH, PROMPT = 1 << 31, (1 << 31) + 1
"""The last words of counters that make no noise, but the hash of a path and of the prompt."""


def philox(key: tuple[int, int], counter: Sequence[Any]) -> list[Any]:
    """Return four random words for each counter of four words: Python's integers, or arrays of uint64 that broadcast.

    >>> [f"{word:08x}" for word in philox((0, 0), (0, 0, 0, 0))]  # a known answer of Random123
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    first, second, third, fourth = counter
    low, high = key
    for _ in range(ROUNDS):
        left, right = first * MULTIPLIERS[0], third * MULTIPLIERS[1]
        first, second, third, fourth = (
            (right >> 32) ^ second ^ low,
            right & WORD,
            (left >> 32) ^ fourth ^ high,
            left & WORD,
        )
        low, high = (low + WEYL[0]) & WORD, (high + WEYL[1]) & WORD
    return [first, second, third, fourth]


class Noise:
    """The noise of one decode. The hash of a node is computed once.

    Args:
        seed: of the settings, below 2**64.
        prompt_ids: so that the same seed gives other noise behind another prompt.
        root: the node of the prompt's end.
    """

    def __init__(self, seed: int, prompt_ids: Sequence[int], root: Node) -> None:
        self._key = seed & WORD, seed >> 32
        low, high = (self._key[word] + np.arange(ROUNDS, dtype=np.uint64) * WEYL[word] & WORD for word in (0, 1))
        self._keys = np.stack([low, high], axis=1)[:, :, None].astype(np.uint32)
        ids = np.array(prompt_ids, dtype=np.uint64)
        words = philox(self._key, (np.arange(ids.size, dtype=np.uint64), np.uint64(0), ids, np.uint64(PROMPT)))
        self._ready: dict[Node, tuple[Ints, Floats]] = {}
        self._hashes = {root: (int(np.bitwise_xor.reduce(words[0])), int(np.bitwise_xor.reduce(words[1])))}

    def prepare(self, next_tokens: Mapping[Node, TopTokens], draws: int) -> None:
        """Make the noise of all that may follow these nodes at once: it takes hardly longer than that of one layer.

        Where that would be very much, nothing is made.
        """
        tokens = [one.tokens for one in next_tokens.values()]
        ends = np.cumsum([one.size for one in tokens])
        if ends[-1] * draws > AT_ONCE:
            return
        beams = np.repeat(np.arange(len(tokens)), [one.size for one in tokens])
        noise = self._gumbel(next_tokens, beams, np.concatenate(tokens), draws)
        parts = zip(tokens, np.split(noise, ends[:-1], axis=1), strict=True)
        self._ready = dict(zip(next_tokens, parts, strict=True))

    def gumbel(self, distribution: JointDistribution, parents: Sequence[Node], draws: int) -> Floats:
        """Return the noise [draws, n] of all candidates of a joint distribution over these beams, draws from 0 on."""
        beams, tokens = distribution.candidates(np.arange(distribution.support))
        if self._ready.keys() >= set(parents):
            families = np.split(tokens, beams.searchsorted(np.arange(1, len(parents))))
            prepared = [self._prepared(parent, own, draws) for parent, own in zip(parents, families, strict=True)]
            ready = [one for one in prepared if one is not None]
            if len(ready) == len(parents):
                return np.hstack(ready)
        return self._gumbel(parents, beams, tokens, draws)

    def _prepared(self, parent: Node, tokens: Ints, draws: int) -> Floats | None:
        known, noise = self._ready[parent]
        index = known.searchsorted(tokens)
        has_all = len(noise) >= draws and bool((known.take(index, mode="clip") == tokens).all())
        return noise[:draws, index] if has_all else None

    def _gumbel(self, parents: Collection[Node], beams: Ints, tokens: Ints, draws: int) -> Floats:
        """Return the noise [draws, n] of these tokens [n]; ``beams`` [n]: the index of each token's parent."""
        paths = np.array([self._hash(node) for node in parents], dtype=np.uint32)[beams]
        blocks = (draws + 1) // 2  # two numbers from a block of four words
        high, low = self._random_words(paths, tokens.astype(np.uint32), blocks)
        uniform = ((high >> 6) * float(1 << 26) + (low >> 6) + 0.5) / float(1 << 52)
        noise: Floats = -np.log(-np.log(uniform))
        return noise.reshape(2, blocks, -1).swapaxes(0, 1).reshape(-1, beams.size)[:draws]

    def _random_words(self, paths: Words, tokens: Words, blocks: int) -> tuple[Words, Words]:
        """Return what :func:`philox` makes of (path, token, block): its first and third, and second and fourth words.

        Both halves of a counter take the same steps in a round, so they are the two rows of one array.

        Args:
            paths: the hash of each candidate's beam [n, 2].
            tokens: of the candidates [n].
            blocks: how many counters a candidate has.

        Returns:
            Two arrays [2, blocks * n].
        """
        counters = np.empty((2, 2, blocks, tokens.size), dtype=np.uint32)
        counters[0, 0], counters[1, 0], counters[0, 1] = *paths.T, tokens
        counters[1, 1] = np.arange(blocks)[:, None]
        even, odd = counters.reshape(2, 2, -1)
        for key in self._keys:
            product = (even[::-1] * HALVES).view(np.uint32)
            even, odd = product[:, HIGH::2] ^ odd ^ key, product[:, LOW::2]
        return even, odd

    def _hash(self, node: Node) -> tuple[int, int]:
        if node not in self._hashes:
            assert node.parent is not None
            first, second, *_ = philox(self._key, (*self._hash(node.parent), node.token, PATH))
            self._hashes[node] = first, second
        return self._hashes[node]


def best_draws(values: Floats, count: int, replacement: bool) -> Ints:
    """Return the indices [count] that are drawn: of each row of score + noise the largest, or of the one row the best.

    Ties go to the lowest index.

    >>> best_draws(np.array([[0.5, 2.0, 1.0], [3.0, 0.0, 1.0]]), 2, replacement=True).tolist()
    [1, 0]
    >>> best_draws(np.array([[0.5, 2.0, 1.0]]), 2, replacement=False).tolist()
    [1, 2]
    """
    if replacement:
        return values[:count].argmax(axis=1)
    return (-values[0]).argsort(kind="stable")[:count]
