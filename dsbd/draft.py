"""Drafting: the draft model beam-samples the forest. The only caller of the draft model.

Everything stays on the model's device in tensors of fixed shape; nothing is copied to the host until
the forest is scored. A layer has ``draft_width`` *slots*, one per draw. Slots with equal content
(replacement=True) are one node: the first is its representative and carries the multiplicity, the
others are inert. So are slots that could not be drawn and, as parents, slots that end.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from dsbd.beams import Beam
from dsbd.models.rows import Row
from dsbd.settings import DecodingSettings


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


@torch.inference_mode()
def draft(
    row: Row,
    beams: Sequence[Beam],
    settings: DecodingSettings,
    depth: int,
    eos: torch.Tensor,
    generator: torch.Generator,
) -> DraftedForest:
    """Draw a forest of ``depth`` layers below the input beams, starting from the target's log-weights.

    Args:
        row: the draft model's memory of this decode.
        beams: input beams.
        depth: layers, at least 1.
        eos: [e] ids that end a beam, on the device.
        generator: source of the race; its uniforms are not recorded.

    *Source:* the paper's Algorithm 1, drafting stage; DESIGN.md section 3.
    """
    device = eos.device
    none = torch.empty(0, dtype=torch.int64, device=device)
    row.open([beam.node for beam in beams])
    logits = row.feed(none, roots=none, sees=torch.empty(0, 0, dtype=torch.bool, device=device), depths=none)
    weights = torch.tensor([[beam.log_weight, beam.multiplicity] for beam in beams], dtype=torch.float64, device=device)
    frontier = _Frontier(logits, weights[:, 0], weights[:, 1].log())
    width, forest = settings.draft_width, DraftedForest()
    for number in range(1, depth + 1):
        layer, log_weights, multiplicities = _draw_layer(frontier, settings, eos, generator)
        forest.layers.append(layer)
        _extend_sight(forest, layer.parents[:width], device)
        if number < depth:
            logits = row.feed(
                layer.tokens[:width],
                roots=forest.roots[-1],
                sees=forest.sees[-1],
                depths=torch.full((width,), number, device=device),
            )
            frontier = _Frontier(logits, log_weights, multiplicities.log())
    return forest


def _draw_layer(
    frontier: _Frontier, settings: DecodingSettings, eos: torch.Tensor, generator: torch.Generator
) -> tuple[DraftedLayer, torch.Tensor, torch.Tensor]:
    """One layer, and its drafts' log-weights [W] (minus infinity where inert) and multiplicities [W]."""
    vocabulary = frontier.logits.shape[1]
    log_probs = wide_log_softmax(frontier.logits)
    weights = (log_probs + frontier.log_weights[:, None].to(log_probs.dtype)).flatten()
    scores, pairs, probs = joint_draft_law(weights, frontier.log_multiplicities, vocabulary, settings)
    chosen, valid = _race(scores, probs, settings, generator)
    covers, covers_valid = _covers(scores, pairs % vocabulary, chosen, settings.cover_width, eos)
    both = torch.cat([chosen, covers])
    keys = pairs[both]
    represents, counts = _merge_duplicates(pairs[chosen], valid)
    tokens = keys % vocabulary
    layer = DraftedLayer(
        law_parents=pairs // vocabulary,
        law_tokens=pairs % vocabulary,
        law_probs=probs,
        parents=keys // vocabulary,
        tokens=tokens,
        probs=probs[both],
        log_probs=log_probs.flatten()[keys],
        valid=torch.cat([valid, covers_valid]),
        represents=represents,
    )
    lives = (counts > 0) & ~torch.isin(tokens[: chosen.numel()], eos)
    log_weights = torch.where(lives, weights[pairs[chosen]].double(), -torch.inf)
    return layer, log_weights, counts.clamp(min=1).double()


def wide_log_softmax(logits: torch.Tensor) -> torch.Tensor:
    """Raw log-probabilities, in float32 or wider."""
    return torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)


def joint_draft_law(
    weights: torch.Tensor, log_multiplicities: torch.Tensor, vocabulary: int, settings: DecodingSettings
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The joint law over (beam, token), warped as the target's is (``dsbd.laws.joint_law`` is its host twin).

    Args:
        weights: [beams * vocabulary] raw log-weights of the pairs.
        log_multiplicities: [beams] float64.

    Returns:
        (scores, pairs, probs), each [n], best first where top_k is on: n = min(top_k, all). A greedy law has
        all mass on the best pair; without replacement each pair has 1, being certain in its turn.
    """
    if settings.temperature > 0:
        weights = weights / settings.temperature
        if settings.replacement:
            weights = weights + log_multiplicities.to(weights.dtype).repeat_interleave(vocabulary)
    ranked = settings.top_k > 0 or settings.temperature == 0 or settings.top_p < 1
    if ranked:
        kept = min(settings.top_k or weights.numel(), weights.numel())
        scores, pairs = weights.topk(kept)
    else:
        scores, pairs = weights, torch.arange(weights.numel(), device=weights.device)
    scores = scores.double()
    if settings.temperature == 0:
        probs = scores.isfinite().double()
        if settings.replacement:
            probs[1:] = 0.0
        return scores, pairs, probs
    probs = torch.softmax(scores, dim=0).nan_to_num(0.0)
    if settings.top_p < 1:
        probs = torch.where(probs.cumsum(0) - probs < settings.top_p, probs, 0.0)
        probs = (probs / probs.sum()).nan_to_num(0.0)
    return scores, pairs, probs


def _race(
    scores: torch.Tensor, probs: torch.Tensor, settings: DecodingSettings, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """draft_width draws by the exponential race: the largest prob / noise wins. Indices [W], valid [W].

    One race per draw is independent draws; the W best of a single race are draws without replacement,
    in the order they would be drawn.
    """
    width = settings.draft_width
    if settings.temperature == 0:
        if settings.replacement:
            chosen = torch.zeros(width, dtype=torch.int64, device=probs.device)
        else:
            chosen = torch.arange(width, device=probs.device).clamp(max=probs.numel() - 1)
        distinct = torch.arange(width, device=probs.device) < (width if settings.replacement else probs.numel())
        return chosen, scores[chosen].isfinite() & distinct
    rows = width if settings.replacement else 1
    noise = torch.empty(rows, probs.numel(), dtype=probs.dtype, device=probs.device)
    finish = probs / noise.exponential_(generator=generator)
    if settings.replacement:
        chosen = finish.argmax(dim=1)
        return chosen, probs[chosen] > 0
    order = finish[0].topk(min(width, probs.numel())).indices
    chosen = torch.cat([order, order.new_zeros(width - order.numel())])
    distinct = torch.arange(width, device=probs.device) < order.numel()
    return chosen, (probs[chosen] > 0) & distinct


def _covers(
    scores: torch.Tensor, tokens: torch.Tensor, chosen: torch.Tensor, count: int, eos: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The likeliest pairs that were not drafted and do not end: indices [C], valid [C]."""
    left = scores.index_fill(0, chosen, -torch.inf).masked_fill(torch.isin(tokens, eos), -torch.inf)
    best = left.topk(min(count, left.numel()))
    return best.indices, best.values.isfinite()


def _merge_duplicates(keys: torch.Tensor, valid: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first slot with equal content [W], and how many it stands for [W] (0 where inert)."""
    equal = (keys[:, None] == keys[None]) & valid[:, None] & valid[None]
    first = equal.int().argmax(dim=1)
    is_first = valid & (first == torch.arange(keys.numel(), device=keys.device))
    return first, equal.sum(dim=1) * is_first


def _extend_sight(forest: DraftedForest, parents: torch.Tensor, device: torch.device) -> None:
    """A draft sees what its parent sees, and itself."""
    itself = torch.eye(parents.numel(), dtype=torch.bool, device=device)
    if forest.sees:
        forest.roots.append(forest.roots[-1][parents])
        forest.sees.append(torch.cat([forest.sees[-1][parents], itself], dim=1))
    else:
        forest.roots.append(parents)
        forest.sees.append(itself)
