"""Reads the bytes of a trace file as plain data, and refuses what is too large before it is built."""

import gzip
import io
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from dsbd.errors import TraceError

GZIP_MAGIC = b"\x1f\x8b"
MIB = 1024 * 1024


@dataclass(frozen=True)
class ReadLimits:
    """The most that a reader accepts.

    The defaults leave room for the largest trace that a decode is expected to write: 512 iterations with draft_depth 8,
    draft_width 32 and cover_width 32 have 262,144 forest nodes, 4 million values and 90 MiB of JSON.
    """

    packed_bytes: int = 256 * MIB
    """Bytes of the file as it is stored."""
    unpacked_bytes: int = 256 * MIB
    """Bytes of the JSON text, after gzip."""
    values: int = 12_000_000
    """Values in the whole file: numbers, texts, lists and objects; a comma in a text counts as one."""
    fields: int = 64
    """Fields of one object."""
    magnitude: float = 1e300
    """Largest absolute value of a number, so that sums of recorded numbers stay finite."""
    text: int = 4_000_000
    """Characters of one text, such as the prompt."""
    short_text: int = 4_096
    """Characters of one token, model name or reason."""
    prompt_tokens: int = 1_000_000
    """Tokens of the prompt."""
    nodes: int = 400_000
    """Nodes of all iterations."""
    iterations: int = 32_768
    """Iterations; the largest ``max_new_tokens``, because each iteration adds at least one token."""
    hypotheses: int = 20_000
    """Beams of the result."""
    iteration_layers: int = 33
    """Layers of an iteration: the largest ``draft_depth`` and the bonus layer."""
    layer_nodes: int = 576
    """Nodes of a layer: the largest ``draft_width``, ``cover_width`` and ``max_width`` together."""
    layer_trials: int = 256
    """Trials of a layer: the largest ``draft_width``."""
    layer_draws: int = 64
    """Draws, and beams, of a layer: the largest ``max_width``."""
    slots: int = 4_000_000
    """Cache slots that an iteration names."""


FILE_LIMITS = ReadLimits()
"""For files that the user names: the command line and the functions of ``visualize``."""
PAGE_LIMITS = ReadLimits(
    packed_bytes=8 * MIB,
    unpacked_bytes=32 * MIB,
    values=1_500_000,
    text=1_000_000,
    prompt_tokens=32_768,
    nodes=50_000,
    iterations=2_048,
    hypotheses=5_000,
    slots=100_000,
)
"""For files that visitors send to a page."""


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
