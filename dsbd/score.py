"""Scores the whole forest in one target forward, the only one of an iteration."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from dsbd.draft import Drafted, tokens_and_parents
from dsbd.models.states.state import DecodingState
from dsbd.next_tokens import NextTokens
from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Node
from dsbd.verification.forest import Forest
from dsbd.verification.joint import BestBeam


@dataclass(frozen=True)
class Scored:
    """A forest, ready to be verified."""

    forest: Forest
    next_tokens: NextTokens
    uniforms: list[float]
    draft_log_probs: dict[Node, float]
    """Raw log p_draft(token | parent) of each forest node, nats."""
    slots: Sequence[Node]
    """The nodes that were fed to the target, in this order."""
    draft_slots: Sequence[Node]
    """Those that were fed to the draft model: no drafts of the last layer."""
    best: BestBeam | None
    """For a joint test: the draft's best beam. Its nodes are all that the target scores."""


@torch.inference_mode()
def score(
    row: DecodingState,
    beams: Sequence[Beam],
    drafted: Drafted,
    settings: ResolvedSettings,
    generator: torch.Generator,
    device: torch.device,
) -> Scored:
    """Run the target over the input beams' last tokens and all slots.

    Slots are fed drafts first, layer by layer, then cover nodes, layer by layer; for a joint test only the best beam's.

    Args:
        row: the target's memory of this decode.
        beams: the input beams.
        drafted: what was drafted below them.
        settings: forest, the widths and top_k are read.
        generator: of the host; source of the iteration's uniforms, which decide verification.
        device: where ``row`` takes tokens and returns logits.
    """
    groups = drafted.groups
    slots = [node for nodes in groups for node in nodes]
    nodes = [*(beam.node for beam in beams), *slots]
    tokens, parents = tokens_and_parents(slots, {node: place for place, node in enumerate(nodes)}, device)
    row.begin(nodes[: len(beams)], len(slots))
    logits = row.forward(tokens, parents, [len(group) for group in groups])
    count = _uniforms_needed(len(drafted.layers), settings)
    uniforms: list[float] = torch.rand(count, dtype=torch.float64, generator=generator).tolist()
    next_tokens, best = NextTokens(logits, nodes, parents, tokens, settings.top_k), None
    if drafted.best is not None:
        target = [next_tokens.log_prob(node) for node in drafted.best]
        best = BestBeam(drafted.best, target, [drafted.log_probs[node] for node in drafted.best])
    forest = Forest(beams, drafted.layers)
    return Scored(forest, next_tokens, uniforms, drafted.log_probs, slots, drafted.fed_to_draft, best)


def _uniforms_needed(depth: int, settings: ResolvedSettings) -> int:
    """Return how many uniforms verification takes at most: one for each trial and draw, and one for a drawn width."""
    if not settings.lossless:
        return 1
    tried = (settings.branching or settings.layer_slots)[:depth]
    return 0 if settings.forest == "coupled" else sum(tried) + (depth + 1) * settings.max_width
