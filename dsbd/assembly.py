"""Makes what a decode works with: the target's row, and the drafter with its row."""

import torch

from dsbd.draft import BlockSearch, Drafter
from dsbd.models.cache import GROWTH_SLOTS
from dsbd.models.language_model import LanguageModel
from dsbd.models.ranks import RankedRow
from dsbd.models.rows.processed import ProcessedRow
from dsbd.models.rows.row import Row
from dsbd.models.rows.threaded import threaded_row
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


def drafter_of(start: RunStart, generator: torch.Generator, check: Check) -> Drafter | BlockSearch | None:
    """Return what drafts the forests of the decode; None if nothing is drafted."""
    pair, settings = start.pair, start.settings
    model = pair.target if settings.searches_blocks else pair.draft
    if settings.draft_depth == 0 or model is None:
        return None
    if settings.searches_blocks:
        return BlockSearch(model, pair.eos, check, pair.device)
    return Drafter(row_of(model, start, check), settings, pair.eos, generator, pair.device)
