"""Scoring: one target forward over the whole forest. The only caller of the target model.

What verification needs comes to the host in one copy: the laws and draws of the draft stage, the
target's next-token rows of every node, and the uniforms of the iteration.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dsbd.beams import Beam, Node
from dsbd.draft import DraftedForest, DraftedLayer
from dsbd.forest import DraftLaw, Forest, ForestLayer
from dsbd.laws import Row as NextTokens
from dsbd.models.rows import Row
from dsbd.settings import DecodingSettings

_SIGN = 0x7FFFFFFF


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
    drafted: DraftedForest,
    settings: DecodingSettings,
    generator: torch.Generator,
) -> Scored:
    """Run the target over the input beams' last tokens and all forest slots, and copy the outcome once.

    Slots are fed drafts first, layer by layer, then cover nodes, layer by layer.
    """
    device = generator.device
    row.open([beam.node for beam in beams])
    layers, width = drafted.layers, settings.draft_width
    tokens, roots, sees, depths = _feed_of(drafted, width, device)
    logits = row.feed(tokens, roots=roots, sees=sees, depths=depths)
    top_tokens, top_log_probs, normalisers = next_token_rows(logits, settings.top_k)
    parents = _parent_rows(layers, width, len(beams), device)
    own = logits[parents, tokens].to(normalisers.dtype) - normalisers[parents]
    trials = 0 if settings.forest == "likely" else len(layers) * width
    uniforms = torch.rand(
        trials + (len(layers) + 1) * settings.widest, dtype=torch.float64, device=device, generator=generator
    )
    host = _Host([top_tokens, top_log_probs, own, uniforms, *(part for layer in layers for part in _parts(layer))])
    builder = _ForestBuilder(beams, width, host)
    return builder.build(len(layers), settings)


def next_token_rows(logits: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The likeliest tokens of each row, ties to the lowest id (bfloat16 logits tie often).

    Returns:
        tokens [rows, k], raw log-probabilities [rows, k], normalisers [rows]. With top_k 0 every token, by id.
    """
    if top_k == 0 or top_k >= logits.shape[1] or logits.dtype == torch.float64:
        return _sorted_rows(logits, top_k)
    wide = logits.float() if logits.dtype != torch.float32 else logits.clone()
    normalisers = wide.logsumexp(dim=-1)
    tokens, values = _distinct_top(wide, top_k)
    return tokens, values - normalisers[:, None], normalisers


def _sorted_rows(logits: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All tokens by id, or by a stable sort: for whole rows, and for the float64 of tests."""
    wide = logits if logits.dtype == torch.float64 else logits.float()
    tokens = torch.arange(wide.shape[1], device=logits.device).expand(wide.shape)
    if 0 < top_k < wide.shape[1]:
        tokens = wide.sort(dim=-1, descending=True, stable=True).indices[:, :top_k]
    normalisers = wide.logsumexp(dim=-1)
    return tokens, wide.gather(1, tokens) - normalisers[:, None], normalisers


def _distinct_top(wide: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and values of the top_k of float32 rows, ties to the lowest id. ``wide`` is used up.

    Value and id together make one integer key, so no two keys tie. Rows are large and short-lived; working
    in place matters more here than the arithmetic.
    """
    vocabulary = wide.shape[1]
    bits = wide.add_(0.0).view(torch.int32)  # -0.0, which sorts below 0.0, becomes 0.0
    bits.bitwise_xor_((bits >> 31).bitwise_and_(_SIGN))  # integers that sort like the floats
    lowest_first = torch.arange(vocabulary - 1, -1, -1, device=wide.device)
    keys = bits.to(torch.int64).bitwise_left_shift_(32).bitwise_or_(lowest_first).topk(top_k, dim=-1).values
    best = (keys >> 32).to(torch.int32)
    values = best.bitwise_xor_((best >> 31).bitwise_and_(_SIGN)).view(torch.float32)  # the map is its own inverse
    return vocabulary - 1 - (keys & 0xFFFFFFFF), values


def _feed_of(
    drafted: DraftedForest, width: int, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Tokens [N], roots [N], sees [N, N] and depths [N] of all slots, drafts before covers."""
    layers, none = drafted.layers, torch.empty(0, dtype=torch.int64, device=device)
    covers = [layer.parents[width:] for layer in layers]
    numbers = range(1, len(layers) + 1)
    depths = [number for number in numbers for _ in range(width)]
    depths += [number for number, above in zip(numbers, covers, strict=True) for _ in range(above.numel())]
    sees = torch.zeros(len(depths), len(depths), dtype=torch.bool, device=device)
    roots, end = list(drafted.roots), width * len(layers)
    for place, (above, seen) in enumerate(zip(covers, drafted.sees, strict=True)):
        sees[place * width : (place + 1) * width, : seen.shape[1]] = seen
        if place:
            sees[end : end + above.numel(), : place * width] = drafted.sees[place - 1][above]
        roots.append(drafted.roots[place - 1][above] if place else above)
        end += above.numel()
    sees.fill_diagonal_(True)
    tokens = [layer.tokens[:width] for layer in layers] + [layer.tokens[width:] for layer in layers]
    return (
        torch.cat([none, *tokens]),
        torch.cat([none, *roots]),
        sees,
        torch.tensor(depths, dtype=torch.int64, device=device),
    )


def _parent_rows(layers: Sequence[DraftedLayer], width: int, beams: int, device: torch.device) -> torch.Tensor:
    """Row of the logits that each slot's own probability stands in [N]."""
    starts = [0] + [beams + number * width for number in range(len(layers))]
    drafts = [layer.parents[:width] + start for layer, start in zip(layers, starts, strict=False)]
    covers = [layer.parents[width:] + start for layer, start in zip(layers, starts, strict=False)]
    return torch.cat([torch.empty(0, dtype=torch.int64, device=device), *drafts, *covers])


def _parts(layer: DraftedLayer) -> Iterator[torch.Tensor]:
    yield from (layer.law_parents, layer.law_tokens, layer.law_probs)
    yield from (layer.parents, layer.tokens, layer.probs, layer.log_probs, layer.valid, layer.represents)


class _Host:
    """Several tensors brought over in one copy, then handed out in order as float64 arrays."""

    def __init__(self, tensors: Iterable[torch.Tensor]) -> None:
        tensors = list(tensors)
        groups: dict[torch.dtype, list[torch.Tensor]] = {}
        for tensor in tensors:
            groups.setdefault(tensor.dtype, []).append(tensor.reshape(-1))
        flat = torch.cat([torch.cat(group).double() for group in groups.values()]).cpu().numpy()
        ends = dict(zip(groups, np.cumsum([sum(map(len, group)) for group in groups.values()]).tolist(), strict=True))
        place = {dtype: ends[dtype] - sum(map(len, group)) for dtype, group in groups.items()}
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


class _ForestBuilder:
    """Turns slots into nodes: one object per content, duplicates and inert slots left out."""

    def __init__(self, beams: Sequence[Beam], width: int, host: _Host) -> None:
        self.beams, self.width, self.host = beams, width, host
        self.top_tokens, self.top_log_probs = host.ints(), host.floats()
        self.target_log_probs, self.uniforms = host.floats(), host.floats().tolist()
        self.log_probs: dict[Node, tuple[float, float]] = {}

    def build(self, depth: int, settings: DecodingSettings) -> Scored:
        ranked, is_likely = settings.temperature == 0 and not settings.replacement, settings.forest == "likely"
        layers, draft_slots, cover_slots = list[ForestLayer](), list[Node | None](), list[Node | None]()
        above: list[Node | None] = [beam.node for beam in self.beams]
        first_cover = depth * self.width
        for number in range(depth):
            start = (number * self.width, first_cover + len(cover_slots))
            layer, drafts, covers = self._layer(above, start, ranked)
            layers.append(layer.as_likely() if is_likely else layer)
            draft_slots += drafts
            cover_slots += covers
            above = drafts
        slots = draft_slots + cover_slots
        return Scored(Forest(self.beams, layers), self._rows(slots), self.uniforms, self.log_probs, slots)

    def _layer(
        self, above: Sequence[Node | None], start: tuple[int, int], ranked: bool
    ) -> tuple[ForestLayer, list[Node | None], list[Node | None]]:
        """One layer, the node of each draft slot (None unless it represents one) and of each cover slot."""
        law_parents, law_tokens, law_probs = self.host.ints(), self.host.ints(), self.host.floats()
        parents, tokens, probs = self.host.ints().tolist(), self.host.ints().tolist(), self.host.floats().tolist()
        log_probs, valid = self.host.floats().tolist(), self.host.ints().tolist()
        represents = self.host.ints().tolist()
        slots: list[Node | None] = []
        for slot, (place, token) in enumerate(zip(parents, tokens, strict=True)):
            parent = above[place]
            is_new = valid[slot] and (slot >= self.width or represents[slot] == slot)
            slots.append(parent.child(token) if is_new and parent is not None else None)
            if slots[-1] is not None:
                own = start[0] + slot if slot < self.width else start[1] + slot - self.width
                self.log_probs[slots[-1]] = (float(self.target_log_probs[own]), log_probs[slot])
        drawn = [slot for slot in range(self.width) if valid[slot]]
        drafts = [slots[represents[slot]] for slot in drawn]
        covers = [node for node in slots[self.width :] if node is not None]
        kept = law_probs > 0
        nodes = [node for node in above if node is not None]
        place_of = np.cumsum([node is not None for node in above]) - 1
        law_probs = law_probs[kept]
        if ranked:
            law_probs[1:] = 0.0
        law = DraftLaw(nodes, place_of[law_parents[kept]], law_tokens[kept], law_probs, ranked)
        layer = ForestLayer([node for node in drafts if node is not None], [probs[slot] for slot in drawn], covers, law)
        return layer, slots[: self.width], slots[self.width :]

    def _rows(self, slots: Sequence[Node | None]) -> dict[Node, NextTokens]:
        nodes = [*(beam.node for beam in self.beams), *slots]
        rows = zip(nodes, self.top_tokens, self.top_log_probs, strict=True)
        return {node: NextTokens(tokens, log_probs) for node, tokens, log_probs in rows if node is not None}
