"""What one visitor may ask of the page. Each limit is a setting of the environment; docs/hosting.md lists them.

A call blocks the models while it runs, so the *products* that cost time and memory have limits: nodes of a forest,
pairs of the joint laws, tokens times beams, cache slots. A run within these limits that is still slow ends at its time
limit.
"""

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field, field_validator

from dsbd.auto import largest_tried
from dsbd.errors import SettingsError
from dsbd.methods import resolve
from dsbd.settings import DecodingSettings, ResolvedSettings

from .environment import EnvironmentSettings, setting

MIB = 1024 * 1024
ANYWHERE = "*"
FRAMES_OF_A_SPACE = "'self' https://huggingface.co https://*.huggingface.co"


class Limits(EnvironmentSettings):
    """Every limit, its default and its range."""

    max_prompt_characters: int = Field(20_000, ge=1, le=1_000_000, description="characters of a prompt")
    max_new_tokens: int = Field(256, ge=1, le=32768, description="new tokens of a run")
    max_beams: int = Field(64, ge=1, le=64, description="beams of a run")
    max_draft_depth: int = Field(32, ge=0, le=32, description="layers that one iteration drafts")
    max_draft_width: int = Field(512, ge=1, le=100_000, description="nodes of one drafted layer")
    max_nodes: int = Field(512, ge=1, le=100_000, description="nodes that one iteration scores, input beams included")
    max_pairs: int = Field(
        4_000_000, ge=1, le=10**10, description="pairs that the joint laws of one iteration keep, over all its layers"
    )
    max_beam_tokens: int = Field(4096, ge=1, le=10**8, description="new tokens times beams of a run")
    max_cache_slots: int = Field(16384, ge=1, le=10**8, description="cache slots: prompt, every beam, one forest")
    max_compared_runs: int = Field(5, ge=1, le=100, description="runs of each decoder on each prompt of a race")
    max_evaluated: int = Field(400, ge=1, le=10**6, description="decodes of a race")
    max_evaluated_tokens: int = Field(
        500_000, ge=1, le=10**9, description="new tokens times beams, over all decodes of a race"
    )
    max_questions: int = Field(2000, ge=1, le=10**6, description="questions of an uploaded file")
    decode_seconds: int = Field(120, ge=1, le=86_400, description="seconds a decode may take once it has begun")
    evaluate_seconds: int = Field(600, ge=1, le=86_400, description="seconds a race may take once it has begun")
    max_waiting: int = Field(16, ge=1, le=10_000, description="calls that may wait for the model")
    max_loaded_pairs: int = Field(2, ge=1, le=1000, description="pairs of models in memory at one time")
    max_visitors: int = Field(200, ge=1, le=100_000, description="visitors whose decodes are kept in memory")
    max_upload_bytes: int = Field(8 * MIB, ge=1024, le=256 * MIB, description="bytes of an uploaded file")
    upload_seconds: int = Field(20, ge=1, le=600, description="seconds that reading an uploaded file may take")
    uploads_per_hour: int = Field(60, ge=0, le=10**6, description="files an address may upload in an hour")
    upload_bytes_per_hour: int = Field(64 * MIB, ge=0, le=10**12, description="bytes an address may upload in an hour")
    file_seconds: int = Field(3600, ge=60, le=30 * 86_400, description="seconds after which files are deleted")
    frame_ancestors: str = Field(
        "'self'", max_length=1000, description="who may show the page in a frame, as content-security policy writes it"
    )

    lesson_frame_ancestors: str = Field(
        ANYWHERE, max_length=1000, description="the same for the pages of lessons and recordings; * is anywhere"
    )

    @field_validator("frame_ancestors", "lesson_frame_ancestors")
    @classmethod
    def _one_rule(cls, value: str) -> str:
        if not value.isascii() or not value.isprintable() or set(value) & {";", ","} or not value.strip():
            raise ValueError("write 'none', 'self', * or origins, with spaces between them")
        return value.strip()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Limits":
        """The limits of the environment; Hugging Face may frame a page on a Space. Raises: SettingsError."""
        limits = super().from_environment(environment)
        if environment.get("SPACE_ID") and not environment.get(setting("frame_ancestors")):
            return limits.model_copy(update={"frame_ancestors": FRAMES_OF_A_SPACE})
        return limits


def check_tokens(limits: Limits, tokens: Any) -> None:
    """Refuse more new tokens than this page allows. Call it before the settings are made, which know another range.

    The settings refuse a value that is not a number. Raises: SettingsError.
    """
    if isinstance(tokens, (int, float)):
        _require(limits, "max_new_tokens", "max_new_tokens", tokens, "ask for fewer tokens")


def check_decode(limits: Limits, settings: DecodingSettings, vocabulary: int, prompt_tokens: int) -> None:
    """Refuse a run that could block the models for long or fill the memory.

    Raises: SettingsError: a limit is exceeded; the message names it, the value and the remedy.
    """
    tried = _as_they_run(settings)
    beams = tried[0].widest
    nodes = max(beams + sum(one.layer_slots) + one.draft_depth * one.cover_width for one in tried)
    depth = max(one.draft_depth for one in tried)
    widest_layer = max((slots for one in tried for slots in one.layer_slots), default=0)
    pairs = max(_pairs(one, vocabulary) for one in tried)
    tokens = beams * settings.max_new_tokens
    slots = prompt_tokens + tokens + nodes
    fewer_nodes = "lower draft_depth, draft_width or cover_width, or branching"
    fewer_pairs = "set top_k to 200 or less, or lower draft_depth and the widths"
    fewer_slots = "shorten the prompt, or ask for fewer tokens or beams"
    check_tokens(limits, settings.max_new_tokens)
    _require(limits, "max_beams", "beams", beams, "lower num_beams, max_width or draft_width")
    _require(limits, "max_draft_depth", "draft_depth", depth, "lower draft_depth")
    _require(limits, "max_draft_width", "nodes of a drafted layer", widest_layer, "lower draft_width or branching")
    _require(limits, "max_nodes", "nodes to score per iteration", nodes, fewer_nodes)
    _require(limits, "max_pairs", "pairs of the joint laws per iteration", pairs, fewer_pairs)
    _require(limits, "max_beam_tokens", "new tokens times beams", tokens, "ask for fewer tokens or fewer beams")
    _require(limits, "max_cache_slots", "cache slots", slots, fewer_slots)


def check_race(limits: Limits, settings: list[DecodingSettings], prompts: int, rounds: int) -> None:
    """Refuse a race that is too large in total. Raises: SettingsError.

    :func:`check_decode` checks each of its settings.
    """
    _require(limits, "max_compared_runs", "runs", rounds, "ask for fewer runs")
    remedy = "ask for fewer decoders, questions or runs"
    _require(limits, "max_evaluated", "decodes", len(settings) * prompts * rounds, remedy)
    each = [_as_they_run(one)[0].widest * one.max_new_tokens for one in settings]
    words, remedy = "new tokens times beams of all decodes", f"{remedy}, or for fewer tokens or beams"
    _require(limits, "max_evaluated_tokens", words, sum(each) * prompts * rounds, remedy)


def _as_they_run(settings: DecodingSettings) -> list[ResolvedSettings]:
    """The settings as they run; with a field ``auto``, the largest settings of each forest that is measured."""
    if not settings.is_auto:
        return [resolve(settings)]
    return [resolve(one) for one in largest_tried(settings)]


def _pairs(settings: ResolvedSettings, vocabulary: int) -> int:
    """Pairs that the joint laws of an iteration keep, for each draft layer and the layer after it."""

    def kept(beams: int) -> int:
        return min(settings.top_k or beams * vocabulary, beams * vocabulary)

    drafted = settings.draft_depth * kept(settings.draft_width)
    if settings.branching is not None:  # one law for each parent
        drafted = (1 + sum(settings.layer_slots[:-1])) * kept(1)
    return drafted + (settings.draft_depth + 1) * kept(settings.widest)


def _require(limits: Limits, name: str, what: str, asked: float, remedy: str) -> None:
    allowed = getattr(limits, name)
    if asked > allowed:
        raise SettingsError(f"{what}: {asked:,} asked for, {allowed:,} allowed on this page; {remedy}")
