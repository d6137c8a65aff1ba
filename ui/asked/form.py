"""The settings form: a table of fields, which method reads which, and the way from values to settings."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dsbd.errors import PromptError, SettingsError
from dsbd.methods import EVERY_METHOD, READS
from dsbd.settings import AUTO, AUTO_FIELDS, FORESTS, VERIFICATIONS, DecodingSettings, branching_of
from visualize.race import label_of

from ..host.limits import Limits

WITHOUT_LAW = {"mjsd": "Joint test, MJSD (keeps no law)", "mjgd": "Best blocks, MJGD (keeps no law)"}


@dataclass(frozen=True)
class Field:
    """One setting on the page: a choice; a text if :func:`shown_value` is one; without a range a checkbox; without a
    step a plain number; else a slider."""

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
    Field("max_new_tokens", "New tokens", "How many tokens to write", 1, Limits().max_new_tokens, main=True),
    Field("temperature", "Temperature", "Higher is bolder; 0 always takes the likeliest", 0, 2, 0.05, main=True),
    Field("draft_depth", "Draft depth", "How many tokens ahead the small model guesses", 0, 8, main=True),
    Field("branching", "Branching", "How many guesses below each guess, layer by layer", main=True),
    Field(
        "verification",
        "Verification",
        "Decide one guess after the other (token), or all of them together (block)",
        main=True,
        choices=VERIFICATIONS,
    ),
    Field("draft_width", "Draft width", "How many guesses for each of these tokens", 1, 16, main=True),
    Field(
        "forest",
        "Guesses",
        "How guesses are chosen: drawn (sampled), or the likeliest; auto measures here what is fastest",
        main=True,
        choices=(*FORESTS, AUTO),
    ),
    Field(
        "width_threshold",
        "Width threshold",
        "Keep one version more while at least so probable that enough guesses pass",
        0,
        1,
        0.05,
        main=True,
    ),
    Field(
        "joint_threshold",
        "Joint threshold",
        "Keep guesses that the large model finds together so many times as likely; keeps no law",
        0,
        1.05,
        0.05,
        main=True,
    ),
    Field("block", "Block", "Tokens decided at once; tries every block, so for small vocabularies", 1, 3, main=True),
    Field("num_beams", "Beams", "How many versions of the text to keep", 1, 16, main=True),
    Field("seed", "Seed", "The same seed gives the same text", 0, 2**31 - 1, None, main=True),
    Field("min_width", "Least width", "Versions to keep at least after every token", 1, 8),
    Field("max_width", "Most width", "Versions to keep at most; 0 = the draft width", 0, 16, zero_is_none=True),
    Field("input_beams", "Input beams", "Versions that go on to the next pass; 0 = all", 0, 16, zero_is_none=True),
    Field("replacement", "With replacement", "Two versions may be the same"),
    Field("landing", "Landing", "Go on when the large model picks a token that was guessed"),
    Field("cover_width", "Cover width", "Further likely tokens checked along, so that more picks are known", 0, 32),
    Field("top_k", "Top-k", "Choose among so many of the likeliest; 0 = all", 0, 200),
    Field("top_p", "Top-p", "Choose among the likeliest up to this probability in all; 1 = all", 0.05, 1, 0.05),
    Field("length_penalty", "Length penalty", "Above 0 favours long texts, below 0 short ones", -2, 2, 0.1),
)
WITHOUT_FIELD = ("depth_costs", "continuation", "width_weights")
"""Settings without a field: ``auto`` fills in the first two, and a histogram comes from a file."""
DEFAULTS = DecodingSettings()


def is_known(method: Any) -> bool:
    return isinstance(method, str) and method in READS


def is_read(method: str, name: str) -> bool:
    """Return whether the method reads the field. Raises: KeyError: an unknown method."""
    return name in EVERY_METHOD or name in READS[method]


def method_label(method: str) -> str:
    """Return a method as a visitor reads it."""
    return WITHOUT_LAW.get(method) or label_of(method)


GROUPS = {
    "Several texts": ("dsbd", "beam_sampling", "beam_search", "speculative_beam_search"),
    "One text": ("sampling", "speculative", "specinfer", "greedy"),
    "For comparison": ("width_rule_sampling", "random_width", "mjsd", "mjgd"),
}
"""Every method, below what it is for."""


def method_choices() -> list[tuple[str, str]]:
    """Return label and name of every method, group by group; the label says the group: a list has no headings."""
    return [(f"{group}: {method_label(method)}", method) for group, methods in GROUPS.items() for method in methods]


def shown_value(field: Field, settings: DecodingSettings = DEFAULTS) -> Any:
    """Return what the form shows for a field of these settings."""
    value = getattr(settings, field.name)
    if value == AUTO and not field.choices:  # shown by its forest
        value = getattr(DEFAULTS, field.name)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return 0 if value is None else value


def values_of(settings: DecodingSettings) -> list[Any]:
    """Return what the form shows for these settings, in the order of :data:`FIELDS`; :func:`settings_of` reverses it.

    Fields that the method does not read show their defaults.
    """
    return [shown_value(field, settings if is_read(settings.method, field.name) else DEFAULTS) for field in FIELDS]


def settings_of(method: Any, values: Sequence[Any]) -> DecodingSettings:
    """Return the settings of the form, ``values`` in the order of :data:`FIELDS`; hidden fields keep their defaults.

    Raises: SettingsError: a value is out of range, or two contradict each other.
    """
    given = {}
    for field, value in zip(FIELDS, values, strict=True):
        if not is_known(method) or is_read(method, field.name):
            given[field.name] = plain_value(field, value)
    if given.get("forest") == AUTO:
        given |= dict.fromkeys(AUTO_FIELDS, AUTO)
    return DecodingSettings(method=method, **given)


def check_prompt(prompt: Any, limits: Limits) -> str:
    """Return the prompt. Raises: PromptError: it is no text, blank, or too long for this page."""
    if not isinstance(prompt, str):
        raise PromptError(f"prompt is a {type(prompt).__name__}; give a text")
    if not prompt.strip():
        raise PromptError("prompt is blank; type a few words, or choose an example")
    if len(prompt) > limits.max_prompt_characters:
        raise PromptError(
            f"prompt has {len(prompt):,} characters; this page takes {limits.max_prompt_characters:,}; shorten it"
        )
    return prompt


def number_of(text: str) -> int | float | str:
    """Return the number that a text is, or else the text, which the settings refuse."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text.strip()


def plain_value(field: Field, value: Any) -> Any:
    """Return the setting for a component's value. Raises: SettingsError: the value is empty or cannot be read."""
    if field.zero_is_none and value in (0, None):
        return None
    if value is None:
        raise SettingsError(f"{field.name} is empty; write a value, such as {shown_value(field)}")
    if field.name == "branching" and isinstance(value, str):
        return branching_of(value)
    wanted = type(shown_value(field))
    if wanted is int and isinstance(value, float) and value.is_integer():
        return int(value)
    return value
