"""Where the page listens, checked before Gradio reads it, and whether other machines can reach it."""

import os
import re
from collections.abc import Mapping

from dsbd.errors import SettingsError

LOCAL = ("", "127.0.0.1", "localhost", "::1")
"""Names that mean this machine on every machine."""
BEFORE_IT = ("SPACE_ID", "GRADIO_ROOT_PATH", "FORWARDED_ALLOW_IPS")
"""Settings that mean that another server stands in front of the page."""
HIGHEST = 65_535
HOST_SETTING, PORT_SETTING = "GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT"


def host_of(flag: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """The address that ``--host`` or its setting names; empty means this machine only."""
    return flag if flag is not None else environment.get(HOST_SETTING, "")


def is_private(host: str, share: bool, environment: Mapping[str, str] = os.environ) -> bool:
    """True if only this machine can reach the page; ``share``: a public link leads to it."""
    return host.strip("[]") in LOCAL and not share and not any(environment.get(name) for name in BEFORE_IT)


def port_of(flag: str | None, environment: Mapping[str, str] = os.environ) -> int | None:
    """The port that ``--port`` names; None means the first free port from its setting on, or from 7860.

    Raises: SettingsError: the flag or the setting is not a port.
    """
    if PORT_SETTING in environment:  # Gradio reads it when it is imported, even if there is a flag
        _checked(PORT_SETTING, environment[PORT_SETTING])
    return None if flag is None else _checked("--port", flag)


def _checked(name: str, given: str) -> int:
    if not re.fullmatch(r"\d{1,5}", given.strip(), re.ASCII) or not 1 <= int(given) <= HIGHEST:
        raise SettingsError(
            f"{name} is {given[:40]!r}; allowed are whole numbers from 1 to {HIGHEST:,}; leave it out for the first "
            f"free port from 7860"
        )
    return int(given)
