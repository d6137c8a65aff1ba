"""The port that the page listens on, checked before Gradio reads it."""

import os
import re
from collections.abc import Mapping

from dsbd.errors import SettingsError

HIGHEST = 65_535
SETTING = "GRADIO_SERVER_PORT"


def port_of(flag: str | None, environment: Mapping[str, str] = os.environ) -> int | None:
    """The port that ``--port`` names; None leaves it to Gradio: the first free one from its setting on, or from 7860.

    Args:
        flag: as it was typed; None without one.
        environment: of the process.

    Raises:
        SettingsError: the flag or the setting is no port; the message names it.
    """
    if SETTING in environment:  # Gradio reads it as soon as it is imported, also where there is a flag
        _checked(SETTING, environment[SETTING])
    return None if flag is None else _checked("--port", flag)


def _checked(name: str, given: str) -> int:
    if not re.fullmatch(r"\d{1,5}", given.strip(), re.ASCII) or not 1 <= int(given) <= HIGHEST:
        raise SettingsError(
            f"{name} is {given[:40]!r}; allowed are whole numbers from 1 to {HIGHEST:,}; leave it out for the first "
            f"free port from 7860"
        )
    return int(given)
