"""Where the data of a task is: a path that a user gives, or the id of a data set on a hub."""

import re
from pathlib import Path
from typing import Any

from dsbd.errors import TaskError

FILE_ENDS = (".json", ".jsonl", ".csv", ".gz")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


def place_of(task: str, data: str | Path | None, remedy: str) -> Path | str:
    """Return a path that exists, or a hub id; ``remedy`` says what to give, and where to get it.

    Raises:
        TaskError: nothing was given, or neither a path that exists nor a possible hub id.
    """
    if data is None:
        raise TaskError(f"task {task} has no bundled data; give {remedy}")
    if Path(data).exists():
        return Path(data)
    if _HUB_ID.fullmatch(str(data)) and Path(data).suffix not in FILE_ENDS:
        return str(data)
    raise TaskError(
        f"data {str(data)[:200]!r} of task {task} is neither a path that exists nor a hub id; give {remedy}"
    )


def hub_rows(hub_id: str, split: str) -> list[dict[str, Any]]:
    """Return the rows of one split of a data set on a hub; the library ``datasets`` fetches and keeps them.

    Raises:
        TaskError: the library is not installed, or the data set cannot be loaded.
    """
    try:
        import datasets
    except ImportError:
        raise TaskError(
            f"loading {hub_id} needs the library datasets; pip install 'dsbd[eval]', or give a local path"
        ) from None
    try:
        return [dict(row) for row in datasets.load_dataset(hub_id, split=split)]
    except Exception as error:  # a library of many file formats and a network: it has no common error
        raise TaskError(f"data set {hub_id} cannot be loaded: {error}; give a local path instead") from error


def hub_folder(hub_id: str, patterns: list[str]) -> Path:
    """Return a folder with those files of a data set's repository that match one of the patterns.

    Raises:
        TaskError: the repository cannot be fetched.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(hub_id, repo_type="dataset", allow_patterns=patterns))
    except Exception as error:  # errors of the network, of the hub, of the disk
        raise TaskError(f"data set {hub_id} cannot be fetched: {error}; give a local path instead") from error
