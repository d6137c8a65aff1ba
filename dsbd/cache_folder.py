"""The folder of what is kept between runs: plans of ``auto``, unpacked databases."""

import hashlib
import json
import logging
import os
from pathlib import Path
from typing import Any

from dsbd.files import write_file

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


def file_for(conditions: Any) -> str:
    """Return the name of the file of what was measured under these conditions, plain data."""
    return f"{hashlib.sha256(json.dumps(conditions, sort_keys=True).encode()).hexdigest()[:32]}.json"


def keep_record(folder: str, conditions: Any, record: str, what: str) -> None:
    """Keep a record in a folder of the cache. If it cannot be written, a warning is logged."""
    try:
        place = cache_folder() / folder
        place.mkdir(parents=True, exist_ok=True)
        write_file(place / file_for(conditions), record)
    except (OSError, RuntimeError) as error:
        logging.getLogger(__name__).warning(
            "%s cannot be kept (%s), so the next run measures again; set %s to a folder", what, error, SETTING
        )
