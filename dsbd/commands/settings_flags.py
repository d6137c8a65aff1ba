"""A flag for each setting, and how its value is typed: ``4``, ``auto``, ``none``, ``true``, ``1:2:5``, ``4,2,2``."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dsbd.commands.paths import LONGEST_SHOWN
from dsbd.settings import AUTO, METHODS, DecodingSettings, branching_of

_HINTS = get_type_hints(DecodingSettings)


def add_settings_flags(parser: argparse.ArgumentParser, skip: Sequence[str] = ()) -> None:
    """Add a flag for each field except those in ``skip``."""
    group = parser.add_argument_group("settings")
    for field in fields(DecodingSettings):
        if field.name in skip:
            continue
        flag = "--" + field.name.replace("_", "-")
        options: dict[str, Any] = {
            "default": field.default,
            "dest": field.name,
            "help": f"{HELP[field.name]} ({typed(field.default)})",
        }
        if isinstance(field.default, bool):
            group.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
        else:
            group.add_argument(flag, type=partial(value_of_text, field.name), metavar=form_of(field.name), **options)


def settings_of_flags(parsed: argparse.Namespace) -> DecodingSettings:
    """Return the settings that the flags ask for. Raises: SettingsError."""
    names = {field.name for field in fields(DecodingSettings)}
    return DecodingSettings(**{name: value for name, value in vars(parsed).items() if name in names})


def value_of_text(name: str, text: str) -> Any:
    """Return the value of a setting, as the first of its types that can read the text.

    A text that none can read comes back, cut where it is long: the settings refuse it with what is allowed. Where a
    comma separates values, ``x`` does between the counts of ``branching``.
    """
    for kind in _kinds(name):
        try:
            return _KINDS[kind][1](text)
        except ValueError:
            continue
    return text[:LONGEST_SHOWN]


def typed(value: Any) -> str:
    """Return a value as it is typed: what :func:`value_of_text` reads."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)


def form_of(name: str) -> str:
    """Return how a value of a setting looks, for its help."""
    return "|".join(_KINDS[kind][0] for kind in _kinds(name))


def _kinds(name: str) -> tuple[Any, ...]:
    hint = _HINTS[name]
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.replace(",", ":").split(":"))


def _one_of(words: Mapping[str, Any]) -> Callable[[str], Any]:
    """Return a reader of a few words, in capitals too."""

    def read(text: str) -> Any:
        if text.lower() not in words:
            raise ValueError(text)
        return words[text.lower()]

    return read


_KINDS: dict[Any, tuple[str, Callable[[str], Any]]] = {
    int: ("INT", int),
    float: ("FLOAT", float),
    str: ("STR", str),
    bool: ("true|false", _one_of({"true": True, "false": False})),
    NoneType: ("none", _one_of({"none": None})),
    Literal["auto"]: (AUTO, _one_of({AUTO: AUTO})),
    tuple[float, ...]: ("N:N:...", _numbers),
    tuple[int, ...]: ("N,N,...", branching_of),
}
"""By the type of a field: how a value looks, and what reads it."""

HELP = {
    "method": f"how to decode: {', '.join(METHODS)}",
    "max_new_tokens": "most tokens to generate, end of text included",
    "draft_depth": "layers drafted per iteration",
    "draft_width": "drafts in each layer of the forest",
    "min_width": "fewest beams that a layer keeps",
    "max_width": "most beams that a layer keeps",
    "width_threshold": "a layer keeps as many beams as are accepted with at least this probability",
    "replacement": "beams may repeat",
    "input_beams": "beams kept between iterations; none keeps all",
    "landing": "go on to the next layer if every drawn beam is in the forest",
    "cover_width": "likely pairs per layer, scored so that draws can land on them",
    "forest": "how drafts are chosen: sampled, likely or auto",
    "num_beams": "width of the beam methods",
    "branching": "specinfer: children of each node, by layer",
    "temperature": "divides the joint scores; 0 is greedy",
    "top_k": "likeliest pairs kept; 0 keeps all",
    "top_p": "mass of the likeliest pairs kept",
    "length_penalty": "exponent of the length that divides a log-weight",
    "seed": "start of the random numbers; the same seed gives the same text",
    "depth_costs": "cost of an iteration by draft depth; auto measures it",
    "continuation": "how often a draft layer is expected to be good enough for the next one",
    "joint_threshold": "mjsd: least ratio of target to draft probability",
    "block": "mjgd: tokens decided at once",
}
"""What each setting is, in a few words."""
