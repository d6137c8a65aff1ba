"""The settings form: one table of fields, which of them a method reads, and the way back to settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dsbd.errors import PromptError
from dsbd.methods import READS
from dsbd.settings import AUTO, AUTO_FIELDS, FORESTS, METHODS, DecodingSettings

MAX_PROMPT_CHARACTERS = 4000
MAX_NEW_TOKENS = 256
EVERY_METHOD = ("max_new_tokens", "length_penalty", "seed")

METHOD_LABELS = {
    "dsbd": "DSBD",
    "beam_sampling": "Beam sampling",
    "beam_search": "Beam search",
    "speculative": "Speculative sampling",
    "sampling": "Sampling",
    "greedy": "Greedy",
}


@dataclass(frozen=True)
class Field:
    """One setting on the page: a choice, or else without a range a checkbox, without a step a plain number."""

    name: str
    label: str
    info: str
    low: float | None = None
    high: float | None = None
    step: float | None = 1
    main: bool = False
    zero_is_none: bool = False
    choices: tuple[str, ...] = ()


FIELDS = (
    Field("max_new_tokens", "New tokens", "Exact limit of the length", 1, MAX_NEW_TOKENS, main=True),
    Field("temperature", "Temperature", "Divides the joint scores; 0 is greedy", 0, 2, 0.05, main=True),
    Field("draft_depth", "Draft depth", "Layers drafted per iteration", 0, 8, main=True),
    Field("draft_width", "Draft width", "Drafts per layer", 1, 16, main=True),
    Field(
        "forest",
        "Forest",
        "Drawn, the likeliest, or auto: depth, width and cover too are measured here",
        main=True,
        choices=(*FORESTS, AUTO),
    ),
    Field("width_threshold", "Width threshold", "Widen while P(that many accepted) reaches it", 0, 1, 0.05, main=True),
    Field("num_beams", "Beams", "Width of every step; DSBD's most, with a likely forest or auto", 1, 16, main=True),
    Field("seed", "Seed", "The same seed gives the same text", 0, 2**31 - 1, None, main=True),
    Field("min_width", "Least width", "Beams every layer yields at least", 1, 8),
    Field("max_width", "Most width", "Beams a layer yields at most; 0 = draft width", 0, 16, zero_is_none=True),
    Field("input_beams", "Input beams", "Kept between iterations; 0 = all", 0, 16, zero_is_none=True),
    Field("replacement", "With replacement", "Beams are drawn independently and may repeat"),
    Field("landing", "Landing", "Go on verifying when every drawn beam is a node of the forest"),
    Field("cover_width", "Cover width", "Likely pairs per layer scored along, to land on", 0, 32),
    Field("top_k", "Top-k", "Likeliest pairs of the joint law kept; 0 = all", 0, 200),
    Field("top_p", "Top-p", "Likeliest pairs kept up to this mass; 1 = all", 0.05, 1, 0.05),
    Field("length_penalty", "Length penalty", "Hypotheses rank by log-weight / length^this", -2, 2, 0.1),
)
FILLED_IN = ("depth_costs", "continuation")
"""Settings without a field: auto fills them in."""
DEFAULTS = DecodingSettings()


def is_read(method: str, name: str) -> bool:
    """True where the method reads the field. Raises: KeyError for an unknown method."""
    return name in EVERY_METHOD or name in READS[method]


def method_choices() -> list[tuple[str, str]]:
    """Label and name of every method."""
    return [(METHOD_LABELS.get(method, method.replace("_", " ")), method) for method in METHODS]


def shown_value(field: Field) -> Any:
    """What the form shows at the start."""
    value = getattr(DEFAULTS, field.name)
    return 0 if value is None else value


def settings_of(method: str, values: Sequence[Any]) -> DecodingSettings:
    """Settings from the form, ``values`` in the order of :data:`FIELDS`.

    Fields that the method does not read keep their defaults: a hidden field never decides anything.

    Raises:
        SettingsError: a value is out of range, or two contradict each other.
    """
    given = {}
    for field, value in zip(FIELDS, values, strict=True):
        if method not in READS or is_read(method, field.name):
            given[field.name] = _plain(field, value)
    if given.get("forest") == AUTO:
        given |= dict.fromkeys(AUTO_FIELDS, AUTO)
    return DecodingSettings(method=method, **given)


def check_prompt(prompt: Any) -> str:
    """The prompt. Raises: PromptError where it is no text, blank, or too long for this page."""
    if not isinstance(prompt, str):
        raise PromptError(f"prompt is a {type(prompt).__name__}; give a text")
    if not prompt.strip():
        raise PromptError("prompt is blank; type a few words, or choose an example")
    if len(prompt) > MAX_PROMPT_CHARACTERS:
        raise PromptError(f"prompt has {len(prompt):,} characters; this page takes {MAX_PROMPT_CHARACTERS:,}")
    return prompt


def _plain(field: Field, value: Any) -> Any:
    if field.zero_is_none and value in (0, None):
        return None
    wanted = type(shown_value(field))
    if wanted is int and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
