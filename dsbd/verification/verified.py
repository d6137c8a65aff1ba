"""The random choices of verification, and its results: the trials, verdicts and draws of each layer.

Trials and draws are the records of a trace; while a layer is decided they hold the node itself instead of its id.

*Source:* docs/algorithm.md, *One iteration*.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, Protocol

import numpy as np
from pydantic import ConfigDict
from typing_extensions import TypeVar

from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Hypothesis, Node, ends_early, score_hypothesis
from dsbd.verification.distributions import Floats, JointDistribution
from dsbd.verification.width import Width

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
"""The rules of every record: no unknown field, no number that JSON does not have."""
CHECKED = ConfigDict(**STRICT, revalidate_instances="always")
"""The same for what verification makes, which is checked when it enters the record of its iteration."""

Verdict = Literal["accepted", "rejected", "orphaned", "unneeded", "carried"]
"""Of a draft. carried: in a joint test it fails, but a longer beginning of the beam passes and takes it along."""
TAKEN: tuple[Verdict, ...] = ("accepted", "carried")
"""Verdicts of the drafts that a layer yields."""
DrawKind = Literal["recovered", "guessed", "fresh", "bonus"]
"""How a beam was drawn. recovered: from the residual; fresh: from the target's distribution; bonus: the bonus layer;
guessed: a coupled draw of a node that is in the forest."""
Outcome = Literal["passed", "landed", "short", "bonus", "finished", "stopped", "block"]
"""Of a layer. passed: accepted drafts reached its width; landed: every drawn beam is in the forest or finished; after
both verification goes on, unless the answer ends there at a text of ``stop``; short: verification ends here;
bonus: the bonus layer; finished: no beam is alive any more;
stopped: enough beams have finished, so the decode ends here and drops those that are alive;
block: the last layer of a block that the target searched itself, after which no token is drawn."""


@dataclass(frozen=True, slots=True)
class DrawnCandidate:
    """A candidate drawn by inverting the cumulative sum of a distribution: ``low <= uniform < high``."""

    index: int
    uniform: float
    low: float
    high: float


class Choices(Protocol):
    """The two random decisions of verification."""

    def accept(self, probability: float) -> tuple[bool, float]:
        """Return True with this probability, and the uniform that decided."""
        ...

    def draw(self, masses: Floats) -> DrawnCandidate:
        """Draw an index with probability in proportion to ``masses`` [n]."""
        ...


class Uniforms:
    """Choices decided by a list of uniforms in [0, 1), each used once, in order."""

    def __init__(self, uniforms: Sequence[float]) -> None:
        self._next = iter(uniforms)

    def accept(self, probability: float) -> tuple[bool, float]:
        """Accept when the next uniform is below ``probability``.

        >>> Uniforms([0.2]).accept(0.5), Uniforms([0.7]).accept(0.5)
        ((True, 0.2), (False, 0.7))
        """
        uniform = next(self._next)
        return uniform < probability, uniform

    def draw(self, masses: Floats) -> DrawnCandidate:
        """Draw the index whose interval of the cumulative sum holds the next uniform.

        >>> Uniforms([0.55]).draw(np.array([1 / 2, 1 / 8, 1 / 8, 1 / 4]))  # P of the toy: aa, ab, a., ba
        DrawnCandidate(index=1, uniform=0.55, low=0.5, high=0.625)
        """
        uniform = next(self._next)
        cdf = np.cumsum(masses)
        cdf /= cdf[-1]
        index = int(cdf.searchsorted(uniform, side="right"))
        return DrawnCandidate(index, uniform, float(cdf[index - 1]) if index else 0.0, float(cdf[index]))


@dataclass(frozen=True)
class JointSums:
    """What a joint test compares at one token of the draft's best beam: both models' sums of raw log-probabilities.

    The sums run from below the input beam to this token, in nats. The beginning of the beam up to it passes if
    min(1, exp(target - draft)) reaches the threshold.
    """

    __pydantic_config__ = CHECKED

    target: float | None
    """None if it is minus infinity."""
    draft: float
    threshold: float


Place = TypeVar("Place", default=int)
"""What names a node: itself while a layer is decided, then its id in the trace."""


@dataclass(frozen=True)
class Trial(Generic[Place]):
    """The test of one draft. Each duplicate of a node has a trial; a joint test tries the draft's best beam only.

    With c and S as in docs/algorithm.md, *The residual in closed form*, the residual at the node is
    max(P - c*Q, 0) / S, and the acceptance probability is min(1, residual / draft_prob).
    """

    __pydantic_config__ = CHECKED

    layer: int
    order: int
    """Index among the drafts of its layer, from 0, in the order in which they were drawn."""
    node: Place
    verdict: Verdict
    draft_prob: float
    """Q_k: the distribution that this draft was drawn from (without replacement: Q without earlier drafts,
    renormalised).
    """
    residual_prob: float | None
    """P': the target's residual at the node before this trial; None if orphaned or unneeded."""
    c: float | None
    S: float | None
    acceptance: float | None
    uniform: float | None
    """The random number; the draft is accepted if it is below ``acceptance``. None if no random number was needed."""
    joint: JointSums | None
    """In a joint test: the sums behind ``acceptance``, which is then min(1, exp(target - draft)); else None."""


@dataclass(frozen=True)
class Draw(Generic[Place]):
    """One beam drawn from the target's distribution.

    By inverse CDF, ``cdf_low <= uniform < cdf_high``, or by the noise: no other candidate has a larger score + noise.
    """

    __pydantic_config__ = CHECKED

    layer: int
    order: int
    kind: DrawKind
    node: Place
    landed: bool
    """True if the drawn candidate is a node of the forest."""
    target_prob: float
    """P at the candidate."""
    draft_prob: float
    """Q at the candidate (0 if the draft model could not have drawn it, and in a bonus layer)."""
    c: float | None = None
    S: float | None = None
    uniform: float | None = None
    cdf_low: float | None = None
    cdf_high: float | None = None
    noise: float | None = None
    """Of a coupled draw, which has none of the five above; 0 where nothing is random."""


@dataclass(frozen=True)
class VerifiedLayer:
    """What one layer decided."""

    alive: list[Beam]
    """The beams that the layer extends, in the order of ``distribution``."""
    distribution: JointDistribution
    draft_probs: Floats  # Q at the candidates of ``distribution``; zeros in a bonus layer
    width: Width
    trials: list[Trial[Node]]
    draws: list[Draw[Node]]
    beams: list[Beam]
    """The beams that the layer yielded, finished ones included."""
    living: list[Beam]
    """The beams that did not finish. The next layer extends them."""
    outcome: Outcome

    @property
    def continues(self) -> bool:
        """True if verification goes on below this layer."""
        return self.outcome in ("passed", "landed")


def draft_layers_passed(layers: Sequence[VerifiedLayer]) -> tuple[int, bool]:
    """Return how many draft layers of an iteration let verification go on, and whether one ended it.

    >>> from dsbd.verification import toy
    >>> from dsbd.verification.verified import Uniforms
    >>> from dsbd.verification.verify import verify
    >>> draft_layers_passed(verify(toy.forest(), toy.next_tokens, toy.settings(), toy.EOS, Uniforms([0.7, 0.2, 0.9])))
    (0, True)
    """
    return sum(layer.continues for layer in layers), layers[-1].outcome == "short"


def up_to_end(
    layers: Sequence[VerifiedLayer],
    finished: list[Hypothesis],
    settings: ResolvedSettings,
    eos: Collection[int],
    is_answered: Callable[[Sequence[Beam], Sequence[Hypothesis]], bool] = lambda alive, finished: False,
) -> list[VerifiedLayer]:
    """Return the layers of an iteration up to the one that ends the decode, if one does.

    It is decided layer by layer, so it does not depend on where iterations end. Where ``early_stopping`` ends the
    decode, no beam stays alive.

    Args:
        layers: as verified.
        finished: the hypotheses of the iterations before; those of the layers that are returned are added.
        settings: max_width, max_new_tokens, early_stopping and length_penalty are read.
        eos: token ids that end a beam.
        is_answered: whether a decode may end with the beams that a layer leaves alive and what has finished. An answer
            stays one, so most iterations ask once, at their last layer.

    >>> from dsbd.verification import toy
    >>> from dsbd.verification.verify import verify
    >>> layers = verify(toy.forest(), toy.next_tokens, toy.settings(), toy.EOS, Uniforms([0.7, 0.2, 0.9]))
    >>> finished = [score_hypothesis(Beam(toy.AA, -1.0, multiplicity=2), 1.0, True)]
    >>> [layer.outcome for layer in up_to_end(layers, finished, toy.settings(early_stopping=True), toy.EOS)]
    ['stopped']
    """
    kept, counts = list[VerifiedLayer](), list[int]()
    for layer in layers:
        ended = [beam for beam in layer.beams if beam.node.token in eos]
        finished += [score_hypothesis(beam, settings.length_penalty, True) for beam in ended]
        counts.append(len(finished))
        is_end = bool(layer.living) and ends_early(finished, layer.living, settings)
        kept.append(replace(layer, living=[], outcome="stopped") if is_end else layer)
        if is_end:
            break
    if kept[-1].living and not is_answered(kept[-1].living, finished):
        return kept
    for number, (layer, count) in enumerate(zip(kept, counts, strict=True), 1):
        if layer.living and is_answered(layer.living, finished[:count]):
            del finished[count:]
            return kept[:number]
    return kept
