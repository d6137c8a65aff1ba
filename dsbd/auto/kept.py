"""Plans of ``auto`` on disk, one JSON file for each machine, pair and settings, so that trials happen once.

A file is read as data and nothing in it is run. It counts only if it is what this program writes, was made under the
very same conditions, answers the very same settings, and holds a forest that the trials could have found; else it is
as if it were not there. It is written whole or not at all, so that no process reads half of it.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from dsbd.auto.plan import MeasuredForest, Plan, largest_tried, shared
from dsbd.cache_folder import SETTING, cache_folder
from dsbd.errors import SettingsError
from dsbd.files import write_file
from dsbd.settings import DecodingSettings

FOLDER = "plans"
LARGEST_BYTES = 65_536
UNDRAFTED = ("sampled", 1, 0)
"""Forest, draft width and cover width of a plan that drafts nothing."""


class _Checked(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PlanValues(_Checked):
    """The fields of the settings that a plan fills in."""

    forest: str
    draft_width: int
    cover_width: int
    draft_depth: int
    max_width: int
    depth_costs: tuple[float, ...] | None = None
    continuation: float | None = None


class KeptPlan(_Checked):
    """A plan on disk."""

    format: Literal[2]
    conditions: dict[str, dict[str, Any]]
    """Machine, versions and models: :func:`dsbd.machine.conditions`."""
    settings: dict[str, Any]
    """What was asked, without what plans are shared by."""
    made: datetime
    values: PlanValues
    measured: list[MeasuredForest]
    layers_per_second: float
    sentence: str

    @property
    def plan(self) -> Plan:
        """The plan itself."""
        values = self.values.model_dump(exclude_unset=True)
        return Plan(values, self.measured, self.layers_per_second, self.sentence)


def load_plan(conditions: Mapping[str, Any], asked: DecodingSettings) -> Plan | None:
    """Return the plan that was kept for these settings under these conditions; None where there is none that counts."""
    try:
        kept = _read(_path(conditions, asked))
    except (OSError, RuntimeError):  # no folder, or not ours to read
        return None
    return None if kept is None else kept.plan


def save_plan(conditions: Mapping[str, Any], asked: DecodingSettings, plan: Plan) -> None:
    """Keep a plan; a folder that cannot be written is no error, and said once."""
    kept = KeptPlan(
        format=2,
        conditions=dict(conditions),
        settings=vars(shared(asked)),
        made=datetime.now(timezone.utc),
        values=PlanValues(**plan.values),
        measured=plan.measured,
        layers_per_second=plan.layers_per_second,
        sentence=plan.sentence,
    )
    try:
        path = _path(conditions, asked)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, _text(kept))
    except (OSError, RuntimeError) as error:
        _say_once(f"plans of auto cannot be kept ({error}), so the next run measures again; set {SETTING} to a folder")


def plans_folder() -> Path:
    """Return the folder of the plans, whether it exists or not. Raises: RuntimeError: as :func:`.cache_folder`."""
    return cache_folder() / FOLDER


def kept_plans() -> Iterator[KeptPlan]:
    """Yield the plans that are kept, of every machine and pair; files that do not count are left out.

    Raises:
        OSError: the folder cannot be read.
    """
    for path in sorted(plans_folder().glob("*.json")):
        kept = _read(path)
        if kept is not None:
            yield kept


def forget_plans() -> int:
    """Delete all plans; return how many there were. Raises: OSError: the folder cannot be written."""
    found = sorted(plans_folder().glob("*.json"))
    for path in (*found, *plans_folder().glob("*.part")):
        path.unlink(missing_ok=True)
    return len(found)


def _read(path: Path) -> KeptPlan | None:
    """Return what a file holds; None where it does not count. Raises: OSError."""
    if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
        return None
    try:
        text = path.read_text(encoding="utf-8")
        kept = KeptPlan.model_validate_json(text)
        asked = DecodingSettings.from_dict(kept.settings)
        fits = _could_be_found(asked, kept.plan.values)
    except (UnicodeDecodeError, ValidationError, SettingsError, TypeError):
        return None
    is_ours = _text(kept) == text and _path(kept.conditions, asked).name == path.name and kept.sentence.isprintable()
    return kept if is_ours and fits else None


def _text(kept: KeptPlan) -> str:
    return kept.model_dump_json(exclude_unset=True)


def _path(conditions: Mapping[str, Any], asked: DecodingSettings) -> Path:
    """Return the place of a plan: two plans have one if they answer the same settings under the same conditions."""
    key = json.dumps([conditions, vars(shared(asked))], sort_keys=True)
    return plans_folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _could_be_found(asked: DecodingSettings, values: dict[str, Any]) -> bool:
    """Return True where the trials for these settings can end with these values. Raises: SettingsError."""
    filled = replace(asked, **values)
    if filled.is_auto or filled.max_width != asked.widest:
        return False
    depth, shape = filled.draft_depth, (filled.forest, filled.draft_width, filled.cover_width)
    tried = {(one.forest, one.draft_width, one.cover_width): one.draft_depth for one in largest_tried(asked)}
    tried.setdefault(UNDRAFTED, 0)
    return shape in tried and depth <= tried[shape]  # type: ignore[operator]  # filled in


@lru_cache
def _say_once(sentence: str) -> None:
    logging.getLogger(__name__).warning(sentence)
