"""Drafting: a draft source's next tokens grow a forest, by the same distribution functions that verification uses.

The likeliest next tokens come to the host, on an accelerator in one small copy a layer; the host makes the
distributions and draws. Equal draws share one node, so the models compute no token twice, and nothing is drafted below
a token that ends a beam.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from dsbd.drafts.source import DraftSource
from dsbd.iteration import Iteration
from dsbd.models.states.state import DecodingState
from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import Floats, Ints, JointDistribution, TopTokens, joint_distribution
from dsbd.verification.forest import LEAST_DRAFT_PROB, BranchedLayer, DraftDistribution, ForestLayer
from dsbd.verification.noise import Noise, best_draws

WORTHLESS = 2.0
"""Nodes of a coupled forest have at most this margin: candidates with a larger one are hardly ever drawn."""
CERTAIN = 0.999
"""A candidate that is likelier than this is taken as the guess of every draw: making the noise would cost more time
than it saves."""


class Above(NamedTuple):
    """The beams that a layer is drawn below, their next tokens, and the joint distribution of both."""

    beams: Sequence[Beam]
    next_tokens: Sequence[TopTokens]
    distribution: JointDistribution

    @classmethod
    def of(cls, beams: Sequence[Beam], next_tokens: Sequence[TopTokens], settings: ResolvedSettings) -> "Above":
        """Make the joint distribution by these settings."""
        log_weights, multiplicities = [beam.log_weight for beam in beams], [beam.multiplicity for beam in beams]
        return cls(beams, next_tokens, joint_distribution(next_tokens, log_weights, multiplicities, settings))

    def node(self, iteration: Iteration, index: int) -> Node:
        """Make the node of a candidate."""
        beam, token = self.distribution.candidate(index)
        return iteration.add(self.beams[beam].node, self.next_tokens[beam], token)

    def beam(self, iteration: Iteration, index: int, multiplicity: int) -> Beam:
        """Make the beam of a candidate, and its node."""
        return Beam(self.node(iteration, index), float(self.distribution.log_weights[index]), multiplicity)

    def draft_distribution(self) -> DraftDistribution:
        """Return Q as the verifier reads it: its candidates best first, without those that are never drafted."""
        distribution = self.distribution
        order, is_ranked = distribution.best_first(), distribution.ranks is not None
        if not is_ranked:
            order = order[distribution.probs[order] >= LEAST_DRAFT_PROB]
        parents = [beam.node for beam in self.beams]
        return DraftDistribution(parents, *distribution.candidates(order), distribution.probs[order], is_ranked)


class Drafter:
    """Draws the forests of one decode layer by layer; with ``branching`` the children of each parent on their own.

    Args:
        source: of next tokens.
        settings: forest, draft_width, branching, cover_width, replacement and the warp are read.
        prompt: ids that the source is given.
        eos: token ids that end a beam.
        generator: of the host; sampled drafts are drawn with it. Its numbers are not recorded.
        noise: of the decode; in a coupled forest the drafts are guessed with it.
        state: the decoding state (KV cache) of the source's model, if it has one; the session prefills and commits it.

    *Source:* the paper's Algorithm 1, drafting stage; docs/algorithm.md, *One iteration* and *Joint tests*.
    """

    def __init__(
        self,
        source: DraftSource,
        settings: ResolvedSettings,
        prompt: Sequence[int],
        eos: Collection[int],
        generator: torch.Generator,
        noise: Noise,
        state: DecodingState | None = None,
    ) -> None:
        self.state = state
        self._source, self._prompt, self._generator, self._noise = source, prompt, generator, noise
        self._settings, self._eos = settings, eos
        self._uncut = replace(settings, temperature=settings.temperature or 1.0, top_p=1.0)

    @torch.inference_mode()
    def draft(self, iteration: Iteration, depth: int) -> None:
        """Draw at most ``depth`` layers below the input beams, starting from the target's log-weights.

        Fewer where all drafts end a beam, or where the source knows no next token.
        """
        above = list(iteration.input_beams)
        next_tokens = self._source.begin(self._prompt, [beam.node for beam in above], depth)
        for number in range(depth):
            if not any(one.tokens.size for one in next_tokens):
                break
            above = self._add_layer(iteration, above, next_tokens, number)
            if number + 1 == depth or not above:
                break
            next_tokens = self._source.extend([beam.node for beam in above])
        if not self._settings.lossless:
            iteration.best = best_beam(iteration, self._eos)

    def _add_layer(
        self, iteration: Iteration, beams: Sequence[Beam], next_tokens: Sequence[TopTokens], number: int
    ) -> list[Beam]:
        """Draw a layer below the beams; return the drafts that the next layer extends."""
        settings, extras = self._settings, list[Node]()
        layer: ForestLayer | BranchedLayer
        if settings.branching is not None:
            families = [
                self._draw(iteration, Above.of([beam], [own], settings), settings.branching[number])
                for beam, own in zip(beams, next_tokens, strict=True)
                if own.tokens.size
            ]
            layer = BranchedLayer({family.distribution.parents[0]: family for family, _ in families})
            drafts = [beam for _, own in families for beam in own]
        elif settings.forest == "coupled":
            above = Above.of(beams, next_tokens, settings)
            drafts, extras = self._guess(iteration, above)
            layer = ForestLayer([], [], [*(beam.node for beam in drafts), *extras], above.draft_distribution())
        else:
            layer, drafts = self._draw(iteration, Above.of(beams, next_tokens, settings), settings.draft_width)
            if settings.cover_width:
                extras = self._extra_candidates(iteration, Above.of(beams, next_tokens, self._uncut), drafts)
                layer = replace(layer, untested=extras)
        iteration.drafted.append(layer)
        iteration.drafts.append([beam.node for beam in drafts])
        iteration.extras.append(extras)
        return [beam for beam in drafts if beam.node.token not in self._eos]

    def _draw(self, iteration: Iteration, above: Above, draws: int) -> tuple[ForestLayer, list[Beam]]:
        """Draw from a joint distribution. Returns the draws, and each drawn beam once.

        Of independent draws, a beam has the number of its draws as its multiplicity.
        """
        distribution, order = above.draft_distribution(), above.distribution.best_first()
        winners = self._indices(distribution.probs, draws)
        beams = {rank: above.beam(iteration, int(order[rank]), winners.count(rank)) for rank in dict.fromkeys(winners)}
        probs = [1.0] * len(winners) if distribution.ranked else distribution.probs[winners].tolist()
        return ForestLayer([beams[rank].node for rank in winners], probs, [], distribution), [*beams.values()]

    def _guess(self, iteration: Iteration, above: Above) -> tuple[list[Beam], list[Node]]:
        """Guess what the target will draw, by the draft model's scores and the target's noise.

        A candidate's *margin* is the sum, over the path below the input beam, of how far score + noise was from being
        drawn; the guesses themselves have margin 0, and so only their children are guesses of the next layer. The
        ``draft_width`` candidates with the least margins become drafts, ``cover_width`` more become extra candidates.
        """
        settings, distribution = self._settings, above.distribution
        if distribution.ranks is None:
            margins, counts = self._margins(iteration, above)
            order = margins.argsort(kind="stable")
            order = order[margins[order] <= WORTHLESS]
        else:
            order, size = distribution.ranks, distribution.support
            margins, counts = np.zeros(size), np.ones(size, dtype=np.int64)
        beams = list[Beam]()
        for index in order[: settings.draft_width].tolist():
            beams.append(above.beam(iteration, index, max(int(counts[index]), 1)))
            iteration.margins[beams[-1].node] = float(margins[index])
        left = order[settings.draft_width :].tolist()
        left = [index for index in left if distribution.candidate(index)[1] not in self._eos]
        return beams, [above.node(iteration, index) for index in left[: settings.cover_width]]

    def _margins(self, iteration: Iteration, above: Above) -> tuple[Floats, Ints]:
        """Return the margin of each candidate [n], and how many draws it is the guess of."""
        settings, distribution, nodes = self._settings, above.distribution, [beam.node for beam in above.beams]
        parents, _ = distribution.candidates(np.arange(distribution.support))
        before = np.array([iteration.margins.get(node, 0.0) for node in nodes])[parents]
        best = int(distribution.probs.argmax())
        if settings.replacement and distribution.probs[best] > CERTAIN and before[best] == 0:
            is_best = np.arange(distribution.support) == best
            return np.where(is_best, 0.0, np.inf), settings.max_width * is_best
        draws = settings.max_width if settings.replacement else 1
        values = distribution.scores + self._noise.gumbel(distribution, nodes, draws)
        sure = np.where(before == 0, values, -np.inf)
        guesses = best_draws(sure, settings.max_width, settings.replacement)
        needed = sure.max(axis=1) if settings.replacement else sure[0, guesses[-1:]]
        margins: Floats = before + np.maximum(needed[:, None] - values, 0.0).min(axis=0)
        return margins, np.bincount(guesses[margins[guesses] == 0], minlength=distribution.support)

    def _indices(self, probs: Floats, draws: int) -> list[int]:
        """Draw from a distribution whose candidates are best first; return their indices.

        The largest prob / exponential noise is a draw. With replacement each draw has noise of its own; without, the
        largest quotients of one row of noise are the draws, in order. At temperature 0 the best are taken.
        """
        settings = self._settings
        if settings.temperature == 0:
            return [0] * draws if settings.replacement else list(range(min(draws, probs.size)))
        quotients = probs / _noise(draws if settings.replacement else 1, probs.size, self._generator)
        winners = quotients.argmax(axis=1) if settings.replacement else (-quotients[0]).argsort(kind="stable")[:draws]
        ranks: list[int] = winners.tolist()
        return ranks

    def _extra_candidates(self, iteration: Iteration, above: Above, drafts: Sequence[Beam]) -> list[Node]:
        """Return the likeliest candidates of a distribution that were not drawn and do not end a beam, as nodes."""
        drawn = {(beam.node.parent, beam.node.token) for beam in drafts}
        indices = above.distribution.best_first()
        parents, tokens = above.distribution.candidates(indices)
        left = (
            index
            for index, parent, token in zip(indices.tolist(), parents.tolist(), tokens.tolist(), strict=True)
            if token not in self._eos and (above.beams[parent].node, token) not in drawn
        )
        return [above.node(iteration, index) for index in islice(left, self._settings.cover_width)]


def best_beam(iteration: Iteration, eos: Collection[int]) -> list[Node]:
    """Return the beam with the largest sum of raw draft log-probabilities, top down; none without drafts.

    The beams of the last layer compete, and those that end before it. Ties go to the shorter beam, then to the one that
    was drawn first.
    """
    sums, ends = dict[Node | None, float](), list[Node]()
    for nodes in iteration.drafts:
        for node in nodes:
            sums[node] = sums.get(node.parent, 0.0) + iteration.draft_log_probs[node]
            if nodes is iteration.drafts[-1] or node.token in eos:
                ends.append(node)
    beam, last = list[Node](), max(ends, key=lambda node: sums[node], default=None)
    while last is not None and last in sums:
        beam.append(last)
        last = last.parent
    return beam[::-1]


def _noise(races: int, candidates: int, generator: torch.Generator) -> Floats:
    noise: Floats = torch.empty(races, candidates, dtype=torch.float64).exponential_(generator=generator).numpy()
    return noise
