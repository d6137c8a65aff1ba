"""Plans of ``auto`` on disk, so that forests are tried once: JSON files, each named by what its plan depends on.

A file is only read as data. A damaged file, or one with a forest that the trials could not have found, is ignored.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from dsbd.auto.plan import PLANNED, MeasuredForest, Plan, could_be_chosen, shared
from dsbd.cache_folder import cache_folder, file_for, keep_record
from dsbd.errors import SettingsError
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
        path = cache_folder() / PLANS / file_for([conditions, vars(shared(asked))])
        kept = KeptPlan.model_validate_json(path.read_bytes())
        plan = kept.plan()
    except (OSError, RuntimeError, ValidationError, SettingsError, TypeError):  # missing, damaged or foreign
        return None
    return plan if file_for([kept.conditions, kept.settings]) == path.name else None


def save_plan(conditions: Mapping[str, Any], asked: DecodingSettings, plan: Plan) -> None:
    """Keep a plan. A folder that cannot be written is a warning, not an error."""
    kept = KeptPlan(conditions=dict(conditions), settings=vars(shared(asked)), **vars(plan))
    keep_record(PLANS, [kept.conditions, kept.settings], kept.model_dump_json(), "plans of auto")
