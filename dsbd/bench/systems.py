"""What a benchmark measures: systems made from methods, named points and settings. Needs no torch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.methods import DRAFTING_METHODS, READS, needs_draft_model
from dsbd.settings import AUTO, AUTO_FIELDS, EVERY_METHOD, FIELDS, METHODS, DecodingSettings

BASELINE = "beam_sampling"
TRANSFORMERS = {
    "hf_beam_sampling": ("beam_sampling", ("num_beams", "early_stopping", "temperature", "top_k", "top_p")),
    "hf_beam_search": ("beam_search", ("num_beams", "early_stopping")),
    "hf_assisted": ("speculative", ("temperature", "top_k", "top_p")),
    "hf_sampling": ("sampling", ("temperature", "top_k", "top_p")),
}
"""Four ways to call ``transformers.generate``: our method that each corresponds to, and the settings that it reads."""
SYSTEM_METHODS = (*METHODS, *TRANSFORMERS)
DEFAULT_METHODS = ("dsbd", "dsbd:exact", "beam_sampling", "hf_beam_sampling")
_SAME_DISTRIBUTION = {"min_width": "num_beams", "max_width": "num_beams"}
_AUTO = dict.fromkeys(AUTO_FIELDS, AUTO)
POINTS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "exact": _SAME_DISTRIBUTION,
    "paper-exact": _SAME_DISTRIBUTION | {"landing": False, "cover_width": 0},
    "auto": _AUTO,
    "auto-exact": _SAME_DISTRIBUTION | _AUTO,
}
"""Settings of ``dsbd`` by the name of a point; the word ``num_beams`` stands for that setting's value.

``paper-exact``: the paper's algorithm: verification ends where a layer falls short, and there are no extra candidates.
"""


@dataclass(frozen=True)
class System:
    """One thing to be measured."""

    name: str
    method: str
    """One of :data:`SYSTEM_METHODS`."""
    settings: DecodingSettings
    """For ``transformers`` those of our method that it corresponds to."""
    auto_reason: str | None = None
    """Why ``auto`` resolved to these settings; None if nothing is ``auto``, or it is not resolved yet."""
    history: bool = False
    """Whether it guesses from its own earlier answers, too."""

    @property
    def is_ours(self) -> bool:
        """Whether it is a decoder of this package."""
        return self.method not in TRANSFORMERS

    @property
    def drafts(self) -> bool:
        """Whether it needs a draft model."""
        return self.settings.method in DRAFTING_METHODS


def fields_read(method: str) -> tuple[str, ...]:
    """Return the settings that a method of :data:`SYSTEM_METHODS` reads."""
    return (*(TRANSFORMERS[method][1] if method in TRANSFORMERS else READS[method]), *EVERY_METHOD)


def systems(methods: Sequence[str], values: Mapping[str, Any]) -> tuple[System, ...]:
    """Return a system for every method, with those of the values that it reads.

    Methods are those of :data:`SYSTEM_METHODS`, or ``dsbd:POINT``; a bare ``dsbd`` is ``dsbd:defaults``.

    Raises:
        SettingsError: an unknown or repeated name, a bad value, or a field that a point fixes already.
    """
    require_names("methods", methods, (*SYSTEM_METHODS, *(f"dsbd:{point}" for point in POINTS)))
    chosen: list[System] = []
    for entry in methods:
        method, _, named = entry.partition(":")
        point = (named or "defaults") if method == "dsbd" else ""
        for name in POINTS.get(point, {}):
            if name in values:
                raise SettingsError(f"point {point!r} fixes {name}; leave out the point or the flag")
        chosen.append(_system(method, point, values))
    if len({one.name for one in chosen}) < len(chosen):
        raise SettingsError(f"methods are {', '.join(methods)}: dsbd is dsbd:defaults; name each once")
    return tuple(chosen)


def _system(method: str, point: str, values: Mapping[str, Any]) -> System:
    own, read = TRANSFORMERS[method][0] if method in TRANSFORMERS else method, fields_read(method)
    taken = {name: value for name, value in values.items() if name in read and own in FIELDS[name].methods}
    beams = values.get("num_beams", DecodingSettings.num_beams)
    fixed = {name: beams if value == "num_beams" else value for name, value in POINTS.get(point, {}).items()}
    return System(f"{method} {point}".strip(), method, DecodingSettings(**{"method": own, **taken, **fixed}))


def with_history(chosen: Sequence[System]) -> tuple[System, ...]:
    """Return the systems, of which those that can guess from their earlier answers do; their names say so.

    Raises:
        SettingsError: none can.
    """
    able = [one for one in chosen if one.is_ours and needs_draft_model(one.settings) and one.method != "mjsd"]
    if not able:
        raise SettingsError("history is given, and none of the methods drafts; add one, such as dsbd:exact")
    return tuple(replace(one, name=f"{one.name} + history", history=True) if one in able else one for one in chosen)


def require_names(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Check a list of names. Raises: SettingsError where it is empty, or has an unknown or repeated name."""
    if not names:
        raise SettingsError(f"{what} is empty; choose from {', '.join(known)}")
    for name in names:
        if name not in known:
            raise SettingsError(f"{what} names {name!r}; choose from {', '.join(known)}")
    if len(set(names)) < len(names):
        raise SettingsError(f"{what} are {', '.join(names)}; name each once")


def require_count(name: str, value: Any, most: int | None = None) -> int:
    """Return a number. Raises: SettingsError where it is no whole number from 1 to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        raise SettingsError(f"{name} is {value!r}; allowed are whole numbers from 1{f' to {most}' if most else ''}")
    return value


def benchmark_settings() -> tuple[str, ...]:
    """Return the settings that are flags of a benchmark: all but the method and the costs that ``auto`` measures."""
    return tuple(field.name for field in fields(DecodingSettings) if field.name not in ("method", "depth_costs"))
