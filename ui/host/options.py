"""What the host may set besides the limits, and the names of all settings."""

import difflib
import os
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from dsbd.errors import SettingsError

from .environment import PREFIX, EnvironmentSettings, setting
from .limits import Limits

OF_THE_PAIR = {
    "target": "the large model: folder, hub id, or bundled:sql",
    "draft": "the small model: folder or hub id",
    "device_map": "spreads models over devices: auto, balanced, sequential",
    "allowed_models": "hub ids and folders that visitors may load, with commas between them; * stands for any text",
}
"""Settings that :mod:`dsbd.commands.page` reads as defaults of its flags."""
OF_THE_DECODER = {"cache": "folder of what is kept between runs: plans of auto, unpacked databases"}
"""Settings that count wherever the decoder runs, also without the page."""


class Host(EnvironmentSettings):
    log: Literal["info", "warning", "off"] = Field(
        "info", description="log lines: info, every run; warning, only runs that failed; off"
    )
    mcp: bool = Field(False, description="1: programs may use the page as an MCP server, as with --mcp")


def setting_names() -> list[str]:
    return [setting(name) for name in (*OF_THE_PAIR, *OF_THE_DECODER, *Host.model_fields, *Limits.model_fields)]


def check_names(environment: Mapping[str, str] = os.environ) -> None:
    """Refuse settings that do not exist: a limit with a typo in its name would limit nothing. Raises: SettingsError."""
    known = setting_names()
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            closest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise SettingsError(
                f"{name} is no setting of the page; the closest is {closest}; docs/hosting.md lists them all"
            )
