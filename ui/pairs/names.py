"""Names as a visitor reads them: only the last part of a folder on this machine."""

import re
from pathlib import PurePath

_PATH = re.compile(
    r"""(?P<quote>['"`])(?P<quoted>(?:~?/|[A-Za-z]:[\\/])[^'"`]*[\\/][^'"`]*)(?P=quote)"""
    r"""|(?<![\w.:/\\~])(?P<bare>~?(?:/[^\s'"`:;,()<>/]+){2,}/?|[A-Za-z]:[\\/][^\s'"`:;,()<>]+)"""
)
"""A path from the root of a machine; no web address and no hub id."""


def model_name(model: str) -> str:
    """A model's name; only the last part of a folder on this machine."""
    return PurePath(model).name if PurePath(model).is_absolute() else model


def without_folders(words: str) -> str:
    """The sentence with only the last part of each path: libraries quote the paths that they read and write."""
    return _PATH.sub(_last_part, words)


def _last_part(found: re.Match[str]) -> str:
    quote, path = found["quote"] or "", found["quoted"] or found["bare"]
    parts = re.split(r"[\\/]+", path.rstrip("/"))
    return f"{quote}{parts[-1]}{quote}"
