"""Finds the fastest engine of a model on this machine: measures those that pass their check, and keeps the figures.

They are kept beside the plans of ``auto``, for each shape of model, machine and versions. A file is only read as data,
and a damaged one is ignored.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dsbd.cache_folder import cache_folder, file_for, keep_record
from dsbd.machine import machine, versions
from dsbd.models.language_model import LanguageModel
from dsbd.models.timing import forward_milliseconds

FOLDER = "engines"
"""The name of the folder in the cache."""
SIZES = (1, 4, 16, 32)
"""Tokens of the forwards that are measured."""
DECIDING = {"target": (4, 16), "draft": (1, 4)}
"""Those that decide: a target is mostly fed its beams and their forest, a draft model one layer."""
REPEATS = 7
SECONDS = 2.0
"""About the longest that the measurements of an engine take."""


class EngineTimes(BaseModel):
    """What forwards cost here, on disk."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    conditions: dict[str, Any]
    milliseconds: dict[str, dict[int, float]]
    """By engine and number of tokens, the medians."""


def fastest(
    model: LanguageModel, role: str, engines: Sequence[str], checked: Callable[[str], LanguageModel | None]
) -> LanguageModel | None:
    """Return the model on the fastest of these engines; None if it fails the check of all.

    Args:
        model: before an engine is chosen.
        role: ``target`` or ``draft``.
        engines: to choose from.
        checked: returns the model on an engine, None if it fails the check there.
    """
    times = known_times(model)
    if len(engines) > 1 and not set(engines) <= times.keys():
        passing = [one for engine in engines if (one := checked(engine)) is not None]
        times = {one.engine: forward_milliseconds(one, SIZES, REPEATS, SECONDS) for one in passing}
        kept = EngineTimes(conditions=_conditions(model), milliseconds=times)
        keep_record(FOLDER, kept.conditions, kept.model_dump_json(), "what the engines cost")
        return min(passing, key=lambda one: _cost(times[one.engine], role), default=None)
    ranked = sorted(engines, key=lambda engine: _cost(times[engine], role)) if len(engines) > 1 else engines
    return next((one for engine in ranked if (one := checked(engine)) is not None), None)


def known_times(model: LanguageModel) -> dict[str, dict[int, float]]:
    """Return the kept milliseconds of models of this shape, by engine and number of tokens; empty without any."""
    conditions = _conditions(model)
    try:
        path = cache_folder() / FOLDER / file_for(conditions)
        kept = EngineTimes.model_validate_json(path.read_bytes())
    except (OSError, RuntimeError, ValidationError):
        return {}
    whole = kept.conditions == conditions and all(set(SIZES) <= one.keys() for one in kept.milliseconds.values())
    return kept.milliseconds if whole else {}


def _cost(milliseconds: dict[int, float], role: str) -> float:
    return sum(milliseconds[size] for size in DECIDING[role])


def _conditions(model: LanguageModel) -> dict[str, Any]:
    """Return what forwards depend on: the shape of the model, not the numbers in it."""
    shape = model.config.to_json_string(use_diff=False).encode()
    return {
        "machine": machine(model.device),
        "versions": versions(),
        "dtype": str(model.dtype).removeprefix("torch."),
        "shape": hashlib.sha256(shape).hexdigest()[:16],
    }
