"""Drafting on a device: the draft model grows the forest, and nothing is copied to the host until it is scored.

A layer has ``draft_width`` draws of a sampled forest, or the likeliest pairs of a likely one; in a forest drawn per
parent every slot has ``branching`` draws below it. What is fed to the models are *slots*. Each draw has a slot, so that
all shapes are known without a copy: of equal slots the first carries the multiplicity, and the others are inert, which
means that nothing is drafted below them. Empty slots and tokens that end a beam are inert too. A layer has no draws if
Q only chooses its width.

On a CPU ``dsbd/host_draft.py`` drafts, except for joint tests.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch

from dsbd.law.beams import Beam
from dsbd.law.forest import LEAST_DRAFT_PROB
from dsbd.models.rows.row import Row
from dsbd.next_tokens import token_log_probs
from dsbd.settings import ResolvedSettings
from dsbd.topk import top_of_row

SHARPEST = 1e30
"""Largest 1 / temperature on the draft side: keeps float32 scores finite. Any draft law is legal."""


class DeviceLaw(NamedTuple):
    """A joint law on the device, best pair first if it is ranked. n = min(top_k, all pairs), B beams.

    In a forest drawn per parent: the laws of all parents one after the other, each of sum 1.
    """

    pairs: torch.Tensor  # [n] beam * vocabulary + token
    scores: torch.Tensor  # [n] float64, before normalisation
    probs: torch.Tensor  # [n] float64
    log_probs: torch.Tensor  # [n] raw log p_draft(token | beam)


@dataclass(frozen=True)
class DraftedLayer:
    """One layer of the forest, on the device: a slot for each of W draws and C cover nodes.

    Two layers below one input beam "a", with W = 3 and C = 0; the second "aa" is inert::

                    first layer              second layer
        slot      0     1     2            0      1      2
        parents   0     0     0            0      1      0     place of the input beam; slot of the layer above
        tokens    a     b     a            b      .      a
        node      aa    ab    -            aab    ab.    aaa
    """

    law: DeviceLaw
    chosen: torch.Tensor  # [W + C] index into the law's pairs: the draws, then the covers
    draws: int  # W
    parents: torch.Tensor  # [W + C] slot of the layer above, or place of the input beam
    tokens: torch.Tensor  # [W + C]
    best: torch.Tensor | None = None  # [2] for a joint test: slot of the best beam, and 1 if it reaches this layer

    def without_covers(self) -> "DraftedLayer":
        """Return the layer without its cover nodes."""
        if self.chosen.numel() == self.draws:
            return self
        chosen, parents, tokens = (part[: self.draws] for part in (self.chosen, self.parents, self.tokens))
        return replace(self, chosen=chosen, parents=parents, tokens=tokens)


@dataclass(frozen=True)
class _Frontier:
    """What the next layer extends: B input beams, or the slots for draws in the layer above."""

    logits: torch.Tensor  # [B, vocabulary]
    log_weights: torch.Tensor  # [B] float64; minus infinity if inert
    log_multiplicities: torch.Tensor  # [B] float64


class Drafter:
    """Draws the forests of one decode.

    Args:
        row: the draft model's memory of this decode.
        settings: forest, draft_width, branching, cover_width, replacement and the warp are read.
        ends: [vocabulary] bool, True for ids that end a beam, on the model's device.
        generator: source of the races; its uniforms are not recorded.

    *Source:* the paper's Algorithm 1, drafting stage; docs/algorithm.md, *One iteration*.
    """

    def __init__(self, row: Row, settings: ResolvedSettings, ends: torch.Tensor, generator: torch.Generator) -> None:
        self.row = row
        self._settings = settings
        self._ends = ends
        self._generator = generator
        self._no_tokens = torch.empty(0, dtype=torch.int64, device=ends.device)

    @torch.inference_mode()
    def draft(self, beams: Sequence[Beam], depth: int) -> list[DraftedLayer]:
        """Draw ``depth`` layers, at least 1, below the input beams, starting from the target's log-weights."""
        widths = self._settings.layer_slots[:depth]
        self.row.open([beam.node for beam in beams], sum(widths[:-1]))
        logits = self.row.feed(self._no_tokens, self._no_tokens, ())
        numbers = [[beam.log_weight, math.log(beam.multiplicity)] for beam in beams]
        weights = torch.tensor(numbers, dtype=torch.float64).to(self._no_tokens.device, non_blocking=True)
        frontier = _Frontier(logits, weights[:, 0], weights[:, 1])
        layers = list[DraftedLayer]()
        above, fed = 0, len(beams)  # rows before the layer above, and with it
        for number in range(1, len(widths) + 1):
            branching = self._settings.branching
            layer = self._draw_layer(frontier) if branching is None else self._branch(frontier, branching[number - 1])
            layers.append(layer)
            if number == depth:
                break
            drafts = layer.without_covers()
            logits = self.row.feed(drafts.tokens, drafts.parents + above, (drafts.draws,))
            frontier = _Frontier(logits, *self._weights(drafts, frontier))
            above, fed = fed, fed + drafts.draws
        return layers if self._settings.lossless else mark_best(layers, self._ends)

    def _draw_layer(self, frontier: _Frontier) -> DraftedLayer:
        settings, vocabulary = self._settings, frontier.logits.shape[1]
        law = joint_draft_law(frontier.logits, frontier.log_weights, frontier.log_multiplicities, settings)
        if settings.forest == "likely":
            best = law.scores.topk(min(settings.draft_width, law.scores.numel())).indices
            chosen = first_slots(best, settings.draft_width)
        else:
            chosen = exponential_race(law, settings.draft_width, settings, self._generator)
        draws = chosen.numel()
        if settings.cover_width:
            left = law.scores.masked_fill(self._ends[law.pairs % vocabulary], -torch.inf)
            chosen = torch.cat([chosen, likeliest_left(left, chosen, settings.cover_width)])
        pairs = law.pairs[chosen]
        return DraftedLayer(law, chosen, draws, pairs // vocabulary, pairs % vocabulary)

    def _branch(self, frontier: _Frontier, children: int) -> DraftedLayer:
        """Draw the children of every parent from the law of this parent alone; inert parents get none."""
        laws = parent_draft_laws(frontier.logits, frontier.log_weights, self._settings)
        drawn = exponential_race(laws, children, self._settings, self._generator)  # [B, children]
        parents, pairs = laws.pairs.shape
        chosen = (drawn + torch.arange(0, parents * pairs, pairs, device=drawn.device)[:, None]).flatten()
        law, vocabulary = DeviceLaw(*(part.flatten() for part in laws)), frontier.logits.shape[1]
        taken = law.pairs[chosen]
        return DraftedLayer(law, chosen, chosen.numel(), taken // vocabulary, taken % vocabulary)

    def _weights(self, drafts: DraftedLayer, above: _Frontier) -> tuple[torch.Tensor, torch.Tensor]:
        """Return log-weights and log-multiplicities of slots as parents.

        Duplicates of an earlier slot are inert, and so is what ends a beam. Of independent draws, the first slot of a
        pair carries the multiplicity of all its draws. Such a draw has probability 0 only below an inert parent; its
        log-weight is then minus infinity.
        """
        law, chosen = drafts.law, drafts.chosen
        log_weights = above.log_weights[drafts.parents] + law.log_probs[chosen]
        inert = self._ends[drafts.tokens]
        independent = self._settings.forest == "sampled" and self._settings.replacement
        if independent or law.pairs.numel() < chosen.numel():  # only then can two draws hold the same pair
            equal = chosen[:, None] == chosen
            inert |= equal.tril(-1).any(dim=1)
        if independent:
            log_multiplicities = equal.sum(dim=1, dtype=torch.float64).log()
        else:
            inert |= law.probs[chosen] == 0
            log_multiplicities = torch.zeros_like(log_weights)
        return log_weights.masked_fill(inert, -torch.inf), log_multiplicities


def mark_best(layers: Sequence[DraftedLayer], ends: torch.Tensor) -> list[DraftedLayer]:
    """Set ``best`` of every layer: the beam with the largest sum of raw draft log-probabilities.

    The beams of the last layer compete, and those that end before it. Ties go to the shorter beam, then to the lower
    slot. Nothing is copied to the host. *Source:* docs/algorithm.md, *Joint tests*.

    Args:
        layers: of a forest below one input beam, without cover nodes; W slots each.
        ends: [vocabulary] bool, True for ids that end a beam.
    """
    last = len(layers) - 1
    above = layers[0].law.log_probs.new_zeros(1)  # [slots above] sums; minus infinity if inert
    finals = []
    for number, layer in enumerate(layers):
        exists = layer.law.probs[layer.chosen] > 0
        sums = (above[layer.parents] + layer.law.log_probs[layer.chosen]).masked_fill(~exists, -torch.inf)
        ended = ends[layer.tokens]
        finals.append(sums if number == last else sums.masked_fill(~ended, -torch.inf))
        above = sums.masked_fill(ended, -torch.inf)
    flat, width = torch.cat(finals), finals[0].numel()
    places = torch.arange(flat.numel(), device=flat.device)
    winner = torch.where(flat == flat.max(), places, flat.numel()).min()
    deepest, slot = winner // width, winner % width
    marked = list[DraftedLayer]()
    for number in range(last, -1, -1):
        layer = layers[number]
        reached = deepest >= number
        marked.append(replace(layer, best=torch.stack([torch.where(reached, slot, 0), reached.long()])))
        slot = torch.where(reached, layer.parents[slot[None]][0], slot)  # a 0-d index would be read by the host
    return marked[::-1]


def joint_draft_law(
    logits: torch.Tensor, log_weights: torch.Tensor, log_multiplicities: torch.Tensor, settings: ResolvedSettings
) -> DeviceLaw:
    """Return the joint law over (beam, token), warped as the target's is; ``dsbd.law.laws.joint_law`` is its host twin.

    A greedy law has all mass on the best pair; without replacement each pair has 1, being certain in
    its turn. If no beam can be extended, all probabilities are 0.

    The toy's first layer, two beams and three tokens, with the target's 3/4 for "a" and 1/4 for "b"::

        softmax of logits [2, 3]             law.pairs    law.probs
                   a     b     .             0  "aa"         1/4
        "a" 3/4   1/3   1/3   1/3     ->     1  "ab"         1/4      pair = beam * 3 + token
        "b" 1/4    1     0     0             2  "a."         1/4
                                             3  "ba"         1/4      "bb" and "b." have 0

    Args:
        logits: [beams, vocabulary].
        log_weights: [beams] float64, nats.
        log_multiplicities: [beams] float64; added after the division by the temperature.
    """
    log_probs, sharpness = token_log_probs(logits), _sharpness(settings)
    if settings.temperature > 0 and settings.replacement:
        offsets = torch.add(log_multiplicities, log_weights, alpha=sharpness)
    else:
        offsets = log_weights * sharpness
    scores = torch.add(offsets.to(log_probs.dtype)[:, None], log_probs, alpha=sharpness)
    if _cuts(settings):
        scores, pairs = top_of_row(scores, settings.top_k or scores.numel())
    else:
        scores, pairs = scores.flatten(), torch.arange(scores.numel(), device=scores.device)
    scores = scores.double()
    return DeviceLaw(pairs, scores, _probabilities(scores, settings), log_probs.take(pairs).double())


def parent_draft_laws(logits: torch.Tensor, log_weights: torch.Tensor, settings: ResolvedSettings) -> DeviceLaw:
    """Return the law of each parent's next token, warped alone: the joint law of that parent.

    Args:
        logits: [parents, vocabulary].
        log_weights: [parents] float64; minus infinity for an inert one.

    Returns:
        a law whose tensors have a row for each parent [parents, n]; a row of zeros for an inert parent.

    *Source:* SpecInfer (arXiv 2305.09781), section 3; docs/algorithm.md, *SpecInfer's tree*.
    """
    log_probs = token_log_probs(logits)
    nothing = log_weights.isneginf()[:, None]
    scores = (log_probs * _sharpness(settings)).masked_fill(nothing, -torch.inf)
    if _cuts(settings):
        scores, tokens = scores.topk(min(settings.top_k or scores.shape[1], scores.shape[1]))
    else:
        tokens = torch.arange(scores.shape[1], device=scores.device).expand_as(scores)
    scores = scores.double()
    starts = torch.arange(logits.shape[0], device=logits.device)[:, None] * logits.shape[1]
    kept = log_probs.gather(1, tokens).double()
    return DeviceLaw(tokens + starts, scores, _probabilities(scores, settings), kept)


def _sharpness(settings: ResolvedSettings) -> float:
    return min(1.0 / settings.temperature, SHARPEST) if settings.temperature > 0 else 1.0


def _cuts(settings: ResolvedSettings) -> bool:
    """Return True if the pairs are needed best first: to keep some of them, or to draw them in this order."""
    return settings.top_k > 0 or settings.temperature == 0 or settings.top_p < 1


def _probabilities(scores: torch.Tensor, settings: ResolvedSettings) -> torch.Tensor:
    """Return the law of each row of scores [..., n], which are best first if there is a top-p; zeros without pairs."""
    if settings.temperature == 0:
        probs = scores.isfinite().double()
        if settings.replacement:
            probs[..., 1:] = 0.0
        return probs
    probs = torch.softmax(scores, dim=-1)
    probs = torch.where(probs >= LEAST_DRAFT_PROB, probs, 0.0)  # 0 also for the NaN of a law without pairs
    if settings.top_p < 1:
        probs = torch.where(probs.cumsum(-1) - probs < settings.top_p, probs, 0.0)
        probs = (probs / probs.sum(-1, keepdim=True)).nan_to_num_(0.0)
    return probs


def exponential_race(
    law: DeviceLaw, draws: int, settings: ResolvedSettings, generator: torch.Generator
) -> torch.Tensor:
    """Draw from a law [n], or from the law of each row [rows, n]: the largest prob / exponential noise wins.

    One race per draw makes independent draws; the best of a single race are draws without replacement,
    in the order they would be drawn. Ignore draws of probability 0: nothing was left.

    Returns: indices into the law [..., draws].
    """
    probs = law.probs
    if not settings.replacement:
        finish = law.scores if settings.temperature == 0 else probs / _noise(1, probs, generator)[0]
        return first_slots(finish.topk(min(draws, probs.shape[-1])).indices, draws)
    if settings.temperature == 0:
        return torch.zeros(*probs.shape[:-1], draws, dtype=torch.int64, device=probs.device)
    return (probs / _noise(draws, probs, generator)).argmax(dim=-1).movedim(0, -1)


def first_slots(order: torch.Tensor, slots: int) -> torch.Tensor:
    """Return distinct pairs [..., at most slots] as slots; if there are fewer, the other slots hold pair 0."""
    return torch.nn.functional.pad(order, (0, slots - order.shape[-1]), value=0)


def _noise(races: int, probs: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return probs.new_empty(races, *probs.shape).exponential_(generator=generator)


def likeliest_left(scores: torch.Tensor, chosen: torch.Tensor, count: int) -> torch.Tensor:
    """Return the best pairs that were not chosen [C], C = min(count, all); impossible ones become the first chosen."""
    best = scores.index_fill(0, chosen, -torch.inf).topk(min(count, scores.numel()))
    return torch.where(best.values.isfinite(), best.indices, chosen[0])
