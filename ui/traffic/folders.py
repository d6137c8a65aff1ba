"""Where evaluations are kept: a folder for each choice of each visitor, so that the same choice goes on there."""

import hashlib
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError

from ..host.limits import Limits

FOLDERS_OF_VISITOR = 4
"""Choices of one visitor that are kept; a further one takes the place of the oldest."""


class Folders:
    """Folders that expire.

    Args:
        limits: ``file_seconds`` after its last use a folder goes; ``max_visitors`` have some at a time.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits, self._lock = limits, threading.Lock()
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self._used: dict[Path, float] = {}

    def of(self, session: str, asked: Mapping[str, Any]) -> Path:
        """The folder of a visitor for what is asked. Raises: SettingsError where the disk takes none.

        Args:
            session: of the visitor; whatever it holds, no path comes of it.
            asked: plain data; another choice has another folder.
        """
        visitor = hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:24]
        choice = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:24]
        with self._lock:
            try:
                if self._home is None:
                    self._home = tempfile.TemporaryDirectory(prefix="dsbd-evaluations-")
                folder = Path(self._home.name) / visitor / choice
                self._used[folder] = time.monotonic()
                self._forget(folder)
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise SettingsError(f"no folder for results: {error.strerror or error}; try again later") from None
        return folder

    def _forget(self, kept: Path) -> None:
        """Remove what has expired, and what is too many; never the folder that is asked for."""
        oldest_first = sorted(self._used, key=self._used.__getitem__)
        late = time.monotonic() - self._limits.file_seconds
        own = [folder for folder in oldest_first if folder.parent == kept.parent]
        gone = {folder for folder in oldest_first if self._used[folder] < late}
        gone |= {*own[:-FOLDERS_OF_VISITOR], *oldest_first[: -self._limits.max_visitors * FOLDERS_OF_VISITOR]}
        for folder in gone - {kept}:
            del self._used[folder]
            shutil.rmtree(folder, ignore_errors=True)
