"""The joint test: the longest beginning of the draft's best beam that is likely enough as a whole. No model, no torch.

It keeps no distribution: what it accepts does not follow the target's distribution, and after a rejection the token is
drawn from the target's own distribution and not from a residual.

*Source:* multi-token joint speculative decoding (arXiv 2407.09722); docs/algorithm.md, *Joint tests*. Differs from the
authors' code, which compares warped probabilities: here both sums are of raw log-probabilities, so that the test makes
sense at temperature 0 too.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import Floats, JointDistribution, joint_distribution
from dsbd.verification.forest import Forest
from dsbd.verification.verified import Choices, Draw, DrawKind, JointSums, Outcome, Trial, Verdict, VerifiedLayer
from dsbd.verification.verify import TopTokensAfter
from dsbd.verification.width import BONUS, Numbers, Width

ONE_SEQUENCE = Width(1, lambda: Numbers([0.0], [1.0], [], [1.0], "joint"))
"""The width of every drafted layer: the method follows one sequence."""


def acceptance(sums: JointSums) -> float:
    """Return min(1, p / q) of a beginning of the beam, p and q being the probabilities of all its tokens together.

    >>> acceptance(JointSums(math.log(1 / 4), math.log(1 / 2), 0.9)), acceptance(JointSums(-1.0, -2.0, 0.9))
    (0.5, 1.0)
    """
    return 0.0 if sums.target is None else math.exp(min(sums.target - sums.draft, 0.0))


def passes(sums: JointSums) -> bool:
    """Return True if a beginning is likely enough. One that the target finds impossible never is.

    >>> passes(JointSums(-1.0, -1.0, 1.0)), passes(JointSums(-1.0, -1.0, 1.1)), passes(JointSums(None, -1.0, 0.0))
    (True, False, False)
    """
    return sums.target is not None and acceptance(sums) >= sums.threshold


def verify_joint(
    forest: Forest,
    best: Sequence[Node],
    log_probs: Sequence[tuple[float, float]],
    next_tokens: TopTokensAfter,
    settings: ResolvedSettings,
    eos: Collection[int],
    choices: Choices,
) -> list[VerifiedLayer]:
    """Test the draft's best beam, keep what is accepted, then draw one token from the target's own distribution.

    No token is drawn after one that ends, nor after a block that the target searched itself.

    The toy's beam "aab" below "a", at the threshold 1/2: the target finds "a" twice as likely as the draft model does,
    and "ab" as likely:

    >>> from dsbd.verification import toy
    >>> from dsbd.verification.verified import Uniforms
    >>> forest = Forest(toy.BEAMS[:1], toy.forest().layers)
    >>> log_probs = [(math.log(2 / 3), math.log(1 / 3))]
    >>> chosen = toy.settings(joint_threshold=0.5, lossless=False)
    >>> layers = verify_joint(forest, [toy.AA], log_probs, toy.next_tokens, chosen, toy.EOS, Uniforms([0.9]))
    >>> [(layer.outcome, [toy.text(one.node) for one in layer.beams]) for layer in layers]
    [('passed', ['aa']), ('finished', ['aa.'])]

    Args:
        forest: what was drafted below the one input beam.
        best: nodes [n] of the beam that the draft model finds likeliest, top down, n at least 1.
        log_probs: [n] raw log p(token | parent) of each, nats: under the target, where it may be minus infinity, and
            under the draft model.
        next_tokens: gives the target's next tokens after the input beam and the unfinished nodes of ``best``.
        settings: joint_threshold, temperature, top_k, top_p and replacement are read.
        eos: token ids that end a beam.
        choices: the randomness of the one draw.

    Returns:
        A layer for each token that came out, at least one.
    """
    return _JointVerifier(forest, best, log_probs, next_tokens, settings, eos, choices).run()


@dataclass(frozen=True)
class _JointVerifier:
    forest: Forest
    best: Sequence[Node]
    log_probs: Sequence[tuple[float, float]]
    next_tokens: TopTokensAfter
    settings: ResolvedSettings
    eos: Collection[int]
    choices: Choices

    def run(self) -> list[VerifiedLayer]:
        both = zip(*map(accumulate, zip(*self.log_probs, strict=True)), strict=True)
        threshold = self.settings.joint_threshold
        sums = [JointSums(target if target > -math.inf else None, draft, threshold) for target, draft in both]
        count = max((length for length, one in enumerate(sums, 1) if passes(one)), default=0)  # the longest that passes
        trials = [self._trial(index, one, count) for index, one in enumerate(sums)]
        (alive,), layers = self.forest.input_beams, list[VerifiedLayer]()
        for index in range(count):
            layers.append(self._accepted(alive, index, trials[index]))
            (alive,) = layers[-1].beams
        if layers and (not layers[-1].living or layers[-1].outcome == "block"):
            return layers
        return [*layers, self._drawn(alive, count, trials[count:])]

    def _trial(self, index: int, sums: JointSums, count: int) -> Trial[Node]:
        node = self.best[index]
        verdict: Verdict = "rejected"
        if index < count:
            verdict = "accepted" if passes(sums) else "carried"
        prob = self.forest.layers[index].distributions[0].probability(node)
        return Trial(index + 1, 0, node, verdict, prob, None, None, None, acceptance(sums), None, sums)

    def _accepted(self, alive: Beam, index: int, trial: Trial[Node]) -> VerifiedLayer:
        beam = Beam(trial.node, alive.log_weight + self.log_probs[index][0])
        outcome: Outcome = "passed"
        if trial.node.token in self.eos:
            outcome = "finished"
        elif self.settings.searches_blocks and index + 1 == len(self.best):
            outcome = "block"
        living = [] if outcome == "finished" else [beam]
        return VerifiedLayer(
            [alive], *self._distributions(alive, index), ONE_SEQUENCE, [trial], [], [beam], living, outcome
        )

    def _drawn(self, alive: Beam, index: int, trials: list[Trial[Node]]) -> VerifiedLayer:
        """Draw the token after the accepted ones from the target's own distribution, rejected or not."""
        distribution, draft_probs = self._distributions(alive, index)
        drawn = self.choices.draw(distribution.masses())
        _, token = distribution.candidate(drawn.index)
        landed = self.forest.find(alive.node, token)
        node = landed or alive.node.child(token)
        target, draft = distribution.probability(drawn.index), float(draft_probs[drawn.index])
        kind: DrawKind = "fresh" if trials else "bonus"
        where = drawn.uniform, drawn.low, drawn.high
        draw = Draw(index + 1, 0, kind, node, landed is not None, target, draft, 0.0, 1.0, *where)
        beam = Beam(node, float(distribution.log_weights[drawn.index]))
        outcome: Outcome = "finished" if token in self.eos else "short" if trials else "bonus"
        living, width = [] if outcome == "finished" else [beam], ONE_SEQUENCE if trials else Width(1, lambda: BONUS)
        return VerifiedLayer([alive], distribution, draft_probs, width, trials, [draw], [beam], living, outcome)

    def _distributions(self, alive: Beam, index: int) -> tuple[JointDistribution, Floats]:
        """Return P below the alive beam, and Q at its candidates; zeros below the last drafted layer."""
        distribution = joint_distribution(self.next_tokens([alive.node]), [alive.log_weight], [1], self.settings)
        if index >= len(self.best):
            return distribution, np.zeros(distribution.support)
        return distribution, self.forest.layers[index].distributions[0].restrict(distribution, {alive.node: 0})[0]
