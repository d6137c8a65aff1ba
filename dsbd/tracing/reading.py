"""Reads the bytes of a trace file as plain data, and refuses what is too large before it is built."""

import gzip
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from dsbd.errors import TraceError
from dsbd.tracing.limits import MIB, ReadLimits

GZIP_MAGIC = b"\x1f\x8b"


def read_file(path: str | Path, limits: ReadLimits) -> bytes:
    """Return the content of a file. Raises: TraceError: it cannot be read, or is too large."""
    try:
        with open(path, "rb") as file:
            return _read(file, limits.packed_bytes, "the file")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TraceError(f"cannot read trace {str(path)[:200]!r}: {reason}; name a trace file") from None


def parse(content: bytes, limits: ReadLimits) -> Any:
    """Return plain data from JSON or gzip. Raises: TraceError: it is neither, or larger than ``limits``."""
    try:
        if content[:2] == GZIP_MAGIC:
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
                content = _read(stream, limits.unpacked_bytes, "the unpacked trace")
        elif len(content) > limits.unpacked_bytes:
            too_large("the trace", len(content), limits.unpacked_bytes, "bytes")
        if sum(content.count(mark) for mark in (b",", b"[", b"{")) >= limits.values:
            too_large("the trace", None, limits.values, "values")
        return json.loads(
            content.decode("utf-8"),
            parse_int=_number(int, limits),
            parse_float=_number(float, limits),
            parse_constant=_number(float, limits),
            object_pairs_hook=lambda pairs: _object(pairs, limits),
        )
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise TraceError(f"damaged trace: not readable as JSON or gzip ({error}); record it again") from None


def too_large(what: str, found: int | None, limit: int, unit: str) -> NoReturn:
    """Raise a TraceError that names the limit and the remedy. ``found`` is None if counting stopped early."""
    size = f"more than {limit:,}" if found is None else f"{found:,}"
    raise TraceError(f"{what} has {size} {unit}; at most {limit:,} are read; record a smaller trace")


def _read(stream: BinaryIO | gzip.GzipFile, limit: int, what: str) -> bytes:
    parts, size = list[bytes](), 0
    while part := stream.read(MIB):
        parts.append(part)
        size += len(part)
        if size > limit:
            too_large(what, None, limit, "bytes")
    return b"".join(parts)


def _number(kind: type[int] | type[float], limits: ReadLimits) -> Callable[[str], float]:
    """Return what reads a number, and refuses one that no trace has."""

    def read(text: str) -> float:
        value = kind(text)
        if not abs(value) <= limits.magnitude:
            raise TraceError(
                f"damaged trace: number {text[:60]} is no number of JSON, or larger than {limits.magnitude:g}; "
                "record it again"
            )
        return value

    return read


def _object(pairs: list[tuple[str, Any]], limits: ReadLimits) -> dict[str, Any]:
    if len(pairs) > limits.fields:
        too_large("an object of the trace", len(pairs), limits.fields, "fields")
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise TraceError(f"damaged trace: field {twice[:60]!r} stands twice in one object; record it again")
    return found
