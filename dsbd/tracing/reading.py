"""Reads the bytes of a trace file as plain data, and refuses what is too large before it is built.

The order matters. A file is unpacked up to its limit. Then the text is scanned for nesting, values and long texts, with
a few arrays of fixed size. Only then does the JSON parser build objects.
"""

import gzip
import io
import json
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np

from dsbd.errors import TraceError
from dsbd.tracing.limits import ReadLimits

GZIP_MAGIC = b"\x1f\x8b"
CHUNK = 1024 * 1024
"""Bytes read, unpacked or scanned at a time."""


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
        _scan(content, limits)
        return _Parser(limits).parse(content.decode("utf-8"))
    except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise TraceError(f"damaged trace: not readable as JSON or gzip ({error}); record it again") from None


def too_large(what: str, found: int | None, limit: int, unit: str) -> NoReturn:
    """Raise a TraceError that names the limit and the remedy. ``found`` is None if counting stopped early."""
    size = f"more than {limit:,}" if found is None else f"{found:,}"
    raise TraceError(f"{what} has {size} {unit}; at most {limit:,} are read; record a smaller trace")


def _read(stream: BinaryIO | gzip.GzipFile, limit: int, what: str) -> bytes:
    parts, size = list[bytes](), 0
    while part := stream.read(CHUNK):
        parts.append(part)
        size += len(part)
        if size > limit:
            too_large(what, None, limit, "bytes")
    return b"".join(parts)


_COMMA, _QUOTE = ord(","), ord('"')
_CURLY = 0x20
"""The bit in which ``{`` and ``}`` differ from ``[`` and ``]``."""


def _scan(content: bytes, limits: ReadLimits) -> None:
    """Check nesting, the number of values and the length of each text. Raises: TraceError."""
    # escaped quotes end no text; what replaces an escape has its length
    plain = content.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in content else content
    depth, values, text = 0, 1, 0
    is_text = False
    for part in _chunks(plain):
        quotes = part == _QUOTE
        inside = np.logical_xor.accumulate(quotes) ^ is_text
        outside = ~inside
        brackets = part | _CURLY
        opens, closes = outside & (brackets == ord("{")), outside & (brackets == ord("}"))
        depths = depth + np.cumsum(opens.astype(np.int8) - closes.astype(np.int8), dtype=np.int32)
        values += int(opens.sum()) + int((outside & (part == _COMMA)).sum())
        longest, text = _longest_text(inside, text)
        is_text, depth = bool(inside[-1]), int(depths[-1])
        if depths.max() > limits.depth:
            too_large("the trace", None, limits.depth, "lists and objects inside each other")
        if values > limits.values:
            too_large("the trace", None, limits.values, "values")
        if longest > limits.text + 1:
            too_large("a text of the trace", None, limits.text, "bytes")


def _chunks(content: bytes) -> Iterator[np.ndarray]:
    view = memoryview(content)
    for start in range(0, len(content), CHUNK):
        yield np.frombuffer(view[start : start + CHUNK], dtype=np.uint8)


def _longest_text(inside: np.ndarray, before: int) -> tuple[int, int]:
    """Return the bytes of the longest run inside a text, with its opening quote, and of the run still open at the end.

    ``before`` is the length of the run that was open at the end of the chunk before.
    """
    ends = np.flatnonzero(~inside)
    if not ends.size:
        return before + inside.size, before + inside.size
    longest = max(before + int(ends[0]), int(np.diff(ends).max(initial=1)) - 1)
    still_open = inside.size - 1 - int(ends[-1])
    return max(longest, still_open), still_open


class _Parser:
    """Reads JSON; refuses repeated fields, and numbers that no trace has."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits

    def parse(self, text: str) -> Any:
        return json.loads(
            text,
            parse_int=self._integer,
            parse_float=self._float,
            parse_constant=self._constant,
            object_pairs_hook=self._object,
        )

    def _integer(self, text: str) -> int:
        self._number_fits(text)
        return self._bounded(int(text), text)

    def _float(self, text: str) -> float:
        self._number_fits(text)
        return self._bounded(float(text), text)

    def _constant(self, text: str) -> NoReturn:
        raise TraceError(f"damaged trace: {text} is no number of JSON; record it again")

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(pairs) > self.limits.fields:
            too_large("an object of the trace", len(pairs), self.limits.fields, "fields")
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise TraceError(f"damaged trace: field {twice[:60]!r} stands twice in one object; record it again")
        return found

    def _number_fits(self, text: str) -> None:
        if len(text) > self.limits.digits:
            too_large(f"number {text[:20]}...", len(text), self.limits.digits, "characters")

    def _bounded(self, value: Any, text: str) -> Any:
        if not abs(value) <= self.limits.magnitude or not math.isfinite(value):
            raise TraceError(
                f"damaged trace: number {text[:60]} is too large; at most {self.limits.magnitude:g} is read; "
                "record it again"
            )
        return value
