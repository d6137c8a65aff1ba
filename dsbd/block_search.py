"""The likeliest block of tokens under the target, found by trying all of them: slow, simple, for small vocabularies.

*Source:* multi-token joint greedy decoding (arXiv 2407.09722); docs/algorithm.md, *Joint tests*.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from dsbd.draft import DeviceLaw, DraftedLayer
from dsbd.errors import SettingsError
from dsbd.law.beams import Beam
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.states import PathRows
from dsbd.next_tokens import token_log_probs
from dsbd.stopping import Check

MOST_BLOCKS = 2_000_000
"""Blocks that are tried at most."""


def require_few_blocks(vocabulary: int, block: int) -> None:
    """Refuse a search that would take too long. Raises: SettingsError."""
    if (blocks := vocabulary**block) > MOST_BLOCKS:
        raise SettingsError(
            f"block is {block}: {vocabulary:,} tokens make {blocks:,} blocks, and mjgd tries at most {MOST_BLOCKS:,}; "
            f"take a smaller block, or method mjsd"
        )


class BlockSearch:
    """Replaces the drafter; it drafts one beam: the target's best block.

    Args:
        model: the target.
        ends: [vocabulary] bool, True for ids that end a beam, on the model's device. A block may end early.
        check: called before each forward.
    """

    def __init__(self, model: LanguageModel, ends: torch.Tensor, check: Check) -> None:
        self.row = PathRows(model, check)
        self._ends = ends

    @torch.inference_mode()
    def draft(self, beams: Sequence[Beam], depth: int) -> list[DraftedLayer]:
        """Return the likeliest block of ``depth`` tokens below the one input beam, as layers of one slot.

        Ties go to the shorter block, then to the lowest token ids.
        """
        nothing = torch.empty(0, dtype=torch.int64, device=self._ends.device)
        self.row.open([beam.node for beam in beams], 0)
        logits, start = self.row.feed(nothing, nothing, ()), 0  # of the unfinished blocks; the first one's place
        tokens, log_probs = nothing.reshape(1, 0), torch.empty(1, 0, dtype=torch.float64, device=nothing.device)
        best = _Block(-torch.inf, nothing, log_probs[0])
        for length in range(1, depth + 1):
            count, vocabulary = logits.shape
            above = torch.arange(count, device=nothing.device).repeat_interleave(vocabulary)
            added = torch.arange(vocabulary, device=nothing.device).repeat(count)
            tokens = torch.cat([tokens[above], added[:, None]], dim=1)
            log_probs = torch.cat([log_probs[above], token_log_probs(logits).double().reshape(-1, 1)], dim=1)
            sums, ended = log_probs.sum(dim=1), self._ends[added]
            best = _likelier(best, tokens, log_probs, sums if length == depth else sums.masked_fill(~ended, -torch.inf))
            living = (~ended & (sums > best.sum)).nonzero()[:, 0]
            if length == depth or not living.numel():
                break
            logits = self.row.feed(added[living], above[living] + start, ())
            tokens, log_probs, start = tokens[living], log_probs[living], start + count
        return self._layers(best, depth)

    def _layers(self, block: "_Block", depth: int) -> list[DraftedLayer]:
        """Return ``depth`` layers, one for each token of the block; layers after its end have no node."""
        layers = list[DraftedLayer]()
        slot = torch.zeros(1, dtype=torch.int64, device=self._ends.device)
        for number in range(depth):
            reached = number < block.tokens.numel()
            token = block.tokens[number : number + 1] if reached else slot
            log_prob = block.log_probs[number : number + 1] if reached else slot.double() - torch.inf
            law = DeviceLaw(token, log_prob, log_prob.isfinite().double(), log_prob)
            best = torch.cat([slot, slot + reached])
            layers.append(DraftedLayer(law, chosen=slot, draws=1, parents=slot, tokens=token, best=best))
        return layers


class _Block(NamedTuple):
    """Some tokens, at most as many as a block has."""

    sum: float
    tokens: torch.Tensor  # [n]
    log_probs: torch.Tensor  # [n] float64, nats


def _likelier(best: _Block, tokens: torch.Tensor, log_probs: torch.Tensor, sums: torch.Tensor) -> _Block:
    """Return the first of the likeliest candidates [n], or ``best`` where none is likelier."""
    place = int((sums == sums.max()).nonzero()[0])
    return _Block(float(sums[place]), tokens[place], log_probs[place]) if sums[place] > best.sum else best
