"""Drafting on a CPU, where the host reads the draft model's logits without a copy.

The host draws the forest from the same law functions that verification uses. Equal draws share one slot, so the models
compute no token twice, and nothing is drafted below a forest that has ended. On an accelerator ``dsbd/draft.py`` draws
the same forests on the device.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
import torch

from dsbd.law.beams import Beam, Node
from dsbd.law.forest import LEAST_DRAFT_PROB, BranchedLayer, DraftLaw, ForestLayer
from dsbd.law.laws import Floats, Law, TopTokens, joint_law
from dsbd.models.rows.row import Row
from dsbd.next_tokens import host_rows, likeliest_pairs
from dsbd.settings import ResolvedSettings


@dataclass
class HostForest:
    """A drafted forest, and its nodes in the order in which they are fed."""

    layers: list[ForestLayer | BranchedLayer] = field(default_factory=list)
    log_probs: dict[Node, float] = field(default_factory=dict)
    """Raw log p_draft(token | parent) of each node, nats."""
    drafts: list[list[Node]] = field(default_factory=list)
    """The drawn nodes of each layer, each once."""
    covers: list[list[Node]] = field(default_factory=list)
    """The cover nodes of each layer."""
    fed_to_draft: list[Node] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.layers)

    @property
    def slots(self) -> list[Node]:
        """What the target is fed: drafts layer by layer, then cover nodes layer by layer."""
        return [node for nodes in (*self.drafts, *self.covers) for node in nodes]

    def add(self, parent: Node, row: TopTokens, token: int) -> Node:
        """Make the node of a token of ``row``, the draft model's next tokens after ``parent``."""
        node = parent.child(token)
        self.log_probs[node] = float(row.log_probs[row.tokens.searchsorted(token)])
        return node

    def feed(self, beams: Sequence[Beam]) -> tuple[torch.Tensor, torch.Tensor, list[int]]:
        """Return tokens [n] and parents [n] of all slots, and the sizes of their groups; see :meth:`Row.feed`."""
        drafts = [node for nodes in self.drafts for node in nodes]
        row_of = {node: row for row, node in enumerate([*(beam.node for beam in beams), *drafts])}
        sizes = [len(nodes) for nodes in (*self.drafts, *self.covers) if nodes]
        return *_fed(self.slots, row_of), sizes


class HostDrafter:
    """Draws the forests of one decode from joint laws or, in a forest drawn per parent, from the law of each parent.

    Args:
        row: the draft model's memory of this decode, on a CPU.
        settings: forest, draft_width, branching, cover_width, replacement and the warp are read.
        eos: token ids that end a beam.
        generator: source of the races; its uniforms are not recorded.

    *Source:* the paper's Algorithm 1, drafting stage; docs/algorithm.md, *One iteration*.
    """

    def __init__(self, row: Row, settings: ResolvedSettings, eos: Collection[int], generator: torch.Generator) -> None:
        self.row = row
        self._settings = settings
        self._eos = eos
        self._generator = generator
        self._uncut = replace(settings, temperature=settings.temperature or 1.0, top_p=1.0)
        self._is_cut = self._uncut != settings

    @torch.inference_mode()
    def draft(self, beams: Sequence[Beam], depth: int) -> HostForest:
        """Draw at most ``depth`` layers, at least 1, below the input beams, starting from the target's log-weights."""
        settings, forest, above = self._settings, HostForest(), list(beams)
        self.row.open([beam.node for beam in beams], sum(settings.layer_slots[: depth - 1]))
        row_of = {beam.node: row for row, beam in enumerate(beams)}
        logits = self.row.feed(*_fed([], row_of), ())
        for number in range(depth):
            above = self._add_layer(forest, above, self._rows(above, logits), number)
            if number + 1 == depth or not above:
                break
            nodes = [beam.node for beam in above]
            forest.fed_to_draft += nodes
            tokens, parents = _fed(nodes, row_of)
            row_of.update({node: row for row, node in enumerate(nodes, len(row_of))})
            logits = self.row.feed(tokens, parents, (len(nodes),))
        return forest

    def _rows(self, above: Sequence[Beam], logits: torch.Tensor) -> list[TopTokens]:
        """Return the next tokens of ``above`` that their joint law needs, or the law of each if they draw apart."""
        settings = self._settings
        if settings.branching is not None or not 0 < settings.top_k < logits.numel():
            return host_rows(logits, settings.top_k, "draft")
        offsets = [beam.log_weight + settings.temperature * math.log(beam.multiplicity) for beam in above]
        return likeliest_pairs(logits, np.array(offsets), settings.top_k, "draft")

    def _add_layer(
        self, forest: HostForest, above: Sequence[Beam], rows: Sequence[TopTokens], number: int
    ) -> list[Beam]:
        """Draw a layer below ``above``; return the drafts that the next layer extends."""
        settings, covers = self._settings, list[Node]()
        layer: ForestLayer | BranchedLayer
        if settings.branching is None:
            law = _law(above, rows, settings)
            layer, drafts = self._draw(forest, law, above, rows, settings.draft_width)
            if settings.cover_width:
                uncut = _law(above, rows, self._uncut) if self._is_cut else law
                covers = self._covers(forest, uncut, above, rows, drafts)
                layer = replace(layer, covers=covers)
            if settings.forest == "likely":
                layer = layer.as_likely()
        else:
            families = [
                self._draw(forest, _law([beam], [row], settings), [beam], [row], settings.branching[number])
                for beam, row in zip(above, rows, strict=True)
            ]
            layer = BranchedLayer({beam.node: family for beam, (family, _) in zip(above, families, strict=True)})
            drafts = [beam for _, own in families for beam in own]
        forest.layers.append(layer)
        forest.drafts.append([beam.node for beam in drafts])
        forest.covers.append(covers)
        return [beam for beam in drafts if beam.node.token not in self._eos]

    def _draw(
        self, forest: HostForest, law: Law, above: Sequence[Beam], rows: Sequence[TopTokens], draws: int
    ) -> tuple[ForestLayer, list[Beam]]:
        """Draw from the joint law below ``above``. Returns the draws, and each drawn beam once.

        Of independent draws, a beam has the number of its draws as its multiplicity.
        """
        order, ranked = law.best_first(), law.ranks is not None
        if not ranked:
            order = order[law.probs[order] >= LEAST_DRAFT_PROB]
        (places, tokens), probs = law.pairs(order), law.probs[order]
        chosen = self._race(probs, draws)
        made = dict[int, Beam]()
        for pair in dict.fromkeys(chosen):
            place = int(places[pair])
            node = forest.add(above[place].node, rows[place], int(tokens[pair]))
            made[pair] = Beam(node, float(law.log_weights[order[pair]]), chosen.count(pair))
        draft_probs = [1.0] * len(chosen) if ranked else probs[chosen].tolist()
        draft_law = DraftLaw([beam.node for beam in above], places, tokens, probs, ranked)
        return ForestLayer([made[pair].node for pair in chosen], draft_probs, [], draft_law), list(made.values())

    def _race(self, probs: Floats, draws: int) -> list[int]:
        """Draw from a law whose pairs are best first: the largest prob / exponential noise wins.

        One race per draw makes independent draws; the best of a single race are draws without replacement, in the order
        they would be drawn. A likely forest has the best pairs, and so has a greedy one.
        """
        settings, best = self._settings, range(min(draws, probs.size))
        if settings.forest == "likely":
            return list(best)
        if settings.temperature == 0:
            return [0] * draws if settings.replacement else list(best)
        finish = probs / _noise(draws if settings.replacement else 1, probs.size, self._generator)
        winners = finish.argmax(axis=1) if settings.replacement else (-finish[0]).argsort(kind="stable")[:draws]
        drawn: list[int] = winners.tolist()
        return drawn

    def _covers(
        self,
        forest: HostForest,
        law: Law,
        above: Sequence[Beam],
        rows: Sequence[TopTokens],
        drafts: Sequence[Beam],
    ) -> list[Node]:
        """Return the likeliest pairs of a law that were not drawn and do not end a beam, as nodes."""
        drawn = {(beam.node.parent, beam.node.token) for beam in drafts}
        places, tokens = law.pairs(law.best_first())
        left = (
            (place, token)
            for place, token in zip(places.tolist(), tokens.tolist(), strict=True)
            if token not in self._eos and (above[place].node, token) not in drawn
        )
        return [
            forest.add(above[place].node, rows[place], token)
            for place, token in islice(left, self._settings.cover_width)
        ]


def _law(above: Sequence[Beam], rows: Sequence[TopTokens], settings: ResolvedSettings) -> Law:
    return joint_law(rows, [beam.log_weight for beam in above], [beam.multiplicity for beam in above], settings)


def _noise(races: int, pairs: int, generator: torch.Generator) -> Floats:
    noise: Floats = torch.empty(races, pairs, dtype=torch.float64).exponential_(generator=generator).numpy()
    return noise


def _fed(nodes: Iterable[Node], row_of: dict[Node, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tokens [n] of nodes, and the rows [n] of their parents."""
    pairs = [(node.token, row_of[node.parent]) for node in nodes if node.parent is not None]
    both = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    return both[:, 0].contiguous(), both[:, 1].contiguous()
