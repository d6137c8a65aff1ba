"""Scores the whole forest in one target forward, the only one of an iteration."""

import torch

from dsbd.drafts.model import tokens_and_parents
from dsbd.iteration import Iteration
from dsbd.models.states.state import DecodingState
from dsbd.next_tokens import NextTokens
from dsbd.settings import ResolvedSettings
from dsbd.verification.forest import Forest


@torch.inference_mode()
def score(
    iteration: Iteration,
    state: DecodingState,
    settings: ResolvedSettings,
    generator: torch.Generator,
    device: torch.device,
) -> None:
    """Run the target over the input beams' last tokens and the forest: drafts layer by layer, then extra candidates.

    For a joint test only the draft's best beam is scored.

    Args:
        iteration: with what was drafted below its input beams; its fields below *score* are filled in.
        state: the target's decoding state (KV cache).
        settings: forest, the widths and top_k are read.
        generator: of the host; source of the iteration's uniforms, which decide verification.
        device: where ``state`` takes tokens and returns logits.
    """
    groups, beams = iteration.groups, [beam.node for beam in iteration.input_beams]
    iteration.scored = [node for group in groups for node in group]
    nodes = [*beams, *iteration.scored]
    tokens, parents = tokens_and_parents(iteration.scored, {node: index for index, node in enumerate(nodes)}, device)
    state.begin(beams, len(iteration.scored))
    logits = state.forward(tokens, parents, [len(group) for group in groups])
    count = _uniforms_needed(len(iteration.drafted), settings)
    iteration.uniforms = torch.rand(count, dtype=torch.float64, generator=generator).tolist()
    iteration.next_tokens = NextTokens(logits, nodes, parents, tokens, settings.top_k)
    iteration.forest = Forest(iteration.input_beams, iteration.drafted)


def _uniforms_needed(depth: int, settings: ResolvedSettings) -> int:
    """Return how many uniforms verification takes at most: one for each trial and draw, and one for a drawn width."""
    if not settings.lossless:
        return 1
    trials = (settings.branching or settings.layer_drafts)[:depth]
    return 0 if settings.forest == "coupled" else sum(trials) + (depth + 1) * settings.max_width
