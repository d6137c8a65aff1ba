"""Trace files: the recorded ones that come along, and those that visitors bring or take away."""

import tempfile
from functools import lru_cache
from pathlib import Path

from dsbd.assets import asset_path
from dsbd.errors import TraceError
from dsbd.tracing.audit import verify_trace
from dsbd.tracing.limits import PAGE_LIMITS
from dsbd.tracing.trace import Trace

from .recording import Recording


def recorded_traces() -> list[tuple[str, str]]:
    """Title and file name of every recorded trace, the one to open with first."""
    files = sorted(asset_path("traces").glob("*.json.gz"))
    names = [file.name.removesuffix(".json.gz") for file in files]
    return [(name.replace("-", " ").replace("_", " ").capitalize(), name) for name in names]


@lru_cache(maxsize=16)
def open_recorded(name: str) -> Recording:
    """A recorded trace. It is shared by all visitors and never changes. Raises: TraceError."""
    if name not in {known for _, known in recorded_traces()}:
        raise TraceError(f"no recorded trace is called {name[:60]!r}; choose one of the list")
    return Recording(Trace.load(asset_path("traces") / f"{name}.json.gz"))


def opening_recording() -> Recording | None:
    """What the page opens with; None where no trace comes along."""
    known = recorded_traces()
    return open_recorded(known[0][1]) if known else None


def open_file(path: str | Path) -> Recording:
    """A trace file that a visitor brings. Raises: TraceError."""
    return Recording(Trace.load(path, PAGE_LIMITS))


def save(recording: Recording) -> str:
    """Write the trace to a file that can be handed out, and return its path."""
    trace = recording.trace
    name = f"dsbd-{trace.settings.method}-{trace.digest.removeprefix('sha256:')[:8]}.json.gz"
    path = Path(tempfile.mkdtemp(prefix="dsbd-")) / name
    trace.save(path)
    return str(path)


def verdict(recording: Recording) -> str:
    """What the audit finds, in a sentence."""
    report = verify_trace(recording.trace)
    if report.passed:
        return f"Verified: {report.checks:,} decisions and identities follow from the recorded numbers."
    return f"Not verified: {report.failure} ({report.checks:,} checks passed before it)."
