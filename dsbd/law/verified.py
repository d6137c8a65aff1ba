"""What verification decided, layer by layer: the trials of the drafts, the draws, the beams that come out.

*Source:* docs/algorithm.md, *One iteration*.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dsbd.law.beams import Beam, Node
from dsbd.law.choices import DrawnPair
from dsbd.law.laws import Floats, Law
from dsbd.law.verdicts import DrawKind, Outcome, Verdict
from dsbd.law.width import Width


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
    >>> from dsbd.law.choices import Uniforms
    >>> from dsbd.law.verify import verify
    >>> draft_layers_passed(verify(toy.forest(), toy.next_tokens, toy.settings(), toy.EOS, Uniforms([0.7, 0.2, 0.9])))
    (0, True)
    """
    return sum(layer.continues for layer in layers), layers[-1].outcome == "short"
