"""What verification decides with, and what it decided: verdicts, choices, and the trials and draws of each layer.

*Source:* docs/algorithm.md, *One iteration*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np

from dsbd.law.beams import Beam, Node
from dsbd.law.laws import Floats, Law
from dsbd.law.width import Width

Verdict = Literal["accepted", "rejected", "orphaned", "unneeded", "carried"]
"""Of a draft. carried: in a joint test it fails, but a longer beginning of the beam passes and takes it along."""
TAKEN: tuple[Verdict, ...] = ("accepted", "carried")
"""Verdicts of the drafts that a layer yields."""
DrawKind = Literal["recovered", "fresh", "bonus"]
"""The source of a drawn beam: the residual, the target's law, or the bonus layer."""
Outcome = Literal["passed", "landed", "short", "bonus", "finished", "block"]
"""Of a layer. passed: accepted drafts reached its width; landed: every drawn beam landed, so verification goes on;
short: verification ends here; bonus: the bonus layer; finished: no beam is alive any more;
block: the last layer of a block that the target searched itself, after which no token is drawn."""


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """A pair drawn by inverting the cumulative sum of a law: ``low <= uniform < high``."""

    index: int
    uniform: float
    low: float
    high: float


class Choices(Protocol):
    """The two random decisions of verification."""

    def accept(self, probability: float) -> tuple[bool, float]:
        """Return True with this probability, and the uniform that decided."""
        ...

    def draw(self, masses: Floats) -> DrawnPair:
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

    def draw(self, masses: Floats) -> DrawnPair:
        """Draw the index whose interval of the cumulative sum holds the next uniform.

        >>> Uniforms([0.55]).draw(np.array([1 / 2, 1 / 8, 1 / 8, 1 / 4]))  # P of the toy: aa, ab, a., ba
        DrawnPair(index=1, uniform=0.55, low=0.5, high=0.625)
        """
        uniform = next(self._next)
        cdf = np.cumsum(masses)
        cdf /= cdf[-1]
        index = int(cdf.searchsorted(uniform, side="right"))
        return DrawnPair(index, uniform, float(cdf[index - 1]) if index else 0.0, float(cdf[index]))


class JointSums(NamedTuple):
    """What a joint test compares at one token of the draft's best beam; nats.

    The fields mean what those of ``dsbd.tracing.records.JointSums`` mean.
    """

    target: float
    draft: float
    threshold: float


class TriedDraft(NamedTuple):
    """One draft and its verdict. The fields mean what those of ``dsbd.tracing.records.Trial`` mean."""

    node: Node
    order: int
    verdict: Verdict
    draft_prob: float
    residual_prob: float | None = None
    c: float | None = None
    S: float | None = None
    acceptance: float | None = None
    uniform: float | None = None
    joint: JointSums | None = None


class DrawnBeam(NamedTuple):
    """One beam drawn from the target's law. The fields mean what those of ``dsbd.tracing.records.Draw`` mean."""

    kind: DrawKind
    node: Node
    landed: bool
    target_prob: float
    draft_prob: float
    c: float
    S: float
    drawn: DrawnPair


@dataclass(frozen=True)
class VerifiedLayer:
    """What one layer decided."""

    alive: list[Beam]
    """The beams that the layer extends, in the order of ``law``."""
    law: Law
    draft_probs: Floats  # Q at the pairs of ``law``; zeros in a bonus layer
    width: Width | None
    """None in a bonus layer."""
    trials: list[TriedDraft]
    draws: list[DrawnBeam]
    beams: list[Beam]
    """The beams that the layer yielded, finished ones included."""
    living: list[Beam]
    """The beams that did not finish. The next layer extends them."""
    outcome: Outcome

    @property
    def continues(self) -> bool:
        """True if verification goes on below this layer."""
        return self.outcome in ("passed", "landed")

    @property
    def is_bonus(self) -> bool:
        """True for a layer that was drawn from the target's law alone."""
        return bool(self.draws) and self.draws[0].kind == "bonus"


def draft_layers_passed(layers: Sequence[VerifiedLayer]) -> tuple[int, bool]:
    """Return how many draft layers of an iteration let verification go on, and whether one ended it.

    >>> from dsbd.law import toy
    >>> from dsbd.law.verified import Uniforms
    >>> from dsbd.law.verify import verify
    >>> draft_layers_passed(verify(toy.forest(), toy.next_tokens, toy.settings(), toy.EOS, Uniforms([0.7, 0.2, 0.9])))
    (0, True)
    """
    return sum(layer.continues for layer in layers), layers[-1].outcome == "short"
