"""What the host of a page sets in its environment, and what one visitor may ask for.

A setting's name is its field in capitals after ``DSBD_``: ``DSBD_MAX_NODES=256``; docs/hosting.md lists them. A call
blocks the models while it runs, so the *products* that cost time and memory have limits: nodes of a forest, candidates
of the joint distributions, tokens times beams, cache slots. A run within these limits that is still slow ends at its
time limit.
"""

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from dsbd.errors import PromptError, SettingsError
from dsbd.methods import resolve
from dsbd.settings import DecodingSettings, ResolvedSettings

if TYPE_CHECKING:
    from dsbd.models.pair import Pair

PREFIX = "DSBD_"
ANYWHERE = "*"
FRAMES_OF_A_SPACE = "'self' https://huggingface.co https://*.huggingface.co"
LOCAL = ("", "127.0.0.1", "localhost", "::1")
"""Names that mean this machine on every machine."""
BEFORE_IT = ("SPACE_ID", "GRADIO_ROOT_PATH", "FORWARDED_ALLOW_IPS")
"""Settings that mean that another server stands in front of the page."""
HIGHEST_PORT = 65_535
LOGIT_BYTES = 12
"""Of a logit and what is computed from it, about."""
ELSEWHERE = ("target", "draft", "device_map", "pairs", "examples")
"""Settings that the command ``page`` reads as defaults of its flags."""


class Limits(BaseModel):
    """Every setting of the page, its default and its range."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_prompt_characters: int = Field(20_000, ge=1, le=1_000_000, description="characters of a prompt")
    max_new_tokens: int = Field(256, ge=1, le=32768, description="new tokens of a run")
    max_beams: int = Field(64, ge=1, le=64, description="beams of a run")
    max_draft_depth: int = Field(32, ge=0, le=32, description="layers that one iteration drafts")
    max_draft_width: int = Field(512, ge=1, le=100_000, description="nodes of one drafted layer")
    max_nodes: int = Field(512, ge=1, le=100_000, description="nodes that one iteration scores, input beams included")
    max_pairs: int = Field(
        4_000_000, ge=1, le=10**10, description="candidates of the joint distributions of one iteration, in all layers"
    )
    max_beam_tokens: int = Field(4096, ge=1, le=10**8, description="new tokens times beams of a run")
    max_cache_slots: int = Field(16384, ge=1, le=10**8, description="cache slots: prompt, every beam, one forest")
    max_compared_runs: int = Field(5, ge=1, le=100, description="runs of each decoder on each prompt of a race")
    max_evaluated: int = Field(400, ge=1, le=10**6, description="decodes of a race")
    max_evaluated_tokens: int = Field(
        500_000, ge=1, le=10**9, description="new tokens times beams, over all decodes of a race"
    )
    decode_seconds: int = Field(120, ge=1, le=86_400, description="seconds a decode may take once it has begun")
    evaluate_seconds: int = Field(600, ge=1, le=86_400, description="seconds a race may take once it has begun")
    runs: int = Field(4, ge=1, le=32, description="decodes that share the models at one time")
    max_waiting: int = Field(16, ge=1, le=10_000, description="calls that may wait for the model")
    max_loaded_pairs: int = Field(2, ge=1, le=1000, description="pairs of models in memory at one time")
    max_visitors: int = Field(
        200, ge=1, le=100_000, description="visitors whose last decodes, and calls whose answer, are kept in memory"
    )
    log: Literal["info", "warning", "off"] = Field(
        "info", description="log lines: info, every run; warning, only runs that failed; off"
    )
    mcp: bool = Field(False, description="1: programs may use the page as an MCP server, as with --mcp")
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
        """Return the settings of the environment; missing and empty ones have their defaults.

        Raises: SettingsError: a value is out of range, or there is no setting of this name.
        """
        known = [setting(name) for name in (*ELSEWHERE, *cls.model_fields)]
        for name in sorted(environment):
            if name.startswith(PREFIX) and name not in known:  # a typo would limit nothing
                closest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
                raise SettingsError(
                    f"{name} is no setting of the page; the closest is {closest}; docs/hosting.md lists them all"
                )
        values = {name: environment[setting(name)] for name in cls.model_fields if environment.get(setting(name))}
        if environment.get("SPACE_ID"):
            values = {"frame_ancestors": FRAMES_OF_A_SPACE} | values
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            first = error.errors()[0]
            field = cls.model_fields[name := str(first["loc"][0])]
            allowed = _allowed(field) or first["msg"].removeprefix("Value error, ")
            value = str(first["input"])[:60]
            raise SettingsError(f"{setting(name)} is {value!r} ({field.description}); {allowed}") from None


def setting(name: str) -> str:
    """Return the environment setting of a field."""
    return PREFIX + name.upper()


def _allowed(field: FieldInfo) -> str:
    """Return the allowed values of a number, a switch or a choice; empty for a text, whose validator says them."""
    if field.annotation is bool:
        return "allowed are 0 and 1"
    if get_origin(field.annotation) is Literal:
        return f"allowed are {', '.join(get_args(field.annotation))}"
    if field.annotation is not int:
        return ""
    low, high = (next(getattr(one, end) for one in field.metadata if hasattr(one, end)) for end in ("ge", "le"))
    return f"allowed are whole numbers from {low:,} to {high:,}"


def port_of(flag: str | None, environment: Mapping[str, str] = os.environ) -> int | None:
    """Return the port that ``--port`` names; None means the first free one from GRADIO_SERVER_PORT on, or from 7860.

    Raises: SettingsError: the flag or the setting is not a port.
    """
    named = {"GRADIO_SERVER_PORT": environment.get("GRADIO_SERVER_PORT"), "--port": flag}
    for name, text in named.items():
        if text is not None and not (re.fullmatch(r"\d{1,5}", text, re.ASCII) and 1 <= int(text) <= HIGHEST_PORT):
            raise SettingsError(
                f"{name} is {text[:40]!r}; allowed are whole numbers from 1 to {HIGHEST_PORT:,}; leave it out for the "
                f"first free port from 7860"
            )
    return None if flag is None else int(flag)


def is_private(host: str, share: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if only this machine can reach the page; ``share``: a public link leads to it."""
    return host.strip("[]") in LOCAL and not share and not any(environment.get(name) for name in BEFORE_IT)


def check_prompt(limits: Limits, prompt: Any, name: str = "prompt") -> str:
    """Return the prompt, or a text of another ``name``. Raises: PromptError: it is no text, blank, or too long here."""
    if not isinstance(prompt, str):
        raise PromptError(f"{name} is a {type(prompt).__name__}; give a text")
    if not prompt.strip():
        raise PromptError(f"{name} is blank; type a few words, or choose an example")
    if len(prompt) > limits.max_prompt_characters:
        raise PromptError(
            f"{name} has {len(prompt):,} characters; this page takes {limits.max_prompt_characters:,}; shorten it"
        )
    return prompt


def check_tokens(limits: Limits, tokens: Any) -> None:
    """Refuse more new tokens than this page allows, before the settings are made, which know another range.

    The settings refuse a value that is not a number. Raises: SettingsError.
    """
    if isinstance(tokens, (int, float)):
        _require(limits, "max_new_tokens", "max_new_tokens", tokens, "ask for fewer tokens")


def check_run(limits: Limits, pair: "Pair", prompts: Sequence[str], each: Sequence[DecodingSettings]) -> None:
    """Refuse decodes of these prompts that could block the models for long or fill the memory.

    Raises: SettingsError: a limit is exceeded; the message names it, the value and the remedy.
    """
    for prompt in prompts:
        tokens = len(pair.encode(prompt))
        for settings in each:
            slots = pair.used_by(settings).window_of(tokens, settings.max_new_tokens)
            check_decode(limits, settings, pair.target.vocabulary_size, slots)


def check_decode(limits: Limits, settings: DecodingSettings, vocabulary: int, prompt_tokens: int) -> None:
    """Refuse one decode that is too large. Raises: SettingsError."""
    forests = _as_they_run(settings)
    beams, nodes = forests[0].widest, _most_nodes(forests)
    depth = max(one.draft_depth for one in forests)
    layer = max((slots for one in forests for slots in one.layer_drafts), default=0)
    kept = max(_candidates(one, vocabulary) for one in forests)
    tokens = beams * settings.max_new_tokens
    check_tokens(limits, settings.max_new_tokens)
    for name, what, amount, remedy in (
        ("max_beams", "beams", beams, "lower num_beams, max_width or draft_width"),
        ("max_draft_depth", "draft_depth", depth, "lower draft_depth"),
        ("max_draft_width", "nodes of a drafted layer", layer, "lower draft_width or branching"),
        ("max_nodes", "nodes to score per iteration", nodes, "lower draft_depth, the widths or branching"),
        ("max_pairs", "candidates per iteration", kept, "set top_k to 200 or less, or lower depth and widths"),
        ("max_beam_tokens", "new tokens times beams", tokens, "ask for fewer tokens or fewer beams"),
        ("max_cache_slots", "cache slots", prompt_tokens + tokens + nodes, "shorten the prompt, or ask for less"),
    ):
        _require(limits, name, what, amount, remedy)


def bytes_of(pair: "Pair", prompt: str, settings: DecodingSettings) -> int:
    """Return about how many bytes one decode takes at most: its cache slots, and the logits of a forest."""
    forests = _as_they_run(settings)
    beams, nodes = forests[0].widest, _most_nodes(forests)
    read, taken = len(prompt.encode(errors="replace")), 0
    for model in pair.used_by(settings).models:
        slots = min(read, model.context_size or read) + beams * settings.max_new_tokens + nodes
        taken += slots * sum(shape.slot_bytes for shape in model.layer_shapes)
        taken += nodes * model.vocabulary_size * LOGIT_BYTES
    return taken


def check_race(limits: Limits, settings: Sequence[DecodingSettings], prompts: int, rounds: int) -> None:
    """Refuse a race that is too large in total; :func:`check_run` checks its decodes. Raises: SettingsError."""
    _require(limits, "max_compared_runs", "runs", rounds, "ask for fewer runs")
    remedy = "ask for fewer decoders, questions or runs"
    _require(limits, "max_evaluated", "decodes", len(settings) * prompts * rounds, remedy)
    each = [_as_they_run(one)[0].widest * one.max_new_tokens for one in settings]
    words, remedy = "new tokens times beams of all decodes", f"{remedy}, or for fewer tokens or beams"
    _require(limits, "max_evaluated_tokens", words, sum(each) * prompts * rounds, remedy)


def _as_they_run(settings: DecodingSettings) -> list[ResolvedSettings]:
    """Return the settings as they run; with a field ``auto``, the largest of each forest that is measured."""
    from dsbd.auto import largest_tried  # with torch, for which the first answer of the page would wait

    return [resolve(one) for one in (largest_tried(settings) if settings.is_auto else [settings])]


def _most_nodes(forests: Sequence[ResolvedSettings]) -> int:
    """Return how many nodes an iteration scores at most, input beams included."""
    return max(forests[0].widest + sum(one.layer_drafts) + one.draft_depth * one.cover_width for one in forests)


def _candidates(settings: ResolvedSettings, vocabulary: int) -> int:
    """Return how many candidates the joint distributions of an iteration keep, for its draft layers and one more."""

    def kept(beams: int) -> int:
        return min(settings.top_k or beams * vocabulary, beams * vocabulary)

    drafted = settings.draft_depth * kept(settings.draft_width)
    if settings.branching is not None:  # one distribution for each parent
        drafted = (1 + sum(settings.layer_drafts[:-1])) * kept(1)
    return drafted + (settings.draft_depth + 1) * kept(settings.widest)


def _require(limits: Limits, name: str, what: str, amount: float, remedy: str) -> None:
    allowed = getattr(limits, name)
    if amount > allowed:
        raise SettingsError(f"{what}: {amount:,} asked for, {allowed:,} allowed on this page; {remedy}")
