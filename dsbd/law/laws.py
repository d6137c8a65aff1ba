"""The joint law of a layer, over (alive beam, token) pairs, and the residual that rejections leave.

Everything here is host arithmetic in float64 on the few pairs that top-k leaves. ``draft_*`` and
``target_*`` say whose law a number belongs to.

*Source:* docs/algorithm.md, *The joint law* and *The residual in closed form*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsbd.settings import ResolvedSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TOKEN_BITS = 32
_TOKEN_MASK = (1 << _TOKEN_BITS) - 1


class TopTokens(NamedTuple):
    """The likeliest next tokens of one beam: top_k of them (all where top_k is 0), ties to the lowest id."""

    tokens: Ints  # [k]
    log_probs: Floats  # [k] raw log p(token | beam), nats


def pair_keys(beams: Ints, tokens: Ints) -> Ints:
    """One sortable number per (beam place, token) pair; its order is the fixed pair order."""
    return (beams << _TOKEN_BITS) | tokens


@dataclass(frozen=True)
class Law:
    """A law over pairs in their fixed order: by alive beam, then by token id.

    ``ranks`` is set for greedy decoding without replacement only: the law is then the best pair that
    is left, and ``ranks`` is the order in which pairs become the best.
    """

    keys: Ints  # [n] ascending, see pair_keys
    probs: Floats  # [n] sum 1; positive unless ranked
    log_weights: Floats  # [n] raw log-weight of the beam that each pair makes, nats
    ranks: Ints | None = None  # [n] pair indices, best first

    def find(self, beam: int, token: int) -> int | None:
        """Index of a pair, None where it has no probability."""
        key = (beam << _TOKEN_BITS) | token
        index = int(np.searchsorted(self.keys, key))
        return index if index < self.keys.size and self.keys[index] == key else None

    def pair(self, index: int) -> tuple[int, int]:
        """Place of the beam, and token, of a pair."""
        key = int(self.keys[index])
        return key >> _TOKEN_BITS, key & _TOKEN_MASK

    def probability(self, index: int) -> float:
        """P at a pair; 1 under a ranked law, where every pair is certain once its turn has come."""
        return 1.0 if self.ranks is not None else float(self.probs[index])

    @property
    def support(self) -> int:
        """Number of pairs that can be drawn."""
        return int(self.probs.size)

    def masses(self, removed: Sequence[int] = ()) -> Floats:
        """Probability of each pair [n] once ``removed`` pairs are out, not renormalised."""
        if self.ranks is not None:
            masses = np.zeros_like(self.probs)
            left = [index for index in self.ranks.tolist() if index not in removed]
            masses[left[:1]] = 1.0
            return masses
        if not removed:
            return self.probs
        masses = self.probs.copy()
        masses[list(removed)] = 0.0
        return masses


def joint_law(
    rows: Sequence[TopTokens], log_weights: Sequence[float], multiplicities: Sequence[int], settings: ResolvedSettings
) -> Law:
    """Warp the joint law of a layer once: temperature, then top-k, then top-p.

    *Source:* docs/algorithm.md, *The joint law*.

    Args:
        rows: next-token rows of the alive beams, in the order of the beams.
        log_weights: raw log-weights of the beams, nats.
        multiplicities: how often each beam occurs; added after the division by the temperature,
            so a pair's mass is multiplicity * exp((log_weight + log p) / temperature).
        settings: temperature, top_k, top_p, replacement are read.

    *Source:* the paper's T o p_beam.
    """
    sizes = [row.tokens.size for row in rows]
    keys = pair_keys(np.repeat(np.arange(len(rows)), sizes), np.concatenate([row.tokens for row in rows]))
    weights = np.concatenate([row.log_probs for row in rows]) + np.repeat(np.asarray(log_weights), sizes)
    possible = weights > -np.inf
    if not possible.all():
        keys, weights = keys[possible], weights[possible]
    if settings.temperature == 0:
        return _greedy_law(keys, weights, settings)
    scores = (weights - weights.max()) / settings.temperature
    if max(multiplicities) > 1:
        scores = scores + np.log(np.asarray(multiplicities, dtype=np.float64))[keys >> _TOKEN_BITS]
    if 0 < settings.top_k < scores.size:
        kept = np.lexsort((keys, -scores))[: settings.top_k]
        keys, weights, scores = keys[kept], weights[kept], scores[kept]
    if not (keys[1:] > keys[:-1]).all():  # whole rows come in order
        order = np.argsort(keys)
        keys, weights, scores = keys[order], weights[order], scores[order]
    probs = np.exp(scores - scores.max())
    probs /= probs.sum()
    if not probs.all():  # what underflows can never be drawn
        keys, weights, probs = keys[probs > 0], weights[probs > 0], probs[probs > 0]
    if settings.top_p < 1:
        kept = _nucleus(keys, probs, settings.top_p)
        keys, weights, probs = keys[kept], weights[kept], probs[kept] / probs[kept].sum()
    return Law(keys, probs, weights)


def _nucleus(keys: Ints, probs: Floats, top_p: float) -> Ints:
    """Indices, ascending, of the likeliest pairs up to mass ``top_p``, the one that crosses it included."""
    order = np.lexsort((keys, -probs))
    before = np.cumsum(probs[order]) - probs[order]
    return np.sort(order[before < top_p])


def _greedy_law(keys: Ints, weights: Floats, settings: ResolvedSettings) -> Law:
    """Temperature 0: all mass on the best pair; without replacement on the best that is left."""
    ranked = np.lexsort((keys, -weights))
    if settings.replacement:
        best = ranked[:1]
        return Law(keys[best], np.ones(1), weights[best])
    if settings.top_k > 0:
        ranked = ranked[: settings.top_k]
    order = np.argsort(keys[ranked])
    kept = ranked[order]
    ranks = np.argsort(order)
    probs = np.zeros(kept.size)
    probs[ranks[0]] = 1.0
    return Law(keys[kept], probs, weights[kept], ranks)


class Residual:
    """The target's law as the trials of a layer change it, in closed form.

    After rejections P' = max(P - c Q, 0) / S(c) with S(c) = sum max(P - c Q, 0); a rejection moves
    c by S(c) * gain; an acceptance resets c to 0 (docs/algorithm.md, *The residual in closed form*). ``gain`` is 1 for
    independent drafts; without replacement the k-th draft came from Q less the earlier drafts,
    renormalised, which is Q times gain = 1 / (1 - mass of the earlier drafts).

    Without replacement two more things hold. An accepted pair leaves P for good. A pair drafted
    before the last acceptance takes no further part in Q, while one drafted since has P' = 0 by itself:
    its P - c Q went negative when it was rejected.
    """

    def __init__(self, law: Law, draft_probs: Floats, replacement: bool) -> None:
        """``draft_probs`` [n]: Q at the pairs of ``law``, in their order."""
        self.law = law
        self.replacement = replacement
        self._target = law.masses()
        self._draft = draft_probs if law.ranks is None else np.zeros_like(draft_probs)
        self._drafted: list[int] = []
        self._removed: list[int] = []
        self.c = 0.0
        self.S = float(self._target.sum())

    def probability(self, index: int) -> float:
        """P' at a pair."""
        mass = max(float(self._target[index]) - self.c * float(self._draft[index]), 0.0)
        return mass / self.S

    def reject(self, index: int | None, gain: float) -> bool:
        """Move to the residual after a rejection; False, changing nothing, where nothing would be left.

        Nothing is left only when P' = Q up to rounding, and then every draft is to be accepted.
        """
        c = self.c + self.S * gain
        rest = float(np.maximum(self._target - c * self._draft, 0.0).sum())
        if rest <= 0:
            return False
        self.c, self.S = c, rest
        self._drafted += [] if index is None else [index]
        return True

    def accept(self, index: int) -> None:
        """Reset after an accepted draft; without replacement the pair leaves the law."""
        self._drafted.append(index)
        if not self.replacement:
            self._draft = self._draft.copy()
            self._draft[self._drafted] = 0.0
        self.take(index)

    def take(self, index: int) -> None:
        """Reset after a pair was drawn or accepted; without replacement it leaves the law."""
        if not self.replacement:
            self._removed.append(index)
            self._target = self.law.masses(self._removed)
        self.c = 0.0
        self.S = float(self._target.sum())

    def masses(self) -> Floats:
        """P' [n], not normalised."""
        return np.maximum(self._target - self.c * self._draft, 0.0)
