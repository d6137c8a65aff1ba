"""Verification: decide layer by layer which drafts become beams of the target. No model, no torch.

Exact means: given everything up to layer l, the beams of layer l + 1 are ``width`` draws from the target's joint
distribution P of that layer. All randomness comes through :class:`~dsbd.verification.verified.Choices`.

*Source:* the paper's Algorithm 1 (which prints the ratio upside down: P'/Q is right); docs/algorithm.md,
*One iteration*, *SpecInfer's tree* and *What exact means*. Differs from the authors' code, which
verifies draws without replacement as if they were independent.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import Floats, JointDistribution, Residual, TopTokens, joint_distribution
from dsbd.verification.forest import Forest, ForestLayer
from dsbd.verification.noise import Noise, best_draws
from dsbd.verification.verified import Choices, Draw, DrawKind, Outcome, Trial, Verdict, VerifiedLayer
from dsbd.verification.width import BONUS, COUPLED, Width, cap_width, choose_width

TopTokensAfter = Callable[[Sequence[Node]], Sequence[TopTokens]]
"""Gives the target's next tokens after each of some nodes."""


def verify(
    forest: Forest,
    next_tokens: TopTokensAfter,
    settings: ResolvedSettings,
    eos: Collection[int],
    choices: Choices,
    noise: Noise | None = None,
) -> list[VerifiedLayer]:
    """Verify the forest layer by layer; then draw the bonus layer if verification may go on below the last one.

    In the toy, "ab" is rejected (0.7 is not below P/Q = 1/2), "aa" is accepted, and 0.9 draws "ba" to fill the width:

    >>> from dsbd.verification import toy
    >>> from dsbd.verification.verified import Uniforms
    >>> [layer] = verify(toy.forest(), toy.next_tokens, toy.settings(), toy.EOS, Uniforms([0.7, 0.2, 0.9]))
    >>> [(toy.text(trial.node), trial.verdict, round(trial.acceptance, 6)) for trial in layer.trials]
    [('ab', 'rejected', 0.5), ('aa', 'accepted', 1.0)]
    >>> [(draw.kind, toy.text(draw.node), draw.landed) for draw in layer.draws], layer.outcome
    ([('fresh', 'ba', False)], 'short')

    Args:
        forest: the drafts, drawn layer by layer from the draft distributions that it holds. A forest drawn per parent
            needs a width of 1: only the children of the alive beam are tried.
        next_tokens: gives the target's next tokens after input beams and unfinished forest nodes.
        settings: forest, widths, replacement, landing, temperature, top_k and top_p are read.
        eos: token ids that end a beam.
        choices: the randomness of trials and draws.
        noise: the randomness of coupled draws, which are no choices: it was there before the forest.

    Returns:
        The decided layers, at least one.
    """
    verifier = _Verifier(forest, next_tokens, settings, eos, choices, noise)
    alive, decided = forest.input_beams, list[VerifiedLayer]()
    for number, layer in enumerate(forest.layers, 1):
        drafted = layer.of(alive[0].node)
        state = verifier.enter(number, alive, drafted)
        if drafted is None or state.draft_mass <= 0:
            break
        decided.append(verifier.draft_layer(state, drafted))
        if not decided[-1].continues:
            return decided
        alive = decided[-1].living
    decided.append(verifier.bonus_layer(verifier.enter(len(decided) + 1, alive, None)))
    return decided


class _State(NamedTuple):
    """A layer before its first trial."""

    number: int  # from 1
    alive: list[Beam]
    beam_index: dict[Node, int]
    distribution: JointDistribution
    draft_probs: Floats
    draft_mass: float
    residual: Residual

    def log_weight(self, node: Node) -> float:
        """Return the log-weight of a node that the layer yields."""
        assert node.parent is not None
        index = self.distribution.find(self.beam_index[node.parent], node.token)
        assert index is not None
        return float(self.distribution.log_weights[index])


@dataclass(frozen=True)
class _Verifier:
    forest: Forest
    next_tokens: TopTokensAfter
    settings: ResolvedSettings
    eos: Collection[int]
    choices: Choices
    noise: Noise | None

    def enter(self, number: int, alive: list[Beam], drafted: ForestLayer | None) -> _State:
        """Make the distributions of the layer below ``alive``."""
        distribution = joint_distribution(
            self.next_tokens([beam.node for beam in alive]),
            [beam.log_weight for beam in alive],
            [beam.multiplicity for beam in alive],
            self.settings,
        )
        beam_index = {beam.node: index for index, beam in enumerate(alive)}
        draft_probs, mass = (
            (np.zeros(distribution.support), 0.0)
            if drafted is None
            else drafted.distribution.restrict(distribution, beam_index)
        )
        if drafted is not None and self.settings.forest == "coupled" and not drafted.below(beam_index):
            mass = 0.0
        residual = Residual(distribution, draft_probs, self.settings.replacement)
        return _State(number, alive, beam_index, distribution, draft_probs, mass, residual)

    def draft_layer(self, state: _State, drafted: ForestLayer) -> VerifiedLayer:
        """Try the drafts in the order they were drawn until the width is reached, then draw what is missing."""
        width = self.choose_width(state, drafted)
        trials, accepted = self._try_drafts(state, drafted, width.width)
        draws = self._draw(state, width.width - len(accepted), "fresh")
        beams, living = self._collect(state, accepted + [draw.node for draw in draws])
        outcome: Outcome = "passed"
        if not living:
            outcome = "finished"
        elif draws:
            all_in_forest = all(draw.landed or draw.node.token in self.eos for draw in draws)
            outcome = "landed" if self.settings.landing and all_in_forest else "short"
        return VerifiedLayer(
            state.alive, state.distribution, state.draft_probs, width, trials, draws, beams, living, outcome
        )

    def choose_width(self, state: _State, drafted: ForestLayer) -> Width:
        """Choose the width of a layer from P and Q; that of a coupled forest is fixed.

        The number of drafts follows from Q too: without replacement it is at most the number of its candidates.
        """
        if self.settings.forest == "coupled":
            return Width(cap_width(self.settings.max_width, state.distribution.support, self.settings), lambda: COUPLED)
        drafts = len(drafted.drafts)
        if not self.settings.replacement:
            drafts = min(drafts, drafted.distribution.support)
        return choose_width(
            state.distribution.masses(), state.draft_probs, drafts, state.distribution.support, self.settings
        )

    def bonus_layer(self, state: _State) -> VerifiedLayer:
        """Draw a layer of the largest width from the target's distribution alone."""
        width = cap_width(self.settings.max_width, state.distribution.support, self.settings)
        draws = self._draw(state, width, "bonus")
        beams, living = self._collect(state, [draw.node for draw in draws])
        outcome: Outcome = "bonus" if living else "finished"
        chosen = Width(width, lambda: BONUS)
        return VerifiedLayer(
            state.alive, state.distribution, state.draft_probs, chosen, [], draws, beams, living, outcome
        )

    def _try_drafts(self, state: _State, drafted: ForestLayer, width: int) -> tuple[list[Trial[Node]], list[Node]]:
        """Try the drafts in turn. Returns all trials, and the accepted drafts in order."""
        trials, accepted = list[Trial[Node]](), list[Node]()
        residual, gains = state.residual, self._gains(drafted)
        for order, (node, draft_prob) in enumerate(zip(drafted.drafts, drafted.draft_probs, strict=True)):
            gain = gains[order]
            prob = 1.0 if drafted.distribution.ranked else min(draft_prob * gain, 1.0)
            beam = state.beam_index.get(node.parent) if node.parent is not None else None
            if len(accepted) == width:
                trials.append(Trial(state.number, order, node, "unneeded", prob, None, None, None, None, None, None))
            elif beam is None:
                now = residual.recorded
                trials.append(Trial(state.number, order, node, "orphaned", prob, None, *now, None, None, None))
                residual.reject(None, gain)
            else:
                index = state.distribution.find(beam, node.token)
                trials.append(self._try(state, node, order, index, prob, gain))
                if trials[-1].verdict == "accepted" and index is not None:
                    residual.accept(index)
                    accepted.append(node)
        return trials, accepted

    def _gains(self, drafted: ForestLayer) -> list[float]:
        """Return the gain of each draft: the k-th draft came from Q * gain_k on the candidates that were left.

        Without replacement gain_k = 1 / (mass of Q without the earlier drafts). This mass is summed from the candidates
        that are left: 1 - mass of the earlier drafts would lose all its digits where Q is peaked.
        """
        if self.settings.replacement or drafted.distribution.ranked:
            return [1.0] * len(drafted.drafts)
        rest = max(math.fsum([*drafted.distribution.probs, *(-prob for prob in drafted.draft_probs)]), 0.0)
        gains = list[float]()
        for prob in reversed(drafted.draft_probs):
            rest += prob
            gains.append(1.0 / rest)
        return gains[::-1]

    def _try(
        self, state: _State, node: Node, order: int, index: int | None, draft_prob: float, gain: float
    ) -> Trial[Node]:
        """Accept a draft with probability min(1, P'/Q); after a rejection move to the next residual."""
        residual, before = state.residual, state.residual.recorded
        left = 0.0 if index is None else residual.probability(index)
        acceptance = min(1.0, left / draft_prob)
        accepted, uniform = self.choices.accept(acceptance)
        something_left = accepted or residual.reject(index, gain)
        if not something_left and left > 0:  # P' = Q up to rounding: every draft is accepted
            accepted, acceptance = True, 1.0
        verdict: Verdict = "accepted" if accepted else "rejected"
        return Trial(state.number, order, node, verdict, draft_prob, left, *before, acceptance, uniform, None)

    def _draw(self, state: _State, count: int, kind: DrawKind) -> list[Draw[Node]]:
        """Draw beams from the target's distribution. The first comes from the residual if c > 0."""
        if self.settings.forest == "coupled":
            return self._draw_coupled(state, count, kind)
        draws, residual, nodes = list[Draw[Node]](), state.residual, dict[int, Node]()
        for order in range(count):
            before, source = residual.recorded, "recovered" if residual.c > 0 else kind
            drawn = self.choices.draw(residual.masses())
            c, S = before
            interval = {"uniform": drawn.uniform, "cdf_low": drawn.low, "cdf_high": drawn.high}
            draws.append(self._drawn(state, order, source, drawn.index, nodes, c=c, S=S, **interval))
            residual.take(drawn.index)
        return draws

    def _draw_coupled(self, state: _State, count: int, kind: DrawKind) -> list[Draw[Node]]:
        """Draw beams from the target's distribution by the noise: for each draw the candidate with the largest score +
        noise.
        """
        distribution, settings, nodes = state.distribution, self.settings, dict[int, Node]()
        if distribution.ranks is not None:
            drawn, noise = distribution.best_first()[:count], np.zeros((1, distribution.support))
        else:
            assert self.noise is not None, "coupled draws need the noise of the decode"
            families = count if settings.replacement else 1
            noise = self.noise.gumbel(distribution, [beam.node for beam in state.alive], families)
            drawn = best_draws(distribution.scores + noise, count, settings.replacement)
        return [
            self._drawn(state, order, kind, index, nodes, noise=float(noise[order % len(noise), index]))
            for order, index in enumerate(drawn.tolist())
        ]

    def _drawn(
        self, state: _State, order: int, kind: DrawKind, index: int, nodes: dict[int, Node], **drawing: float
    ) -> Draw[Node]:
        """Return the draw of a candidate; ``nodes`` holds those of the layer's draws so far, by index."""
        beam, token = state.distribution.candidate(index)
        parent = state.alive[beam].node
        landed = self.forest.find(parent, token)
        node = nodes.setdefault(index, landed or parent.child(token))
        probs = state.distribution.probability(index), float(state.draft_probs[index])
        is_guessed = self.settings.forest == "coupled" and landed is not None and kind == "fresh"
        source: DrawKind = "guessed" if is_guessed else kind
        return Draw(state.number, order, source, node, landed is not None, *probs, **drawing)

    def _collect(self, state: _State, nodes: list[Node]) -> tuple[list[Beam], list[Beam]]:
        """Merge equal beams. Returns all beams with their multiplicities, and those that are not finished."""
        counts: dict[Node, int] = {}
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
        beams = [Beam(node, state.log_weight(node), count) for node, count in counts.items()]
        return beams, [beam for beam in beams if beam.node.token not in self.eos]
