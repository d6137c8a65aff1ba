"""The folder of what is kept between runs: plans of ``auto``, unpacked databases."""

import os
from pathlib import Path

SETTING = "DSBD_CACHE"


def cache_folder() -> Path:
    """Return the folder that ``DSBD_CACHE`` names, else ``$XDG_CACHE_HOME/dsbd`` or ``~/.cache/dsbd``.

    It may not exist.

    Raises:
        RuntimeError: no variable names a folder, and this user has no home.
    """
    named = os.environ.get(SETTING)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dsbd"
