"""Scoring: one target forward over the whole forest. The only caller of the target model.

What verification needs comes to the host in one copy: the laws and draws of the draft stage, the
target's next-token rows of every node, and the uniforms of the iteration.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from dsbd.beams import Beam, Node
from dsbd.draft import DraftedLayer
from dsbd.forest import DraftLaw, Forest, ForestLayer
from dsbd.laws import Row as NextTokens
from dsbd.models.rows import Row
from dsbd.settings import ResolvedSettings
from dsbd.topk import distinct_top


@dataclass(frozen=True)
class Scored:
    """A forest on the host, ready to be verified."""

    forest: Forest
    rows: dict[Node, NextTokens]
    uniforms: list[float]
    log_probs: dict[Node, tuple[float, float]]
    """Raw log-probability of each forest node given its parent: under the target, under the draft."""
    slots: list[Node | None]
    """The node of each slot fed to the target; None where a slot is a duplicate or inert."""


@torch.inference_mode()
def score(
    row: Row,
    beams: Sequence[Beam],
    layers: Sequence[DraftedLayer],
    settings: ResolvedSettings,
    generator: torch.Generator,
) -> Scored:
    """Run the target over the input beams' last tokens and all forest slots, and copy the outcome once.

    Slots are fed drafts first, layer by layer, then cover nodes, layer by layer.
    """
    tokens, parents, sizes = _feed_of(layers, settings.draft_width, len(beams), generator.device)
    row.open([beam.node for beam in beams], tokens.numel())
    logits = row.feed(tokens, parents, sizes)
    top_tokens, top_log_probs, normalisers = next_token_rows(logits, settings.top_k)
    own = logits[parents, tokens].to(normalisers.dtype) - normalisers[parents]
    trials = 0 if settings.forest == "likely" else len(layers) * settings.draft_width
    count = trials + (len(layers) + 1) * settings.widest
    uniforms = torch.rand(count, dtype=torch.float64, device=generator.device, generator=generator)
    host = _Host([top_tokens, top_log_probs, own, uniforms, *(part for layer in layers for part in _parts(layer))])
    return _ForestBuilder(beams, settings, logits.shape[1], host).build(len(layers))


def next_token_rows(logits: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The likeliest tokens of each row, ties to the lowest id (bfloat16 logits tie often).

    Returns:
        tokens [rows, k], raw log-probabilities [rows, k], normalisers [rows]. With top_k 0 every token, by id.
    """
    if top_k == 0 or top_k >= logits.shape[1] or logits.dtype == torch.float64:
        return _sorted_rows(logits, top_k)
    wide = logits.float()
    normalisers = wide.logsumexp(dim=-1)
    tokens, values = distinct_top(wide, top_k)
    return tokens, values - normalisers[:, None], normalisers


def _sorted_rows(logits: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All tokens by id, or by a stable sort: for whole rows, and for the float64 of tests."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    tokens = torch.arange(wide.shape[1], device=logits.device).expand(wide.shape)
    if 0 < top_k < wide.shape[1]:
        tokens = wide.sort(dim=-1, descending=True, stable=True).indices[:, :top_k]
    normalisers = wide.logsumexp(dim=-1)
    return tokens, wide.gather(1, tokens) - normalisers[:, None], normalisers


def _feed_of(
    layers: Sequence[DraftedLayer], width: int, beams: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, list[int]]:
    """Tokens [N] and parents [N] of all slots, drafts before covers, and the sizes of their groups."""
    if not layers:
        none = torch.empty(0, dtype=torch.int64, device=device)
        return none, none, []
    starts = [0] + [beams + number * width for number in range(len(layers) - 1)]
    parents = [layer.parents + start for layer, start in zip(layers, starts, strict=True)]
    covers = [above.numel() - width for above in parents]
    if not any(covers):
        return torch.cat([layer.tokens for layer in layers]), torch.cat(parents), [width] * len(layers)
    return (
        torch.cat([layer.tokens[:width] for layer in layers] + [layer.tokens[width:] for layer in layers]),
        torch.cat([above[:width] for above in parents] + [above[width:] for above in parents]),
        [width] * len(layers) + covers,
    )


def _parts(layer: DraftedLayer) -> Iterator[torch.Tensor]:
    law = layer.law
    yield from (law.pairs, law.probs, law.logits, law.normalisers, layer.chosen)


class _Host:
    """Several tensors brought over in one copy, then handed out in order as float64 arrays."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        tensors = list(tensors)
        groups: dict[torch.dtype, list[torch.Tensor]] = {}
        for tensor in tensors:
            groups.setdefault(tensor.dtype, []).append(tensor.reshape(-1))
        flat = torch.cat([torch.cat(group).double() for group in groups.values()]).cpu().numpy()
        place, end = dict[torch.dtype, int](), 0
        for dtype, group in groups.items():
            place[dtype], end = end, end + sum(part.numel() for part in group)
        pieces = []
        for tensor in tensors:
            start, size = place[tensor.dtype], tensor.numel()
            pieces.append(flat[start : start + size].reshape(tuple(tensor.shape)))
            place[tensor.dtype] += size
        self._next = iter(pieces)

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
        """The parts in the order of :func:`_parts`."""
        parents, tokens = np.divmod(host.ints(), vocabulary)
        probs, logits, normalisers = host.floats(), host.floats(), host.floats()
        return _HostLayer(parents, tokens, probs, logits - normalisers[parents], host.ints().tolist())


class _ForestBuilder:
    """Turns slots into nodes: one object per content, duplicates and inert slots left out."""

    def __init__(self, beams: Sequence[Beam], settings: ResolvedSettings, vocabulary: int, host: _Host) -> None:
        self.beams, self.vocabulary, self.host = beams, vocabulary, host
        self.width, self.is_likely = settings.draft_width, settings.forest == "likely"
        self.is_ranked = settings.temperature == 0 and not settings.replacement
        self.may_repeat = settings.replacement and not self.is_likely
        self.top_tokens, self.top_log_probs = host.ints(), host.floats()
        self.target_log_probs, self.uniforms = host.floats().tolist(), host.floats().tolist()
        self.log_probs: dict[Node, tuple[float, float]] = {}

    def build(self, depth: int) -> Scored:
        layers, draft_slots, cover_slots = list[ForestLayer](), list[Node | None](), list[Node | None]()
        above: Sequence[Node | None] = [beam.node for beam in self.beams]
        for number in range(depth):
            drafted = _HostLayer.read(self.host, self.vocabulary)
            places = [*range(number * self.width, (number + 1) * self.width)]
            places += range(depth * self.width + len(cover_slots), len(self.target_log_probs))
            slots = self._slots(above, drafted, places)
            layer = self._layer(above, drafted, slots)
            layers.append(layer.as_likely() if self.is_likely else layer)
            draft_slots += slots[: self.width]
            cover_slots += slots[self.width :]
            above = slots[: self.width]
        nodes = draft_slots + cover_slots
        return Scored(Forest(self.beams, layers), self._rows(nodes), self.uniforms, self.log_probs, nodes)

    def _slots(self, above: Sequence[Node | None], drafted: _HostLayer, places: Sequence[int]) -> list[Node | None]:
        """The node of each slot; None where an earlier slot is that node, or where there is none.

        A draft exists where Q > 0; a cover node wherever it is possible at all.
        """
        seen, slots = set[int](), list[Node | None]()
        parents, tokens = drafted.parents[drafted.chosen].tolist(), drafted.tokens[drafted.chosen].tolist()
        for place, (index, parent, token) in enumerate(zip(drafted.chosen, parents, tokens, strict=True)):
            node, log_prob = above[parent], float(drafted.log_probs[index])
            exists = drafted.probs[index] > 0 if place < self.width else log_prob > -math.inf
            slots.append(node.child(token) if node is not None and exists and index not in seen else None)
            seen.add(index)
            if (made := slots[-1]) is not None:
                self.log_probs[made] = (self.target_log_probs[places[place]], log_prob)
        return slots

    def _layer(self, above: Sequence[Node | None], drafted: _HostLayer, slots: Sequence[Node | None]) -> ForestLayer:
        node_of = {index: node for index, node in zip(drafted.chosen, slots, strict=True) if node is not None}
        drawn = drafted.chosen[: self.width]
        if not self.may_repeat:
            drawn = list(dict.fromkeys(drawn))
        drawn = [index for index in drawn if index in node_of]
        covers = [node for node in slots[self.width :] if node is not None]
        return ForestLayer(
            [node_of[index] for index in drawn], drafted.probs[drawn].tolist(), covers, self._law(above, drafted)
        )

    def _law(self, above: Sequence[Node | None], drafted: _HostLayer) -> DraftLaw:
        kept = drafted.probs > 0
        place_of = np.cumsum([node is not None for node in above]) - 1
        probs = drafted.probs[kept]
        if self.is_ranked:
            probs[1:] = 0.0
        nodes = [node for node in above if node is not None]
        return DraftLaw(nodes, place_of[drafted.parents[kept]], drafted.tokens[kept], probs, self.is_ranked)

    def _rows(self, slots: Sequence[Node | None]) -> dict[Node, NextTokens]:
        nodes = [*(beam.node for beam in self.beams), *slots]
        rows = zip(nodes, self.top_tokens, self.top_log_probs, strict=True)
        return {node: NextTokens(tokens, log_probs) for node, tokens, log_probs in rows if node is not None}
