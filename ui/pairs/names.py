"""Names as a visitor reads them: of a folder of this machine only the last part."""

import re
from pathlib import PurePath

_PATH = re.compile(
    r"""(?P<quote>['"`])(?P<quoted>(?:~?/|[A-Za-z]:[\\/])[^'"`]*[\\/][^'"`]*)(?P=quote)"""
    r"""|(?<![\w.:/\\~])(?P<bare>~?(?:/[^\s'"`:;,()<>/]+){2,}/?|[A-Za-z]:[\\/][^\s'"`:;,()<>]+)"""
)
"""A path from the root of a machine; an address of the web and a hub id are none."""


def model_name(model: str) -> str:
    """A model's name; of a folder on this machine, only the last part."""
    return PurePath(model).name if PurePath(model).is_absolute() else model


def without_folders(words: str) -> str:
    """A sentence in which every path has only its last part: libraries quote where they read and write."""
    return _PATH.sub(_last_part, words)


def _last_part(found: re.Match[str]) -> str:
    quote, path = found["quote"] or "", found["quoted"] or found["bare"]
    parts = re.split(r"[\\/]+", path.rstrip("/"))
    return f"{quote}{parts[-1]}{quote}"
