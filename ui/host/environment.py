"""Settings from the environment, read and checked once, at the start.

A setting's name is its field in capitals after ``DSBD_``: ``DSBD_MAX_NODES=256``.
"""

import os
from collections.abc import Mapping
from typing import Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

from dsbd.errors import SettingsError

PREFIX = "DSBD_"
Group = TypeVar("Group", bound="EnvironmentSettings")


class EnvironmentSettings(BaseModel):
    """A group of settings. Each field has a default and a description; a number also has a minimum and a maximum."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def from_environment(cls: type[Group], environment: Mapping[str, str] = os.environ) -> Group:
        """The settings of the environment; missing and empty ones have their defaults. Raises: SettingsError."""
        given = {name: environment[setting(name)] for name in cls.model_fields if environment.get(setting(name))}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            field = cls.model_fields[name]
            allowed = _allowed(field) or first["msg"].removeprefix("Value error, ")
            raise SettingsError(
                f"{setting(name)} is {str(first['input'])[:60]!r} ({field.description}); {allowed}"
            ) from None


def _allowed(field: FieldInfo) -> str:
    """The allowed values of a number, a switch or a choice; empty for a text, whose validator says them."""
    if field.annotation is bool:
        return "allowed are 0 and 1"
    if get_origin(field.annotation) is Literal:
        return f"allowed are {', '.join(get_args(field.annotation))}"
    if field.annotation is not int:
        return ""
    low, high = (next(getattr(one, end) for one in field.metadata if hasattr(one, end)) for end in ("ge", "le"))
    return f"allowed are whole numbers from {low:,} to {high:,}"


def setting(name: str) -> str:
    """The environment setting of a field."""
    return PREFIX + name.upper()
