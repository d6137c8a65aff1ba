"""Plans of ``auto`` on disk, so that forests are tried once: JSON files, each named by what its plan depends on.

A file is only read as data. A damaged file, or one with a forest that the trials could not have found, is ignored.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dsbd.auto.plan import PLANNED, MeasuredForest, Plan, could_be_chosen, shared
from dsbd.cache_folder import cache_folder, file_for, keep_record
from dsbd.errors import SettingsError
from dsbd.models.choosing import FOLDER as ENGINE_TIMES
from dsbd.settings import DecodingSettings

PLANS = "plans"
"""The folder of the cache."""


class KeptPlan(BaseModel):
    """A plan on disk."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    conditions: dict[str, dict[str, Any]]
    """Machine, versions and models: :func:`dsbd.conditions.conditions`."""
    settings: dict[str, Any]
    """What was asked, with defaults in the fields that a plan does not depend on."""
    made: datetime
    values: dict[str, Any]
    measured: list[MeasuredForest]
    layers_per_second: float
    sentence: str

    def plan(self) -> Plan:
        """Return the plan. Raises: SettingsError, TypeError: the trials for its settings could not have found it."""
        asked = DecodingSettings.from_dict(self.settings)
        filled = replace(asked, **self.values)
        if not (self.values.keys() <= PLANNED and could_be_chosen(asked, filled) and self.sentence.isprintable()):
            raise SettingsError("the plan has a forest that is not tried, or a sentence that cannot be shown")
        values = {name: getattr(filled, name) for name in self.values}
        return Plan(values, self.measured, self.layers_per_second, self.sentence)


def load_plan(conditions: Mapping[str, Any], asked: DecodingSettings) -> Plan | None:
    """Return the plan that was kept for these settings under these conditions; None if there is none."""
    try:
        kept = _read(plans_folder() / file_for([conditions, vars(shared(asked))]))
    except (OSError, RuntimeError):  # no folder, or it may not be read
        return None
    return kept.plan() if kept else None


def save_plan(conditions: Mapping[str, Any], asked: DecodingSettings, plan: Plan) -> None:
    """Keep a plan. A folder that cannot be written is a warning, not an error."""
    kept = KeptPlan(
        conditions=dict(conditions), settings=vars(shared(asked)), made=datetime.now(timezone.utc), **vars(plan)
    )
    keep_record(PLANS, [kept.conditions, kept.settings], kept.model_dump_json(), "plans of auto")


def plans_folder() -> Path:
    """Return the folder of the plans, whether it exists or not. Raises: RuntimeError: as :func:`.cache_folder`."""
    return cache_folder() / PLANS


def kept_plans() -> Iterator[KeptPlan]:
    """Yield the plans that are kept, of every machine and pair. Raises: OSError: the folder cannot be read."""
    yield from filter(None, map(_read, sorted(plans_folder().glob("*.json"))))


def forget_plans() -> int:
    """Delete all plans, and what the engines cost; return how many plans there were.

    Raises: OSError: the folder cannot be written.
    """
    found = sorted(plans_folder().glob("*.json"))
    for path in (*found, *plans_folder().glob("*.part"), *(cache_folder() / ENGINE_TIMES).glob("*")):
        path.unlink(missing_ok=True)
    return len(found)


def _read(path: Path) -> KeptPlan | None:
    """Return what a file holds; None if it is missing, damaged or foreign. Raises: OSError."""
    try:
        kept = KeptPlan.model_validate_json(path.read_bytes() if path.is_file() else b"")
        kept.plan()
    except (ValidationError, SettingsError, TypeError):
        return None
    return kept if file_for([kept.conditions, kept.settings]) == path.name else None
