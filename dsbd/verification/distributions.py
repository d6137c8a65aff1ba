"""The joint distribution of a layer, over (alive beam, token) candidates, and the residual that rejections leave.

Everything here is host arithmetic in float64 on the few candidates that top-k leaves. ``draft_*`` and
``target_*`` say whose distribution a number belongs to.

*Source:* docs/algorithm.md, *The joint distribution* and *The residual in closed form*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dsbd.settings import ResolvedSettings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_LEFT = 1e-290
"""Where less of P is left after removals, P' is made from scores: smaller probabilities have lost digits."""
COLDEST = 1e-300
"""Colder temperatures are this one: no score overflows, and weights that differ at all are still told apart."""
_TOKEN_BITS = 32
_TOKEN_MASK = (1 << _TOKEN_BITS) - 1


class TopTokens(NamedTuple):
    """The likeliest next tokens of one beam: all where top_k is 0, else top_k of them and perhaps a few more.

    Ties go to the lowest id. The few more tokens do not change the joint distribution.
    """

    tokens: Ints  # [k]
    log_probs: Floats  # [k] raw log p(token | beam), nats


@dataclass(frozen=True)
class JointDistribution:
    """A distribution over candidates in their fixed order: by alive beam, then by token id.

    ``ranks`` is set for greedy decoding without replacement only. The distribution is then certain to draw the best
    candidate that is left, and ``ranks`` is the order in which candidates become the best one.
    """

    keys: Ints  # [n] ascending: index of the beam among the alive beams, shifted left, and the token id
    probs: Floats  # [n] sum 1; positive with replacement. Without it a candidate may underflow to 0 and still be drawn
    log_weights: Floats  # [n] raw log-weight of the beam that each candidate makes, nats
    scores: Floats  # [n] log of the mass, up to a number that all share: what never underflows
    ranks: Ints | None = None  # [n] candidate indices, best first

    def find(self, beam: int, token: int) -> int | None:
        """Return the index of a candidate; None if the candidate has no probability.

        >>> from dsbd.verification import toy
        >>> toy.target_distribution().find(1, 0), toy.target_distribution().find(1, 1)  # "ba" and "bb"
        (3, None)
        """
        key = (beam << _TOKEN_BITS) | token
        index = int(self.keys.searchsorted(key))
        return index if index < self.keys.size and self.keys[index] == key else None

    def locate(self, beams: Ints, tokens: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the index of each of many candidates [n], and whether the distribution has it; if not, the index means
        nothing.

        >>> from dsbd.verification import toy
        >>> index, has = toy.target_distribution().locate(np.array([1, 1]), np.array([0, 1]))  # "ba" and "bb"
        >>> index[has].tolist(), has.tolist()
        ([3], [True, False])
        """
        keys = (beams << _TOKEN_BITS) | tokens
        index = np.minimum(self.keys.searchsorted(keys), self.support - 1)
        return index, self.keys[index] == keys

    def candidate(self, index: int) -> tuple[int, int]:
        """Return the index of the beam and the token of a candidate.

        >>> from dsbd.verification import toy
        >>> toy.target_distribution().candidate(3)
        (1, 0)
        """
        key = int(self.keys[index])
        return key >> _TOKEN_BITS, key & _TOKEN_MASK

    def candidates(self, indices: Ints) -> tuple[Ints, Ints]:
        """Return the indices of the beams and the tokens of many candidates [n].

        >>> from dsbd.verification import toy
        >>> beams, tokens = toy.target_distribution().candidates(np.array([3, 0]))
        >>> beams.tolist(), tokens.tolist()
        ([1, 0], [0, 0])
        """
        keys = self.keys[indices]
        return keys >> _TOKEN_BITS, keys & _TOKEN_MASK

    def best_first(self) -> Ints:
        """Return the indices of all candidates [n], likeliest first; of a ranked distribution in the order they become
        the best one.

        >>> from dsbd.verification import toy
        >>> toy.target_distribution().best_first().tolist()
        [0, 3, 1, 2]
        """
        return _best_first(self.probs) if self.ranks is None else self.ranks

    def probability(self, index: int) -> float:
        """Return P at a candidate. Under a ranked distribution this is 1: every candidate is certain when its turn
        comes.

        >>> from dsbd.verification import toy
        >>> round(toy.target_distribution().probability(3), 6)
        0.25
        """
        return 1.0 if self.ranks is not None else float(self.probs[index])

    @property
    def support(self) -> int:
        """Number of candidates that can be drawn."""
        return int(self.probs.size)

    def masses(self, removed: Sequence[int] = ()) -> Floats:
        """Return the probability of each candidate [n], 0 at the ``removed`` ones, not renormalised.

        >>> from dsbd.verification import toy
        >>> [round(mass, 6) for mass in toy.target_distribution().masses(removed=[0]).tolist()]
        [0.0, 0.125, 0.125, 0.25]
        """
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

    def masses_of_rest(self, removed: Sequence[int]) -> Floats:
        """Return the probability of each candidate [n] relative to the best one that is left, 0 at the ``removed``
        ones.

        It is made from the scores, so that nothing underflows before the candidates that are left are compared.

        >>> from dsbd.verification import toy
        >>> [round(mass, 6) for mass in toy.target_distribution().masses_of_rest(removed=[0]).tolist()]
        [0.0, 0.5, 0.5, 1.0]
        """
        scores = self.scores.copy()
        scores[list(removed)] = -np.inf
        masses: Floats = np.exp(scores - scores.max())
        return masses


def joint_distribution(
    next_tokens: Sequence[TopTokens],
    log_weights: Sequence[float],
    multiplicities: Sequence[int],
    settings: ResolvedSettings,
) -> JointDistribution:
    """Make the joint distribution of a layer: temperature, then top-k, then top-p, each once and over all candidates.

    >>> from dsbd.verification import toy
    >>> log_weights = [beam.log_weight for beam in toy.BEAMS]  # "a": log 3/4, "b": log 1/4
    >>> distribution = joint_distribution(toy.next_tokens([toy.A, toy.B]), log_weights, [1, 1], toy.settings())
    >>> [round(prob, 3) for prob in distribution.probs.tolist()]  # aa, ab, a., ba
    [0.5, 0.125, 0.125, 0.25]
    >>> distribution = joint_distribution(toy.next_tokens([toy.A, toy.B]), log_weights, [1, 2], toy.settings())
    >>> [round(prob, 3) for prob in distribution.probs.tolist()]
    [0.4, 0.1, 0.1, 0.4]

    Args:
        next_tokens: after each alive beam, in the order of the beams.
        log_weights: raw log-weights of the beams, nats.
        multiplicities: how often each beam occurs. It is applied after the division by the temperature:
            the mass of a candidate is multiplicity * exp((log_weight + log p) / temperature).
        settings: temperature, top_k, top_p, replacement are read.

    *Source:* the paper's T o p_beam; docs/algorithm.md, *The joint distribution*.
    """
    sizes = [one.tokens.size for one in next_tokens]
    keys = np.repeat(np.arange(len(next_tokens)) << _TOKEN_BITS, sizes) | np.concatenate(
        [one.tokens for one in next_tokens]
    )
    weights = np.concatenate([one.log_probs for one in next_tokens]) + np.repeat(np.asarray(log_weights), sizes)
    possible = weights > -np.inf
    if not possible.all():
        keys, weights = keys[possible], weights[possible]
    if not (keys[1:] > keys[:-1]).all():
        order = keys.argsort()
        keys, weights = keys[order], weights[order]
    if settings.temperature == 0:
        return _greedy_distribution(keys, weights, settings)
    scores = (weights - weights.max()) / max(settings.temperature, COLDEST)
    if max(multiplicities) > 1:
        scores = scores + np.log(np.asarray(multiplicities, dtype=np.float64))[keys >> _TOKEN_BITS]
    if 0 < settings.top_k < scores.size:
        kept = _best_first(scores)[: settings.top_k]
        kept.sort()
        keys, weights, scores = keys[kept], weights[kept], scores[kept]
    probs = np.exp(scores - scores.max())
    probs /= probs.sum()
    if settings.replacement and not probs.all():  # a candidate whose probability underflows to 0 can never be drawn
        keys, weights, scores, probs = (values[probs > 0] for values in (keys, weights, scores, probs))
    if settings.top_p < 1:
        kept = _nucleus(probs, settings.top_p)
        keys, weights, scores, probs = keys[kept], weights[kept], scores[kept], probs[kept] / probs[kept].sum()
    return JointDistribution(keys, probs, weights, scores)


def _best_first(values: Floats) -> Ints:
    """Return the indices of all values, best first. Ties go to the lowest index: to the first in the order of
    candidates.
    """
    return (-values).argsort(kind="stable")


def _nucleus(probs: Floats, top_p: float) -> Ints:
    """Return the indices, ascending, of the likeliest candidates up to mass ``top_p``, with the one that crosses it."""
    order = _best_first(probs)
    before = np.cumsum(probs[order]) - probs[order]
    return np.sort(order[before < top_p])


def _greedy_distribution(keys: Ints, weights: Floats, settings: ResolvedSettings) -> JointDistribution:
    """Make the distribution of temperature 0: all mass on the best candidate, without replacement on the best that is
    left.
    """
    ranked = _best_first(weights)
    if settings.replacement:
        best = ranked[:1]
        return JointDistribution(keys[best], np.ones(1), weights[best], np.zeros(1))
    if settings.top_k > 0:
        ranked = ranked[: settings.top_k]
    order = np.argsort(ranked)
    kept = ranked[order]
    ranks = np.argsort(order)
    probs = np.zeros(kept.size)
    probs[ranks[0]] = 1.0
    return JointDistribution(keys[kept], probs, weights[kept], weights[kept], ranks)


class Residual:
    """P', the target's distribution as the trials of a layer change it, in closed form.

    P' = max(P - c Q, 0) / S(c) with S(c) = sum of max(P - c Q, 0). A rejection adds S(c) * gain to c; an acceptance
    sets c to 0. For independent drafts gain is 1. Without replacement the k-th draft came from Q with the earlier
    drafts removed and renormalised. On the candidates that are left this is Q * gain, gain = 1 / (1 - mass of the
    earlier drafts).

    Without replacement an accepted candidate also leaves P, and after an acceptance the candidates drafted so far are
    set to 0 in Q. Pairs rejected since the last acceptance need no such step: their P - c Q is negative already.

    >>> from dsbd.verification import toy
    >>> residual = Residual(toy.target_distribution(), toy.DRAFT_PROBS, replacement=True)
    >>> residual.reject(1, gain=1.0)  # the draft "ab"
    True
    >>> residual.c, round(residual.S, 6)  # P - Q is 1/4 at "aa" and not positive elsewhere
    (1.0, 0.25)
    >>> round(residual.probability(0), 6), [round(mass, 6) for mass in residual.masses().tolist()]
    (1.0, [0.25, 0.0, 0.0, 0.0])

    *Source:* docs/algorithm.md, *The residual in closed form* and *Without replacement*.
    """

    def __init__(self, distribution: JointDistribution, draft_probs: Floats, replacement: bool) -> None:
        """Start with P' = P. ``draft_probs`` [n] is Q at the candidates of ``distribution``, in their order."""
        self.distribution = distribution
        self.replacement = replacement
        self._target = distribution.masses()
        self._draft = draft_probs if distribution.ranks is None else np.zeros_like(draft_probs)
        self._drafted: list[int] = []
        self._removed: list[int] = []
        self._unit = 1.0
        self.c = 0.0
        self.S = self._whole = float(self._target.sum())

    @property
    def recorded(self) -> tuple[float, float]:
        """c and S in units of P. Where nearly nothing of P is left they underflow, and the residual itself does not."""
        return self.c * self._unit, self.S * self._unit

    def probability(self, index: int) -> float:
        """Return P' at a candidate."""
        mass = max(float(self._target[index]) - self.c * float(self._draft[index]), 0.0)
        return mass / self.S

    def reject(self, index: int | None, gain: float) -> bool:
        """Move to the residual after a rejection. If nothing would be left, change nothing and return False.

        Nothing is left only where P' = Q up to rounding. A tried draft that is a candidate of P is then
        accepted; an orphan or a candidate outside P stays rejected.

        >>> from dsbd.verification import toy
        >>> equal = Residual(toy.target_distribution(), toy.target_distribution().probs, replacement=True)
        >>> equal.reject(0, gain=1.0)
        False

        Args:
            index: the rejected candidate; None for an orphan, which is no candidate of this distribution.
            gain: Q * gain is the distribution the draft came from.
        """
        c = self.c + self.S * gain
        rest = float(excess(self._target, self._draft, c).sum())
        if rest <= 0:
            return False
        self.c, self.S = c, rest
        self._drafted += [] if index is None else [index]
        return True

    def accept(self, index: int) -> None:
        """Start again from P after an accepted draft; without replacement the candidate leaves P and Q.

        >>> from dsbd.verification import toy
        >>> residual = Residual(toy.target_distribution(), toy.DRAFT_PROBS, replacement=False)
        >>> residual.accept(0)  # "aa"
        >>> residual.c, round(residual.S, 6), round(residual.probability(3), 6)  # "ba": 1/4 of the 1/2 that is left
        (0.0, 0.5, 0.5)
        """
        self._drafted.append(index)
        if not self.replacement:
            self._draft = self._draft.copy()
            self._draft[self._drafted] = 0.0
        self.take(index)

    def take(self, index: int) -> None:
        """Start again from P after a candidate was drawn or accepted; without replacement the candidate leaves P."""
        if not self.replacement:
            self._removed.append(index)
            self._target = self.distribution.masses(self._removed)
            self._whole = float(self._target.sum())
            if self._whole < LEAST_LEFT and len(self._removed) < self.distribution.support:
                self._target = self.distribution.masses_of_rest(self._removed)
                self._unit = self._whole / float(self._target.sum())
                self._whole = float(self._target.sum())
        self.c, self.S = 0.0, self._whole

    def masses(self) -> Floats:
        """Return P' at all candidates [n], not normalised: the sum is S."""
        return excess(self._target, self._draft, self.c) if self.c > 0 else self._target


def excess(target_probs: Floats, draft_probs: Floats, c: float) -> Floats:
    """Return what is left of P at each candidate [n] where c times Q is taken from it; its sum is S(c).

    >>> excess(np.array([1 / 2, 1 / 4]), np.array([1 / 4, 1 / 2]), 1.0).tolist()
    [0.25, 0.0]
    """
    return np.maximum(target_probs - c * draft_probs, 0.0)
