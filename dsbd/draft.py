"""Drafting: the draft model beam-samples the forest. The only caller of the draft model.

Everything stays on the model's device in tensors of fixed shape; nothing is copied to the host until
the forest is scored. A layer has ``draft_width`` *slots*, one per draw. Slots with equal content
(replacement=True) are one node: the first is its representative and carries the multiplicity, the
others are inert. So are slots that could not be drawn and, as parents, slots that end.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch

from dsbd.beams import Beam
from dsbd.models.rows import Row
from dsbd.settings import DecodingSettings

SHARPEST = 1e30
"""Largest 1 / temperature on the draft side: keeps float32 scores finite. Any draft law is legal."""


@dataclass(frozen=True)
class DraftedLayer:
    """One layer of the forest, on the device. W = draft_width, n = pairs in the law, C = cover nodes."""

    law_parents: torch.Tensor  # [n] slot of the layer above, or place of the input beam
    law_tokens: torch.Tensor  # [n]
    law_probs: torch.Tensor  # [n] float64, Q; zeros where no beam was left to extend
    parents: torch.Tensor  # [W + C] like law_parents, of the drafts and then the covers
    tokens: torch.Tensor  # [W + C]
    probs: torch.Tensor  # [W + C] float64, Q of the pair
    log_probs: torch.Tensor  # [W + C] raw log p_draft(token | parent)
    valid: torch.Tensor  # [W + C] bool
    represents: torch.Tensor  # [W] slot that stands for each draft's node


@dataclass
class DraftedForest:
    """The layers, and who sees whom among the drafts, layer by layer."""

    layers: list[DraftedLayer] = field(default_factory=list)
    roots: list[torch.Tensor] = field(default_factory=list)  # per layer [W] place of the input beam
    sees: list[torch.Tensor] = field(default_factory=list)  # per layer [W, layers so far * W] bool


@dataclass(frozen=True)
class _Frontier:
    """What the next layer extends: B input beams or the W drafts of the layer above."""

    logits: torch.Tensor  # [B, vocabulary]
    log_weights: torch.Tensor  # [B] float64; minus infinity where there is nothing to extend
    log_multiplicities: torch.Tensor  # [B] float64


class Draws(NamedTuple):
    """The drafts of a layer as indices into its law's pairs."""

    chosen: torch.Tensor  # [W]
    valid: torch.Tensor  # [W] bool
    represents: torch.Tensor  # [W]
    counts: torch.Tensor  # [W] draws that each slot stands for; 0 where inert


class DeviceLaw(NamedTuple):
    """A joint law on the device, best pair first where it is ranked. n = min(top_k, all pairs)."""

    pairs: torch.Tensor  # [n] beam * vocabulary + token
    scores: torch.Tensor  # [n] float64, before normalisation
    probs: torch.Tensor  # [n] float64
    log_probs: torch.Tensor  # [n] raw log p(token | beam), float64


class Drafter:
    """Draws the forests of one decode.

    Args:
        row: the draft model's memory of this decode.
        settings: draft_width, cover_width, replacement and the warp are read.
        ends: [vocabulary] bool, True for ids that end a beam, on the model's device.
        generator: source of the races; its uniforms are not recorded.

    *Source:* the paper's Algorithm 1, drafting stage; DESIGN.md section 3.
    """

    def __init__(self, row: Row, settings: DecodingSettings, ends: torch.Tensor, generator: torch.Generator) -> None:
        self.row = row
        self._settings = settings
        self._ends = ends
        self._generator = generator
        self._itself = torch.eye(settings.draft_width, dtype=torch.bool, device=ends.device)
        self._no_tokens = torch.empty(0, dtype=torch.int64, device=ends.device)
        self._no_sight = torch.empty(0, 0, dtype=torch.bool, device=ends.device)
        self._depths = torch.ones(settings.draft_width, dtype=torch.int64, device=ends.device)

    @torch.inference_mode()
    def draft(self, beams: Sequence[Beam], depth: int) -> DraftedForest:
        """Draw ``depth`` layers, at least 1, below the input beams, starting from the target's log-weights."""
        self.row.open([beam.node for beam in beams])
        none = self._no_tokens
        logits = self.row.feed(none, roots=none, sees=self._no_sight, depths=none)
        numbers = [[beam.log_weight, math.log(beam.multiplicity)] for beam in beams]
        weights = torch.tensor(numbers, dtype=torch.float64, device=none.device)
        frontier = _Frontier(logits, weights[:, 0], weights[:, 1])
        forest, width = DraftedForest(), self._settings.draft_width
        for number in range(1, depth + 1):
            layer, log_weights, counts = self._draw_layer(frontier)
            forest.layers.append(layer)
            self._extend_sight(forest, layer.parents[:width])
            if number < depth:
                logits = self.row.feed(
                    layer.tokens[:width], roots=forest.roots[-1], sees=forest.sees[-1], depths=self._depths * number
                )
                frontier = _Frontier(logits, log_weights, counts.clamp(min=1).double().log())
        return forest

    def _draw_layer(self, frontier: _Frontier) -> tuple[DraftedLayer, torch.Tensor, torch.Tensor]:
        """One layer, its drafts' log-weights [W] (minus infinity where inert), and their counts [W]."""
        vocabulary, width = frontier.logits.shape[1], self._settings.draft_width
        law = joint_draft_law(frontier.logits, frontier.log_weights, frontier.log_multiplicities, self._settings)
        parents, tokens = law.pairs // vocabulary, law.pairs % vocabulary
        if self._settings.forest == "likely":
            draws = likeliest(law, width)
        else:
            draws = race(law, self._settings, self._generator)
        picked, valid = draws.chosen, draws.valid
        if self._settings.cover_width:
            left = law.scores.masked_fill(self._ends[tokens], -torch.inf)
            covers, covers_valid = likeliest_left(left, draws.chosen, self._settings.cover_width)
            picked, valid = torch.cat([picked, covers]), torch.cat([valid, covers_valid])
        layer = DraftedLayer(
            law_parents=parents,
            law_tokens=tokens,
            law_probs=law.probs,
            parents=parents[picked],
            tokens=tokens[picked],
            probs=law.probs[picked],
            log_probs=law.log_probs[picked],
            valid=valid,
            represents=draws.represents,
        )
        log_weights = (frontier.log_weights[layer.parents] + layer.log_probs)[:width]
        inert = (draws.counts == 0) | self._ends[layer.tokens[:width]]
        return layer, log_weights.masked_fill(inert, -torch.inf), draws.counts

    def _extend_sight(self, forest: DraftedForest, parents: torch.Tensor) -> None:
        """A draft sees what its parent sees, and itself."""
        if forest.sees:
            forest.roots.append(forest.roots[-1][parents])
            forest.sees.append(torch.cat([forest.sees[-1][parents], self._itself], dim=1))
        else:
            forest.roots.append(parents)
            forest.sees.append(self._itself)


def joint_draft_law(
    logits: torch.Tensor, log_weights: torch.Tensor, log_multiplicities: torch.Tensor, settings: DecodingSettings
) -> DeviceLaw:
    """The joint law over (beam, token), warped as the target's is (``dsbd.laws.joint_law`` is its host twin).

    A greedy law has all mass on the best pair; without replacement each pair has 1, being certain in
    its turn. Where no beam is left to extend, all probabilities are 0.

    Args:
        logits: [beams, vocabulary].
        log_weights: [beams] float64, nats.
        log_multiplicities: [beams] float64; added after the division by the temperature.
    """
    wide = logits if logits.dtype == torch.float64 else logits.float()
    normalisers = wide.logsumexp(dim=1)
    sharpness = min(1.0 / settings.temperature, SHARPEST) if settings.temperature > 0 else 1.0
    offsets = (log_weights - normalisers) * sharpness
    if settings.temperature > 0 and settings.replacement:
        offsets = offsets + log_multiplicities
    scores = torch.add(offsets.to(wide.dtype)[:, None], wide, alpha=sharpness).flatten()
    if settings.top_k > 0 or settings.temperature == 0 or settings.top_p < 1:
        scores, pairs = scores.topk(min(settings.top_k or scores.numel(), scores.numel()))
    else:
        pairs = torch.arange(scores.numel(), device=scores.device)
    scores = scores.double()
    log_probs = wide.flatten()[pairs].double() - normalisers[pairs // wide.shape[1]].double()
    return DeviceLaw(pairs, scores, _probabilities(scores, settings), log_probs)


def _probabilities(scores: torch.Tensor, settings: DecodingSettings) -> torch.Tensor:
    if settings.temperature == 0:
        probs = scores.isfinite().double()
        if settings.replacement:
            probs[1:] = 0.0
        return probs
    probs = torch.softmax(scores, dim=0).nan_to_num_(0.0)
    if settings.top_p < 1:
        probs = torch.where(probs.cumsum(0) - probs < settings.top_p, probs, 0.0)
        probs = (probs / probs.sum()).nan_to_num_(0.0)
    return probs


def race(law: DeviceLaw, settings: DecodingSettings, generator: torch.Generator) -> Draws:
    """draft_width draws by the exponential race: the largest prob / noise wins.

    One race per draw is independent draws; the W best of a single race are draws without replacement,
    in the order they would be drawn.
    """
    probs, width = law.probs, settings.draft_width
    slots = torch.arange(width, device=probs.device)
    if not settings.replacement:
        finish = law.scores if settings.temperature == 0 else probs / _noise(1, probs, generator)[0]
        order = finish.topk(min(width, probs.numel())).indices
        chosen = torch.cat([order, order.new_zeros(width - order.numel())])
        valid = (probs[chosen] > 0) & (slots < order.numel())
        return Draws(chosen, valid, slots, valid.long())
    if settings.temperature == 0:
        chosen = torch.zeros_like(slots)
    else:
        chosen = (probs / _noise(width, probs, generator)).argmax(dim=1)
    valid = probs[chosen] > 0
    return Draws(chosen, valid, *merge_duplicates(chosen, valid))


def likeliest(law: DeviceLaw, width: int) -> Draws:
    """The ``width`` likeliest pairs of the law, each once: nothing is drawn."""
    order = law.scores.topk(min(width, law.scores.numel())).indices
    chosen = torch.cat([order, order.new_zeros(width - order.numel())])
    slots = torch.arange(width, device=order.device)
    valid = law.scores[chosen].isfinite() & (slots < order.numel())
    return Draws(chosen, valid, slots, valid.long())


def _noise(races: int, probs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return probs.new_empty(races, probs.numel()).exponential_(generator=generator)


def likeliest_left(scores: torch.Tensor, chosen: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The best pairs that were not chosen: indices [C], valid [C]. C = min(count, all)."""
    best = scores.index_fill(0, chosen, -torch.inf).topk(min(count, scores.numel()))
    return best.indices, best.values.isfinite()


def merge_duplicates(keys: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first slot with equal content [W], and how many slots it stands for [W] (0 where inert)."""
    equal = (keys[:, None] == keys) & valid & valid[:, None]
    first = equal.byte().argmax(dim=1)
    is_first = first == torch.arange(keys.numel(), device=keys.device)
    return first, equal.sum(dim=1) * (is_first & valid)
