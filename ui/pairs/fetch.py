"""Fetches a model from the hub: says first what it takes, then fetches the files and counts the bytes.

Only files of the model and its tokenizer are fetched. Weights must be safetensors, because other files can hold code.
The files stay in the hub's cache on this machine, where a cancelled fetch continues later.
"""

import shutil
import threading
from collections.abc import Generator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from huggingface_hub import constants, hf_hub_download, try_to_load_from_cache
from huggingface_hub.utils import tqdm

from dsbd.errors import PairError
from dsbd.models.files import is_small
from dsbd.models.free_memory import in_gigabytes
from dsbd.models.hub import on_hub, unreachable
from dsbd.models.outline import source_of
from dsbd.models.weights import has_only_pickles, parameters_of

SAFE = "model*.safetensors"
PICKLED = "pytorch_model*.bin"
LOOK_SECONDS = 0.3


class Wanted(NamedTuple):
    """What it takes to load a model."""

    name: str
    files: list[tuple[str, int]]
    """Files to fetch, and their bytes; empty if all are on this machine."""
    revision: str | None
    parameters: int | None
    """Numbers in its weights; None if unknown."""

    @property
    def fetch_bytes(self) -> int:
        return sum(size for _, size in self.files)


def wanted(name: str, pickled: bool = False) -> Wanted:
    """Ask what it takes to load a model, a folder or a hub id; no weights are fetched.

    Pickled weights are accepted only if asked for and there are no others; only tensors are read from them. Raises:
    PairError: it does not exist, is gated, out of reach, or stored in a format that is not read.
    """
    info = None if Path(name).is_dir() else on_hub(name)
    if info is None:
        return _on_this_machine(name, pickled)
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or [] if "/" not in file.rfilename}
    weights = _weights(name, list(sizes), pickled)
    chosen = [file for file in sizes if file in weights or is_small(file)]
    missing = [file for file in chosen if not isinstance(try_to_load_from_cache(name, file, revision=info.sha), str)]
    parameters = info.safetensors.total if info.safetensors is not None else None
    return Wanted(name, [(file, sizes[file]) for file in missing], info.sha, parameters)


def fetched(wanted: Wanted) -> Generator[int, None, None]:
    """Fetch the files; yield the bytes so far, a few times a second. Closing the generator cancels.

    Raises: PairError: the disk is too small, or the hub refuses or is out of reach.
    """
    free = shutil.disk_usage(_existing(Path(constants.HF_HUB_CACHE))).free
    if wanted.fetch_bytes > free:
        raise PairError(
            f"{wanted.name!r} takes {in_gigabytes(wanted.fetch_bytes)} of disk, and {in_gigabytes(free)} are free; "
            f"make room, or set HF_HOME to a larger disk"
        )
    counter = _Counter()
    worker = threading.Thread(target=_fetch, args=(wanted, counter), daemon=True)
    worker.start()
    try:
        is_at_work = True
        while is_at_work:
            worker.join(LOOK_SECONDS)
            is_at_work = worker.is_alive()
            yield counter.bytes
    finally:
        counter.is_cancelled = True
    if counter.failure is not None:
        raise unreachable(wanted.name, counter.failure)


class _Counter:
    def __init__(self) -> None:
        self.bytes = 0
        self.is_cancelled = False
        self.failure: Exception | None = None


class _CancelledError(Exception):
    """Ends the fetching thread."""


def _fetch(wanted: Wanted, counter: _Counter) -> None:
    class Bar(tqdm):
        """Counts instead of drawing; the hub's functions call it from their threads."""

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **{**named, "disable": True})
            counter.bytes += int(named.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            """Count; end the fetch once its reader has left."""
            if counter.is_cancelled:
                raise _CancelledError
            counter.bytes += int(n or 0)
            return None

    try:
        for file, _ in wanted.files:
            if counter.is_cancelled:
                return
            hf_hub_download(wanted.name, file, revision=wanted.revision, tqdm_class=Bar)
    except _CancelledError:
        pass
    except Exception as error:  # all: it is raised again in the thread that reads
        counter.failure = error


def _weights(name: str, files: list[str], pickled: bool) -> list[str]:
    for pattern, may_be in ((SAFE, True), (PICKLED, pickled)):
        found = [file for file in files if fnmatchcase(file, pattern)]
        if found and may_be:
            return found
    raise _only_pickles(name)


def _on_this_machine(name: str, pickled: bool) -> Wanted:
    folder = source_of(name, fetch=False).folder
    if has_only_pickles(folder) and not pickled:
        raise _only_pickles(name)
    return Wanted(name, [], None, parameters_of(folder))


def _only_pickles(name: str) -> PairError:
    return PairError(
        f"{name!r} has no weights as safetensors; a pickle can run code, so it is not read; load the model where you "
        f"trust it and write it again with save_pretrained(folder)"
    )


def _existing(folder: Path) -> Path:
    return folder if folder.exists() else _existing(folder.parent)
