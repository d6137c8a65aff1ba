"""Scores the whole forest in one target forward, the only one of an iteration.

A forest that was drafted on the host is there already. Otherwise what verification needs comes to the host in one copy:
the laws and draws of the draft stage, the uniforms of the iteration, and the target's next-token rows of every node.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch

from dsbd.draft import DraftedLayer
from dsbd.host_draft import HostForest
from dsbd.law.beams import Beam, Node
from dsbd.law.forest import BranchedLayer, DraftLaw, Forest, ForestLayer
from dsbd.law.joint import BestBeam
from dsbd.models.rows.row import Row
from dsbd.next_tokens import (
    NextTokens,
    NextTokensCopied,
    NextTokensOnDemand,
    next_token_rows,
    require_numbers,
)
from dsbd.settings import ResolvedSettings


@dataclass(frozen=True)
class Scored:
    """A forest on the host, ready to be verified."""

    forest: Forest
    next_tokens: NextTokens
    uniforms: list[float]
    draft_log_probs: dict[Node, float]
    """Raw log p_draft(token | parent) of each forest node, nats."""
    slots: Sequence[Node | None]
    """The node of each slot fed to the target; None where a slot is a duplicate or inert."""
    draft_slots: Sequence[Node | None]
    """The same for the slots of the draft model, which the drafts of the last layer were not fed to."""
    best: BestBeam | None
    """For a joint test: the draft's best beam. Its nodes are all that the target scores."""


@torch.inference_mode()
def score(
    row: Row,
    beams: Sequence[Beam],
    drafted: HostForest | Sequence[DraftedLayer],
    settings: ResolvedSettings,
    generator: torch.Generator,
) -> Scored:
    """Run the target over the input beams' last tokens and all forest slots, and bring what is needed to the host.

    Slots are fed drafts first, layer by layer, then cover nodes, layer by layer; for a joint test only the best beam's.
    """
    if isinstance(drafted, HostForest):
        tokens, parents, sizes = drafted.feed(beams)
    else:
        tokens, parents, sizes = _feed_of(drafted, len(beams), generator.device)
    row.open([beam.node for beam in beams], tokens.numel())
    logits = row.feed(tokens, parents, sizes)
    count = _uniforms_needed(len(drafted), settings)
    uniforms = torch.rand(count, dtype=torch.float64, device=generator.device, generator=generator)
    if isinstance(drafted, HostForest):
        rows = NextTokensOnDemand(logits, parents, tokens, settings.top_k)
        return _scored_on_host(beams, drafted, rows, uniforms.tolist())
    top_tokens, top_log_probs, log_probs = next_token_rows(logits, settings.top_k)
    parts = [part for layer in drafted for part in _parts(layer)]
    host = _Host([top_tokens.flatten(), top_log_probs.flatten(), log_probs[parents, tokens], uniforms, *parts])
    shape = tuple(top_tokens.shape)
    copied = NextTokensCopied(host.ints().reshape(shape), host.floats().reshape(shape), host.floats())
    return _ForestBuilder(beams, settings, logits.shape[1], host, copied).build(drafted)


def _scored_on_host(
    beams: Sequence[Beam], drafted: HostForest, rows: NextTokensOnDemand, uniforms: list[float]
) -> Scored:
    slots = drafted.slots
    rows.name([*(beam.node for beam in beams), *slots])
    forest = Forest(beams, drafted.layers)
    return Scored(forest, rows, uniforms, drafted.log_probs, slots, drafted.fed_to_draft, None)


def _uniforms_needed(depth: int, settings: ResolvedSettings) -> int:
    """Return how many uniforms verification takes at most: one for each trial and draw, and one for a drawn width."""
    if not settings.lossless:
        return 1
    tried = (settings.branching or settings.layer_slots)[:depth]
    trials = sum(tried) if settings.forest == "sampled" else 0
    return trials + (depth + 1) * settings.max_width


def _feed_of(
    layers: Sequence[DraftedLayer], beams: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, list[int]]:
    """Return tokens [N] and parents [N] of all slots, drafts before cover nodes, and the sizes of their groups.

    A parent is a row of the forward; the rows are the input beams, then the slots. One input beam "a", two layers with
    two drafts and one cover node each::

        row        0     1     2     3      4      5     6
        holds      a     aa    ab    aab    aba    ac    abb
        tokens           a     b     b      a      c     b
        parents          0     0     1      2      0     2
        sizes            2           2             1     1
    """
    if not layers:
        none = torch.empty(0, dtype=torch.int64, device=device)
        return none, none, []
    if layers[0].best is not None:
        best = [layer.tokens[layer.best[:1]] for layer in layers if layer.best is not None]
        return torch.cat(best), torch.arange(len(layers), device=device), [1] * len(layers)
    drafts = [layer.draws for layer in layers]
    covers = [layer.tokens.numel() - layer.draws for layer in layers]
    starts = [0, *accumulate(drafts[:-2], initial=beams)][: len(layers)]
    parents = [layer.parents + start for layer, start in zip(layers, starts, strict=True)]
    tokens = [layer.tokens for layer in layers]
    if not any(covers):
        return torch.cat(tokens), torch.cat(parents), drafts
    return _drafts_first(tokens, drafts), _drafts_first(parents, drafts), [*drafts, *covers]


def _drafts_first(parts: Sequence[torch.Tensor], drafts: Sequence[int]) -> torch.Tensor:
    both = list(zip(parts, drafts, strict=True))
    return torch.cat([part[:count] for part, count in both] + [part[count:] for part, count in both])


def _parts(layer: DraftedLayer) -> Iterator[torch.Tensor]:
    law = layer.law
    yield from (law.pairs, law.probs, law.log_probs, layer.chosen)
    if layer.best is not None:
        yield layer.best


class _Host:
    """Copies several tensors [n] to the host at once; returns them one after the other as float64 arrays."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        groups: dict[torch.dtype, list[tuple[int, torch.Tensor]]] = {}
        for place, tensor in enumerate(tensors):
            groups.setdefault(tensor.dtype, []).append((place, tensor))
        parts = [torch.cat([tensor for _, tensor in group]).double() for group in groups.values()]
        ordered = [one for group in groups.values() for one in group]
        whole, found, start = torch.cat(parts).cpu().numpy(), {}, 0
        for place, tensor in ordered:
            found[place] = whole[start : (start := start + tensor.numel())]
        self._next = iter([found[place] for place in range(len(found))])

    def floats(self) -> np.ndarray:
        return next(self._next)

    def ints(self) -> np.ndarray:
        return next(self._next).astype(np.int64)


class _HostLayer(NamedTuple):
    """A drafted layer on the host."""

    parents: np.ndarray  # [n] of the law's pairs
    tokens: np.ndarray  # [n]
    probs: np.ndarray  # [n]
    log_probs: np.ndarray  # [n] raw log p_draft(token | parent)
    chosen: list[int]

    @staticmethod
    def read(host: _Host, vocabulary: int) -> "_HostLayer":
        """Read the parts in the order of :func:`_parts`."""
        parents, tokens = np.divmod(host.ints(), vocabulary)
        layer = _HostLayer(parents, tokens, host.floats(), host.floats(), host.ints().tolist())
        require_numbers(layer.log_probs, "draft")
        return layer

    def family(self, place: int, parents: int) -> "_HostLayer":
        """Return the part of one of ``parents`` parents in a layer drawn per parent: its law, and the draws from it."""
        size, children = self.probs.size // parents, len(self.chosen) // parents
        part = slice(place * size, (place + 1) * size)
        chosen = [index - part.start for index in self.chosen[place * children : (place + 1) * children]]
        own = np.zeros(size, dtype=np.int64)
        return _HostLayer(own, self.tokens[part], self.probs[part], self.log_probs[part], chosen)


class _ForestBuilder:
    """Turns draws into nodes: one node per content; slots with a duplicate, or without a node, become None."""

    def __init__(
        self,
        beams: Sequence[Beam],
        settings: ResolvedSettings,
        vocabulary: int,
        host: _Host,
        next_tokens: NextTokensCopied,
    ) -> None:
        self.beams, self.vocabulary, self.host, self.next_tokens = beams, vocabulary, host, next_tokens
        self.settings, self.is_likely = settings, settings.forest == "likely"
        self.is_ranked = settings.temperature == 0 and not settings.replacement
        self.may_repeat = settings.replacement and not self.is_likely
        self.is_joint = not settings.lossless
        self.uniforms = host.floats().tolist()
        self.log_probs: dict[Node, float] = {}

    def build(self, drafted_layers: Sequence[DraftedLayer]) -> Scored:
        layers, draft_slots = list[ForestLayer | BranchedLayer](), list[Node | None]()
        cover_slots, best_slots, fed_to_draft = list[Node | None](), list[Node | None](), 0
        above: Sequence[Node | None] = [beam.node for beam in self.beams]
        for on_device in drafted_layers:
            drafted = _HostLayer.read(self.host, self.vocabulary)
            nodes = self._nodes(above, drafted, on_device.draws)
            layers.append(self._forest_layer(above, drafted, nodes, on_device.draws))
            slots = _slot_of_each(drafted.chosen, nodes)
            fed_to_draft = len(draft_slots)
            above = slots[: on_device.draws]
            draft_slots += above
            cover_slots += slots[on_device.draws :]
            if self.is_joint:
                slot, reached = self.host.ints().tolist()
                best_slots.append(slots[slot] if reached else None)
        nodes_fed = best_slots if self.is_joint else draft_slots + cover_slots
        self.next_tokens.name([*(beam.node for beam in self.beams), *nodes_fed])
        forest, best = Forest(self.beams, layers), self._best_beam(best_slots)
        return Scored(
            forest, self.next_tokens, self.uniforms, self.log_probs, nodes_fed, draft_slots[:fed_to_draft], best
        )

    def _best_beam(self, slots: Sequence[Node | None]) -> BestBeam | None:
        nodes = [node for node in slots if node is not None]
        if not nodes:
            return None
        target = [self.next_tokens.log_prob(node) for node in nodes]
        return BestBeam(nodes, target, [self.log_probs[node] for node in nodes])

    def _nodes(self, above: Sequence[Node | None], drafted: _HostLayer, draws: int) -> dict[int, Node | None]:
        """Return the node of each chosen pair, in the order in which the pairs were first chosen; None for no node.

        A draft is a node if Q > 0, a cover node if its raw probability is above 0.
        """
        nodes = dict[int, Node | None]()
        chosen = drafted.chosen
        parents, tokens = drafted.parents[chosen].tolist(), drafted.tokens[chosen].tolist()
        probs, log_probs = drafted.probs[chosen].tolist(), drafted.log_probs[chosen].tolist()
        for place, index in enumerate(chosen):
            if index in nodes:
                continue
            node = above[parents[place]]
            exists = probs[place] > 0 if place < draws else log_probs[place] > -math.inf
            if node is not None and exists:
                nodes[index] = made = node.child(tokens[place])
                self.log_probs[made] = log_probs[place]
            else:
                nodes[index] = None
        return nodes

    def _forest_layer(
        self, above: Sequence[Node | None], drafted: _HostLayer, nodes: Mapping[int, Node | None], draws: int
    ) -> ForestLayer | BranchedLayer:
        if self.settings.branching is None:
            layer = self._layer(above, drafted, nodes, draws)
            return layer.as_likely() if self.is_likely else layer
        children, size = draws // len(above), drafted.probs.size // len(above)
        families = dict[Node, ForestLayer]()
        for place, parent in enumerate(above):
            start = place * size
            own = {index - start: node for index, node in nodes.items() if start <= index < start + size}
            if parent is not None and any(node is not None for node in own.values()):
                families[parent] = self._layer([parent], drafted.family(place, len(above)), own, children)
        return BranchedLayer(families)

    def _layer(
        self, above: Sequence[Node | None], drafted: _HostLayer, nodes: Mapping[int, Node | None], draws: int
    ) -> ForestLayer:
        drawn = drafted.chosen[:draws]
        covers = [node for index, node in nodes.items() if node is not None and index not in drawn]
        if not self.may_repeat:
            drawn = list(dict.fromkeys(drawn))
        trials = [(index, node) for index in drawn if (node := nodes[index]) is not None]
        probs = drafted.probs[[index for index, _ in trials]].tolist()
        return ForestLayer([node for _, node in trials], probs, covers, self._law(above, drafted))

    def _law(self, above: Sequence[Node | None], drafted: _HostLayer) -> DraftLaw:
        kept = drafted.probs > 0
        place_of = np.cumsum([node is not None for node in above]) - 1
        probs = drafted.probs[kept]
        if self.is_ranked:
            probs[1:] = 0.0
        nodes = [node for node in above if node is not None]
        return DraftLaw(nodes, place_of[drafted.parents[kept]], drafted.tokens[kept], probs, self.is_ranked)


def _slot_of_each(chosen: Sequence[int], nodes: Mapping[int, Node | None]) -> list[Node | None]:
    """Return the node of each slot if every chosen pair has its own: None from the second time on."""
    left = dict(nodes)
    return [left.pop(index, None) for index in chosen]
