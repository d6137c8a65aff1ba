"""Makes what a decode works with: the target's row, and the drafter with its row."""

import torch

from dsbd.block_search import BlockSearch
from dsbd.draft import DraftedLayer, Drafter
from dsbd.host_draft import HostDrafter, HostForest
from dsbd.models.cache import GROWTH_SLOTS
from dsbd.models.language_model import LanguageModel
from dsbd.models.ranks import RankedRow
from dsbd.models.rows.new import threaded_row
from dsbd.models.rows.row import ProcessedRow, Row
from dsbd.next_tokens import is_at_hand
from dsbd.observer import RunStart
from dsbd.settings import ResolvedSettings
from dsbd.stopping import Check

LONG = 1024
"""The cache starts with room for at most this many new tokens; a longer decode makes more room later."""


def slots_expected(prompt_tokens: int, settings: ResolvedSettings) -> int:
    """Return prompt + one sequence of new tokens + the largest forest + some room for beams that differ."""
    forest = sum(settings.layer_slots) + settings.draft_depth * settings.cover_width + settings.max_width
    return prompt_tokens + min(settings.max_new_tokens, LONG) + forest + GROWTH_SLOTS


def row_of(model: LanguageModel, start: RunStart, check: Check) -> Row:
    """Return an empty row of a model, with room for the decode; ``check`` is called before each forward."""
    row = threaded_row(model, slots_expected(start.target_slots, start.settings), check)
    if start.pair.ranks is not None:
        row = RankedRow(row, start.pair.ranks)
    return ProcessedRow(row, start.processors, start.pair.eos) if start.processors else row


def drafter_of(start: RunStart, generator: torch.Generator, check: Check) -> HostDrafter | Drafter | BlockSearch | None:
    """Return what drafts the forests of the decode; None if nothing is drafted."""
    pair, settings = start.pair, start.settings
    model = pair.target if settings.searches_blocks else pair.draft
    if settings.draft_depth == 0 or model is None:
        return None
    if settings.lossless and is_at_hand(pair.device):
        return HostDrafter(row_of(model, start, check), settings, pair.eos, generator)
    ends = torch.zeros(model.vocabulary_size, dtype=torch.bool)
    ends[[token for token in pair.eos if token < ends.numel()]] = True
    ends = ends.to(pair.device)
    if settings.searches_blocks:
        return BlockSearch(model, ends, check)
    return Drafter(row_of(model, start, check), settings, ends, generator)


def nothing_drafted(device: torch.device) -> HostForest | list[DraftedLayer]:
    """Return a forest without layers, in the form in which forests for this device are drafted."""
    return HostForest() if is_at_hand(device) else []
