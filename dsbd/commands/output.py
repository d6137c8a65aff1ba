"""What a subcommand leaves behind: its exit code, one JSON object, a file where one can be."""

import json
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError

OK, CHECK_FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130


def print_json(value: Any) -> None:
    """One line of strict JSON."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def require_folder_of(path: str | None) -> None:
    """Raises: SettingsError where a file cannot be written to this path; found out before any work."""
    if path is None:
        return
    if Path(path).is_dir():
        raise SettingsError(f"{path!r} is a folder; name a file")
    if not Path(path).resolve().parent.is_dir():
        raise SettingsError(f"folder of {path!r} does not exist; create it first")
