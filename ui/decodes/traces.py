"""Trace files: the bundled recordings, and those that visitors upload or download."""

import tempfile
import time
from collections import deque
from functools import lru_cache
from pathlib import Path

from dsbd.assets import asset_path
from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace
from visualize import export_html

from ..host.limits import Limits
from ..traffic.uploads import read_trace
from .recording import Recording

KEPT_SECONDS = 60
"""A downloaded file is deleted after this time. Gradio copies it at once, and deletes its copy later."""
_handed_out: deque[tuple[float, tempfile.TemporaryDirectory[str]]] = deque()


def recorded_traces() -> list[tuple[str, str]]:
    """Return title and name of every bundled recording; the page opens with the first."""
    files = sorted(asset_path("traces").glob("*.json.gz"))
    names = [file.name.removesuffix(".json.gz") for file in files]
    return [(name.replace("-", " ").replace("_", " ").capitalize(), name) for name in names]


@lru_cache(maxsize=16)
def open_recorded(name: str) -> Recording:
    """Return a bundled recording; all visitors share it, and it never changes. Raises: TraceError."""
    if name not in {known for _, known in recorded_traces()}:
        raise TraceError(f"no recorded trace is called {name[:60]!r}; choose one of the list")
    return Recording(Trace.load(asset_path("traces") / f"{name}.json.gz"))


def recordings_of(target: str) -> list[tuple[str, str]]:
    """Return title and name of the recordings of this target model, if there are any."""
    return [(title, name) for title, name in recorded_traces() if open_recorded(name).target == target]


def recordings_for(target: str) -> list[tuple[str, str]]:
    """Return title and name of the recordings of this target model, or of all if it has none."""
    return recordings_of(target) or recorded_traces()


def opening_recording(target: str) -> Recording | None:
    """Return the recording to open with: the first of this target model, else the first of all, if there is any."""
    names = [name for _, name in recordings_for(target)]
    return open_recorded(names[0]) if names else None


def open_file(path: str | Path, limits: Limits) -> Recording:
    """Read a visitor's trace file. Raises: TraceError: it is no trace, damaged, too large, or too slow to read."""
    return Recording(read_trace(Path(path), limits))


def save(recording: Recording) -> str:
    """Write the trace to a file for download, and return its path. Raises: TraceError: a full disk, for example."""
    path = _path_for(recording, "json.gz")
    recording.trace.save(path)
    return str(path)


def save_page(recording: Recording, place: str) -> str:
    """Write a page with the viewer that needs no server and opens at ``place``, as ``iteration=4&step=6``; return its
    path. Raises: as :func:`save`."""
    path = _path_for(recording, "html")
    export_html(recording.trace, path, place=place)
    return str(path)


def _path_for(recording: Recording, ending: str) -> Path:
    """Return a path to write to. Raises: TraceError."""
    trace = recording.trace
    while _handed_out and _handed_out[0][0] < time.monotonic() - KEPT_SECONDS:
        _handed_out.popleft()[1].cleanup()
    try:
        folder = tempfile.TemporaryDirectory(prefix="dsbd-")
    except OSError as error:
        raise TraceError(f"cannot write a file: {error.strerror or error}; try again later") from None
    _handed_out.append((time.monotonic(), folder))
    return Path(folder.name) / f"dsbd-{trace.settings.method}-{trace.digest.removeprefix('sha256:')[:8]}.{ending}"
