"""Settings from the environment: read and checked once, at the start, each with its range and a sentence of its own.

A setting's name is its field in capitals after ``DSBD_``: ``DSBD_MAX_NODES=256``.
"""

import os
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from dsbd.errors import SettingsError

PREFIX = "DSBD_"
Group = TypeVar("Group", bound="EnvironmentSettings")


class EnvironmentSettings(BaseModel):
    """A group of settings; each field has a default, a range and a description."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def from_environment(cls: type[Group], environment: Mapping[str, str] = os.environ) -> Group:
        """The settings that the environment gives; the others, and empty ones, have their defaults.

        Raises:
            SettingsError: a value is of another kind or outside its range; the message names the setting and the range.
        """
        given = {name: environment[setting(name)] for name in cls.model_fields if environment.get(setting(name))}
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise SettingsError(
                f"{setting(name)} is {str(first['input'])[:60]!r} ({cls.model_fields[name].description}): "
                f"{first['msg'].removeprefix('Value error, ')}"
            ) from None


def setting(name: str) -> str:
    """The environment setting of a field."""
    return PREFIX + name.upper()
