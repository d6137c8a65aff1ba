"""What a contest measures: contenders made from methods, named points and swept settings. Needs no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, NamedTuple

from dsbd.errors import SettingsError
from dsbd.methods import DRAFTING_METHODS, EVERY_METHOD, READS
from dsbd.settings import AUTO, AUTO_FIELDS, FIELDS, METHODS, DecodingSettings

BASELINE = "beam_sampling"
TRANSFORMERS = {
    "hf_beam_sampling": "beam_sampling",
    "hf_beam_search": "beam_search",
    "hf_assisted": "speculative",
    "hf_sampling": "sampling",
}
"""Four ways to call ``transformers.generate``, each with our method that it corresponds to."""


class Foreign(NamedTuple):
    """Beam search by the engine of another, optional package, which has no beam sampling."""

    package: str
    """``PACKAGE_engine.py`` beside this file runs it, and the extra of this name installs it."""
    number_format: str
    """What it computes in."""


FOREIGN = {
    "ct2_beam_search": Foreign("ctranslate2", "float32"),
    "ct2_bfloat16_beam_search": Foreign("ctranslate2", "bfloat16"),
    "ct2_int8_beam_search": Foreign("ctranslate2", "int8"),
}
OPPONENTS = TRANSFORMERS | dict.fromkeys(FOREIGN, "beam_search")
"""Decoders of others, each with our method that it corresponds to."""
OPPONENT_READS = {
    "hf_beam_sampling": ("num_beams", "temperature", "top_k", "top_p"),
    "hf_beam_search": ("num_beams",),
    "hf_assisted": ("temperature", "top_k", "top_p"),
    "hf_sampling": ("temperature", "top_k", "top_p"),
    **dict.fromkeys(FOREIGN, ("num_beams",)),
}
CONTENDER_METHODS = (*METHODS, *OPPONENTS)
DEFAULT_METHODS = ("dsbd", "dsbd:same-law", "beam_sampling", "hf_beam_sampling")
_SAME_LAW = {"min_width": "num_beams", "max_width": "num_beams"}
_EQUAL_QUALITY = {"min_width": "num_beams", "max_width": 8, "width_threshold": 0.5}
_AUTO = dict.fromkeys(AUTO_FIELDS, AUTO)
POINTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "same-law": _SAME_LAW,
    "paper-same-law": _SAME_LAW | {"landing": False, "cover_width": 0},
    "equal-quality": _EQUAL_QUALITY | {"draft_depth": 3, "draft_width": 8},
    "auto": _AUTO,
    "auto-same-law": _SAME_LAW | _AUTO,
    "auto-equal-quality": _EQUAL_QUALITY | _AUTO,
}
"""Settings of ``dsbd`` by the name of the question they answer; the word ``num_beams`` stands for that setting's value.

``paper-same-law``: nothing beyond the paper: no landing, no cover nodes. ``equal-quality``: with the bundled pair, 64
tokens and temperature 1, the best of five tried whose perplexity and best log-weight were no worse than beam sampling's
over 12 prompts x 3 seeds. Widths below ``num_beams`` made them worse.
"""


@dataclass(frozen=True)
class Contender:
    """One thing to be measured."""

    name: str
    method: str
    """One of :data:`CONTENDER_METHODS`."""
    settings: DecodingSettings
    """For an opponent the settings of our method that it corresponds to."""
    auto_reason: str | None = None
    """Why ``auto`` resolved to these settings; None if nothing is ``auto``, or it is not resolved yet."""

    @property
    def drafts(self) -> bool:
        """Whether it needs a draft model."""
        return self.settings.method in DRAFTING_METHODS

    @property
    def reads(self) -> tuple[str, ...]:
        """The settings it reads."""
        return fields_read(self.method)


def fields_read(method: str) -> tuple[str, ...]:
    """Return the settings that a method of :data:`CONTENDER_METHODS` reads."""
    return (*(OPPONENT_READS.get(method) or READS[method]), *EVERY_METHOD)


def contenders(methods: Sequence[str], values: Mapping[str, Sequence[Any]]) -> tuple[Contender, ...]:
    """Return a contender for every method at every value of the settings it reads.

    Methods are those of :data:`CONTENDER_METHODS`, or ``dsbd:POINT``; a bare ``dsbd`` is ``dsbd:defaults``. ``values``
    are those asked for, by field; more than one is a sweep.

    Raises:
        SettingsError: an unknown or repeated name, a bad value, or a field that a point fixes already.
    """
    require_names("methods", methods, (*CONTENDER_METHODS, *(f"dsbd:{point}" for point in POINTS)))
    for name, chosen in values.items():
        if not chosen or len(set(chosen)) < len(chosen):
            raise SettingsError(f"{name} is {list(chosen)}; name each value once, at least one")
    found: list[Contender] = []
    for entry in methods:
        method, _, named = entry.partition(":")
        point = (named or "defaults") if method == "dsbd" else None
        if point is not None:
            _require_free(point, values)
        found += swept(method, point, values)
    if len({one.name for one in found}) < len(found):
        raise SettingsError(f"methods are {', '.join(methods)}: dsbd is dsbd:defaults; name each once")
    return tuple(found)


def swept(method: str, point: str | None, values: Mapping[str, Sequence[Any]]) -> list[Contender]:
    """Return a contender for one method at every combination of the values of the settings that it reads.

    A field with several values stands in the contender's name.
    """
    own, fixed = OPPONENTS.get(method, method), POINTS[point] if point else {}
    read = (*fields_read(method), *(["num_beams"] if "num_beams" in fixed.values() else []))
    given = {name: chosen for name, chosen in values.items() if name in read}
    several = [name for name, chosen in given.items() if len(chosen) > 1]
    found = []
    for combination in product(*(given[name] for name in several)):
        place = dict(zip(several, combination, strict=True))
        chosen = {name: listed[0] for name, listed in given.items()} | place
        label = " ".join(
            [method, *([point] if point else []), *(f"{name}={value_text(value)}" for name, value in place.items())]
        )
        found.append(Contender(label, method, _settings(own, fixed, chosen)))
    return found


def _settings(method: str, fixed: Mapping[str, Any], chosen: Mapping[str, Any]) -> DecodingSettings:
    beams = chosen.get("num_beams", DecodingSettings.num_beams)
    resolved = {name: beams if value == "num_beams" else value for name, value in fixed.items()}
    asked = {name: value for name, value in chosen.items() if method in FIELDS[name].methods}
    return DecodingSettings(**{"method": method, **asked, **resolved})


def require_names(what: str, names: Sequence[str], known: Sequence[str] | Mapping[str, Any]) -> None:
    """Check a list of names. Raises: SettingsError where it is empty, or has an unknown or repeated name."""
    if not names:
        raise SettingsError(f"{what} is empty; choose from {', '.join(known)}")
    for name in names:
        if name not in known:
            raise SettingsError(f"{what} names {name!r}; choose from {', '.join(known)}")
    if len(set(names)) < len(names):
        raise SettingsError(f"{what} are {', '.join(names)}; name each once")


def require_count(name: str, value: Any, most: int | None = None) -> None:
    """Check a number. Raises: SettingsError where it is no whole number from 1 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        raise SettingsError(f"{name} is {value!r}; allowed are whole numbers from 1{f' to {most}' if most else ''}")


def _require_free(point: str, values: Mapping[str, Sequence[Any]]) -> None:
    for name in POINTS[point]:
        if name in values:
            raise SettingsError(f"point {point!r} fixes {name}; leave out the point or the flag")


def value_text(value: Any) -> str:
    """Return a setting's value as a bench's flags take it: without a comma, which separates values."""
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def swept_settings() -> tuple[str, ...]:
    """Return the settings a bench has flags for: all except the method and the costs that ``auto`` measures."""
    return tuple(field.name for field in fields(DecodingSettings) if field.name not in ("method", "depth_costs"))
