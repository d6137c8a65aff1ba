"""Drafting: the draft model grows a forest from the same distribution functions that verification uses.

The draft model's likeliest next tokens come to the host, on an accelerator in one small copy a layer; the host makes
the distributions and draws. Equal draws share one slot, so the models compute no token twice, and nothing is drafted
below a token that ends a beam.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from dsbd.errors import SettingsError
from dsbd.models.engines.choice import reference_state
from dsbd.models.language_model import LanguageModel
from dsbd.models.lookup import PromptLookup
from dsbd.models.states.state import DecodingState
from dsbd.next_tokens import host_rows
from dsbd.settings import ResolvedSettings
from dsbd.util import CancelCheck
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import Floats, Ints, JointDistribution, TopTokens, joint_distribution
from dsbd.verification.forest import LEAST_DRAFT_PROB, BranchedLayer, DraftDistribution, ForestLayer
from dsbd.verification.noise import Noise, best_draws

MOST_EXTENDED = 512
"""Beginnings of a block that a search extends, at most."""
WORTHLESS = 3.0
"""A candidate with a larger margin is hardly ever drawn, and so is no node of a coupled forest."""


@dataclass
class Drafted:
    """A drafted forest, and its nodes in the order in which they are fed."""

    layers: list[ForestLayer | BranchedLayer] = field(default_factory=list)
    log_probs: dict[Node, float] = field(default_factory=dict)
    """Raw log p_draft(token | parent) of each node, nats."""
    drafts: list[list[Node]] = field(default_factory=list)
    """The drawn nodes of each layer, each once."""
    covers: list[list[Node]] = field(default_factory=list)
    """The cover nodes of each layer."""
    margins: dict[Node, float] = field(default_factory=dict)
    """In a coupled forest: what the nodes that are extended lack to be drawn."""
    fed_to_draft: list[Node] = field(default_factory=list)
    best: list[Node] | None = None
    """For a joint test: the likeliest beam, top down. Its nodes are all that the target scores."""

    @property
    def groups(self) -> list[list[Node]]:
        """What the target is fed, parents in earlier groups: drafts layer by layer, then cover nodes layer by layer."""
        groups = [*self.drafts, *self.covers] if self.best is None else [[node] for node in self.best]
        return [nodes for nodes in groups if nodes]

    def add(self, parent: Node, row: TopTokens, token: int) -> Node:
        """Make the node of a token of ``row``, the draft model's next tokens after ``parent``."""
        node = parent.child(token)
        self.log_probs[node] = float(row.log_probs[row.tokens.searchsorted(token)])
        return node


class DraftModel:
    """The source of a drafter's next tokens: a draft model.

    Args:
        row: its memory of this decode.
        top_k: next tokens that are asked for; 0 is all.
        device: where ``row`` takes tokens and returns logits.
    """

    def __init__(self, row: DecodingState, top_k: int, device: torch.device) -> None:
        self.row, self._top_k, self._device = row, top_k, device

    def begin(self, beams: Sequence[Node], room: int) -> list[TopTokens]:
        """Return the next tokens after the input beams of an iteration, which feeds at most ``room`` nodes."""
        self.row.begin(beams, room)
        self._row_of = {node: row for row, node in enumerate(beams)}
        return self._feed([], ())

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the next tokens after the drafts of a layer."""
        rows = self._feed(nodes, (len(nodes),))
        self._row_of.update({node: row for row, node in enumerate(nodes, len(self._row_of))})
        return rows

    def _feed(self, nodes: Sequence[Node], sizes: Sequence[int]) -> list[TopTokens]:
        logits = self.row.forward(*tokens_and_parents(nodes, self._row_of, self._device), sizes)
        return host_rows(logits, self._top_k, "draft")


class Drafter:
    """Draws the forests of one decode from joint distributions or, in a forest drawn per parent, from the distribution
    of each parent.

    Args:
        source: of next tokens.
        settings: forest, draft_width, branching, cover_width, replacement and the warp are read.
        eos: token ids that end a beam.
        generator: of the host; source of the races. Its uniforms are not recorded.
        noise: of the decode; a coupled forest guesses with it what the target will draw.

    *Source:* the paper's Algorithm 1, drafting stage; docs/algorithm.md, *One iteration* and *Joint tests*.
    """

    def __init__(
        self,
        source: DraftModel | PromptLookup,
        settings: ResolvedSettings,
        eos: Collection[int],
        generator: torch.Generator,
        noise: Noise,
    ) -> None:
        self.row = source.row
        self._source, self._generator, self._noise = source, generator, noise
        self._settings, self._eos = settings, eos
        self._uncut = replace(settings, temperature=settings.temperature or 1.0, top_p=1.0)

    @torch.inference_mode()
    def draft(self, beams: Sequence[Beam], depth: int) -> Drafted:
        """Draw at most ``depth`` layers below the input beams, starting from the target's log-weights.

        Fewer where all drafts end a beam, or where the source knows no next token.
        """
        settings, drafted, above = self._settings, Drafted(), list(beams)
        rows = self._source.begin([beam.node for beam in beams], sum(settings.layer_slots[: depth - 1]))
        for number in range(depth):
            if not any(row.tokens.size for row in rows):
                break
            above = self._add_layer(drafted, above, rows, number)
            if number + 1 == depth or not above:
                break
            nodes = [beam.node for beam in above]
            drafted.fed_to_draft += nodes
            rows = self._source.extend(nodes)
        if not settings.lossless:
            drafted.best = best_beam(drafted, self._eos)
        return drafted

    def _add_layer(self, drafted: Drafted, above: Sequence[Beam], rows: Sequence[TopTokens], number: int) -> list[Beam]:
        """Draw a layer below ``above``; return the drafts that the next layer extends."""
        settings, covers = self._settings, list[Node]()
        layer: ForestLayer | BranchedLayer
        if settings.branching is None:
            distribution = _distribution(above, rows, settings)
            if settings.forest == "coupled":
                drafts, covers = self._guess(drafted, distribution, above, rows)
                nodes = [*(beam.node for beam in drafts), *covers]
                layer = ForestLayer([], [], nodes, _draft_distribution(distribution, above))
            else:
                layer, drafts = self._draw(drafted, distribution, above, rows, settings.draft_width)
            if settings.cover_width and settings.forest == "sampled":
                covers = self._covers(drafted, _distribution(above, rows, self._uncut), above, rows, drafts)
                layer = replace(layer, covers=covers)
        else:
            families = [
                self._draw(drafted, _distribution([beam], [row], settings), [beam], [row], settings.branching[number])
                for beam, row in zip(above, rows, strict=True)
                if row.tokens.size
            ]
            layer = BranchedLayer({family.distribution.parents[0]: family for family, _ in families})
            drafts = [beam for _, own in families for beam in own]
        drafted.layers.append(layer)
        drafted.drafts.append([beam.node for beam in drafts])
        drafted.covers.append(covers)
        return [beam for beam in drafts if beam.node.token not in self._eos]

    def _draw(
        self,
        drafted: Drafted,
        distribution: JointDistribution,
        above: Sequence[Beam],
        rows: Sequence[TopTokens],
        draws: int,
    ) -> tuple[ForestLayer, list[Beam]]:
        """Draw from the joint distribution below ``above``. Returns the draws, and each drawn beam once.

        Of independent draws, a beam has the number of its draws as its multiplicity.
        """
        draft_distribution, order = _draft_distribution(distribution, above), distribution.best_first()
        chosen = self._race(draft_distribution.probs, draws)
        beams = {
            candidate: Beam(
                *self._grown(drafted, distribution, above, rows, int(order[candidate])), chosen.count(candidate)
            )
            for candidate in dict.fromkeys(chosen)
        }
        draft_probs = [1.0] * len(chosen) if draft_distribution.ranked else draft_distribution.probs[chosen].tolist()
        return ForestLayer([beams[candidate].node for candidate in chosen], draft_probs, [], draft_distribution), list(
            beams.values()
        )

    def _grown(
        self,
        drafted: Drafted,
        distribution: JointDistribution,
        above: Sequence[Beam],
        rows: Sequence[TopTokens],
        index: int,
    ) -> tuple[Node, float]:
        """Return the node of a candidate, and its log-weight."""
        beam, token = distribution.candidate(index)
        return drafted.add(above[beam].node, rows[beam], token), float(distribution.log_weights[index])

    def _guess(
        self, drafted: Drafted, distribution: JointDistribution, above: Sequence[Beam], rows: Sequence[TopTokens]
    ) -> tuple[list[Beam], list[Node]]:
        """Guess what the target will draw: draw from the draft model's distribution with the same noise.

        The nodes with the least margins are extended, at most ``draft_width``; ``cover_width`` more are not. A
        candidate's *margin* is how much its score + noise lacks to be drawn, and what the beams above it lacked. A
        guess that is right has margin 0, and the next layer's draws are guessed among the children of such nodes.
        """
        settings, wanted = self._settings, self._settings.draft_width
        if distribution.ranks is None:
            margins, counts = self._margins(drafted, distribution, above)
            order = margins.argsort(kind="stable")
            order = order[margins[order] <= WORTHLESS]
        else:
            order, margins, counts = (
                distribution.ranks,
                np.zeros(distribution.support),
                np.ones(distribution.support, dtype=np.int64),
            )
        beams = list[Beam]()
        for index in order[:wanted].tolist():
            beams.append(Beam(*self._grown(drafted, distribution, above, rows, index), max(int(counts[index]), 1)))
            drafted.margins[beams[-1].node] = float(margins[index])
        left = [index for index in order[wanted:].tolist() if distribution.candidate(index)[1] not in self._eos]
        return beams, [
            self._grown(drafted, distribution, above, rows, index)[0] for index in left[: settings.cover_width]
        ]

    def _margins(self, drafted: Drafted, distribution: JointDistribution, above: Sequence[Beam]) -> tuple[Floats, Ints]:
        """Return the margin of each candidate [n], and how many draws it is the guess of."""
        settings, nodes = self._settings, [beam.node for beam in above]
        draws = settings.max_width if settings.replacement else 1
        values = distribution.scores + self._noise.gumbel(distribution, nodes, draws)
        before = np.array([drafted.margins.get(node, 0.0) for node in nodes])[
            distribution.candidates(np.arange(distribution.support))[0]
        ]
        sure = np.where(before == 0, values, -np.inf)
        guesses = best_draws(sure, settings.max_width, settings.replacement)
        needed = sure.max(axis=1) if settings.replacement else sure[0, guesses[-1:]]
        margins: Floats = before + np.maximum(needed[:, None] - values, 0.0).min(axis=0)
        return margins, np.bincount(guesses[margins[guesses] == 0], minlength=distribution.support)

    def _race(self, probs: Floats, draws: int) -> list[int]:
        """Draw from a distribution whose candidates are best first: the largest prob / exponential noise wins.

        One race per draw makes independent draws; the best of a single race are draws without replacement, in the order
        they would be drawn. A greedy forest has the best candidates.
        """
        settings = self._settings
        if settings.temperature == 0:
            return [0] * draws if settings.replacement else list(range(min(draws, probs.size)))
        finish = probs / _noise(draws if settings.replacement else 1, probs.size, self._generator)
        winners = finish.argmax(axis=1) if settings.replacement else (-finish[0]).argsort(kind="stable")[:draws]
        drawn: list[int] = winners.tolist()
        return drawn

    def _covers(
        self,
        drafted: Drafted,
        distribution: JointDistribution,
        above: Sequence[Beam],
        rows: Sequence[TopTokens],
        drafts: Sequence[Beam],
    ) -> list[Node]:
        """Return the likeliest candidates of a distribution that were not drawn and do not end a beam, as nodes."""
        drawn = {(beam.node.parent, beam.node.token) for beam in drafts}
        places, tokens = distribution.candidates(distribution.best_first())
        left = (
            (place, token)
            for place, token in zip(places.tolist(), tokens.tolist(), strict=True)
            if token not in self._eos and (above[place].node, token) not in drawn
        )
        return [
            drafted.add(above[place].node, rows[place], token)
            for place, token in islice(left, self._settings.cover_width)
        ]


def best_beam(drafted: Drafted, eos: Collection[int]) -> list[Node]:
    """Return the beam with the largest sum of raw draft log-probabilities, top down.

    The beams of the last layer compete, and those that end before it. Ties go to the shorter beam, then to the one that
    was drawn first.
    """
    sums, ends = dict[Node | None, float](), list[Node]()
    for nodes in drafted.drafts:
        for node in nodes:
            sums[node] = sums.get(node.parent, 0.0) + drafted.log_probs[node]
            if nodes is drafted.drafts[-1] or node.token in eos:
                ends.append(node)
    beam, above = list[Node](), max(ends, key=lambda node: sums[node])
    while above in sums and above.parent is not None:
        beam.append(above)
        above = above.parent
    return beam[::-1]


def tokens_and_parents(
    nodes: Iterable[Node], state_of: dict[Node, int], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tokens [n] of nodes, and the rows [n] of their parents; see :meth:`DecodingState.forward`."""
    candidates = [(node.token, state_of[node.parent]) for node in nodes if node.parent is not None]
    both = torch.tensor(candidates, dtype=torch.int64).reshape(-1, 2).to(device)
    return both[:, 0].contiguous(), both[:, 1].contiguous()


def _distribution(above: Sequence[Beam], rows: Sequence[TopTokens], settings: ResolvedSettings) -> JointDistribution:
    return joint_distribution(
        rows, [beam.log_weight for beam in above], [beam.multiplicity for beam in above], settings
    )


def _draft_distribution(distribution: JointDistribution, above: Sequence[Beam]) -> DraftDistribution:
    """Return Q as the verifier reads it: its candidates best first, without those that are never drafted."""
    order = distribution.best_first()
    if distribution.ranks is None:
        order = order[distribution.probs[order] >= LEAST_DRAFT_PROB]
    return DraftDistribution(
        [beam.node for beam in above],
        *distribution.candidates(order),
        distribution.probs[order],
        distribution.ranks is not None,
    )


def _noise(races: int, candidates: int, generator: torch.Generator) -> Floats:
    noise: Floats = torch.empty(races, candidates, dtype=torch.float64).exponential_(generator=generator).numpy()
    return noise


class _Block(NamedTuple):
    """A beginning of a block. The likeliest sorts first, then the shortest, then the one with the lowest ids."""

    cost: float = 0.0  # minus its log-probability
    length: int = 0
    ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()
    row: int = 0  # of the last id


class BlockSearch:
    """Replaces the drafter of ``mjgd``; it drafts one beam: the target's likeliest block of tokens.

    Best-first search: the beginning with the largest joint probability is extended, until the likeliest one is a whole
    block. No other block can then be likelier, because no block is likelier than its beginnings.

    Args:
        model: the target.
        eos: token ids that end a beam. A block may end early.
        check: called before each forward.
        device: where logits are asked for.

    *Source:* multi-token joint greedy decoding (arXiv 2407.09722); docs/algorithm.md, *Joint tests*.
    """

    def __init__(self, model: LanguageModel, eos: Collection[int], check: CancelCheck, device: torch.device) -> None:
        self.row = reference_state(model, check)
        self._eos, self._device = eos, device

    @torch.inference_mode()
    def draft(self, beams: Sequence[Beam], depth: int) -> Drafted:
        """Return the likeliest block of ``depth`` tokens below the one input beam, as layers of one draft.

        Ties go to the shorter block, then to the lowest token ids.

        Raises:
            SettingsError: it is not found among the most beginnings that are extended.
        """
        self.row.begin([beam.node for beam in beams], 0)
        waiting, block = list[_Block](), _Block()
        for place in range(MOST_EXTENDED):
            last = torch.tensor(block.ids[-1:], dtype=torch.int64, device=self._device)
            (row,) = host_rows(self.row.forward(last, torch.full_like(last, block.row), ()), MOST_EXTENDED, "target")
            for token, log_prob in zip(row.tokens.tolist(), row.log_probs.tolist(), strict=True):
                ids, log_probs = (*block.ids, token), (*block.log_probs, log_prob)
                heappush(waiting, _Block(block.cost - log_prob, len(ids), ids, log_probs, place))
            block = heappop(waiting)
            if block.length == depth or block.ids[-1] in self._eos:
                return _drafted_block(beams[0].node, block)
        raise SettingsError(
            f"block is {depth}: the likeliest block is not among the first {MOST_EXTENDED} beginnings that mjgd "
            f"extends; take a smaller block, or method mjsd"
        )


def _drafted_block(node: Node, block: _Block) -> Drafted:
    drafted = Drafted(best=[])
    for token, log_prob in zip(block.ids, block.log_probs, strict=True):
        parent, node = node, node.child(token)
        distribution = DraftDistribution([parent], np.zeros(1, dtype=np.int64), np.array([token]), np.ones(1))
        drafted.layers.append(ForestLayer([node], [1.0], [], distribution))
        drafted.log_probs[node] = log_prob
        drafted.best = [*(drafted.best or []), node]
    return drafted
