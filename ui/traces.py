"""Trace files: the recorded ones that come along, and those that visitors bring or take away."""

import tempfile
import zlib
from functools import lru_cache
from pathlib import Path

from dsbd.assets import asset_path
from dsbd.errors import TraceError
from dsbd.tracing.audit import verify_trace
from dsbd.tracing.trace import Trace

from .recording import Recording
from .serving import MAX_UPLOAD_BYTES

MAX_UNPACKED_BYTES = 48 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"


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
    file = Path(path)
    try:
        size = file.stat().st_size
        if size > MAX_UPLOAD_BYTES:
            raise TraceError(f"the file has {size:,} bytes; this page takes {MAX_UPLOAD_BYTES:,}")
        content = file.read_bytes()
    except OSError as error:
        raise TraceError(f"cannot read the file: {error.strerror or error}") from None
    return Recording(Trace.loads(_unpacked(content)))


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


def _unpacked(content: bytes) -> bytes:
    """Plain JSON. Unpacks no more than this page can hold: a small file can hide a huge one."""
    if content[:2] != _GZIP_MAGIC:
        return content
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        plain = unpacker.decompress(content, MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise TraceError(f"damaged trace: not readable as gzip ({error}); record it again") from None
    if unpacker.unconsumed_tail:
        raise TraceError(f"the trace has more than {MAX_UNPACKED_BYTES:,} bytes when unpacked; record a shorter one")
    if not unpacker.eof:
        raise TraceError("damaged trace: the file ends too early; record it again")
    return plain
