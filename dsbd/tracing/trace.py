"""The trace ``dsbd-trace/1``: everything one decode decided, as plain data.

A trace is evidence: every verdict, width and draw can be decided again from what it holds
(``dsbd.tracing.audit``), and the digest catches every other change. This module needs no torch and
no model; the drawings read nothing but a :class:`Trace`.
"""

import gzip
import hashlib
import io
import json
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from dsbd.errors import SettingsError, TraceError
from dsbd.settings import DecodingSettings, ResolvedSettings
from dsbd.tracing.records import ROOT, STRICT, Iteration, Models, Node, Prompt, Result

FORMAT: Literal["dsbd-trace/1"] = "dsbd-trace/1"
MAX_FILE_BYTES = 256 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, config=STRICT)
class Trace:
    """One decode, complete. ``Trace.load`` and ``trace.save`` read and write it, ``.gz`` compressed."""

    format: Literal["dsbd-trace/1"]
    software: dict[str, str]
    models: Models
    settings: ResolvedSettings
    seed: int
    prompt: Prompt
    iterations: list[Iteration]
    result: Result | None
    """None where the run was stopped before its end."""
    digest: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON-ready plain data."""
        plain: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return plain

    @staticmethod
    def from_dict(data: Any) -> "Trace":
        """Check plain data and build the trace.

        Raises:
            TraceError: it is not a ``dsbd-trace/1``, a field is missing, unknown or out of place, or
                a node refers to one that does not exist.
        """
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        if found != FORMAT:
            raise TraceError(
                f"not a trace: format is {str(found)[:60]!r}, expected {FORMAT!r}; record one with --trace"
            )
        try:
            trace: Trace = _adapter().validate_python(_with_max_width(data))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise TraceError(f"damaged trace: {place}: {first['msg']} (got {str(first['input'])[:60]!r})") from None
        _check_consistency(trace)
        return trace

    @staticmethod
    def loads(content: bytes) -> "Trace":
        """Parse a trace file's content, plain JSON or gzip. Raises: TraceError."""
        try:
            if content[:2] == _GZIP_MAGIC:
                content = _gunzip(content)
            data = json.loads(content.decode("utf-8"))
        except (OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
            raise TraceError(f"damaged trace: not readable as JSON or gzip ({error}); record it again") from None
        return Trace.from_dict(data)

    @staticmethod
    def load(path: str | Path) -> "Trace":
        """Read a trace file (``.json`` or gzip). Raises: TraceError."""
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise TraceError(f"cannot read trace {str(path)!r}: {error.strerror or error}") from None
        return Trace.loads(content)

    def dumps(self) -> bytes:
        """The trace as one line of UTF-8 JSON."""
        text = json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        try:
            return text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can write
            return json.dumps(json.loads(text), separators=(",", ":"), allow_nan=False).encode()

    def save(self, path: str | Path) -> None:
        """Write the trace; a path ending in ``.gz`` is compressed. Raises: TraceError."""
        content = self.dumps()
        if str(path).endswith(".gz"):
            content = gzip.compress(content, mtime=0)
        try:
            Path(path).write_bytes(content)
        except OSError as error:
            raise TraceError(f"cannot write trace {str(path)!r}: {error.strerror or error}") from None

    def node_index(self) -> dict[int, Node]:
        """All nodes by id."""
        return {node.id: node for iteration in self.iterations for node in iteration.nodes}


def canonical_digest(trace: Trace) -> str:
    """SHA-256 over the sorted, compact, ASCII JSON of everything but the digest itself.

    A field that the format gained later counts where it says something, so that older traces keep their digests.
    """
    plain = trace.to_dict()
    plain.pop("digest", None)
    _drop_silent(plain["settings"], {"forest": "sampled", "depth_costs": None, "continuation": 0.7})
    for iteration in plain["iterations"]:
        for layer in iteration["layers"]:
            _drop_silent(layer, {"forest_mass": None})
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _drop_silent(record: dict[str, Any], later: dict[str, Any]) -> None:
    for name, silent in later.items():
        if record[name] == silent:
            del record[name]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the format; ``schema.json`` beside this file is its committed copy."""
    return _adapter().json_schema()


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Trace]:
    return TypeAdapter(Trace)


def _gunzip(content: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        plain = stream.read(MAX_FILE_BYTES + 1)
    if len(plain) > MAX_FILE_BYTES:
        raise ValueError(f"larger than {MAX_FILE_BYTES} bytes when unpacked")
    return plain


def _with_max_width(data: dict[str, Any]) -> dict[str, Any]:
    """A file may leave ``max_width`` to its default; a loaded trace has it filled in."""
    given = data.get("settings")
    if not isinstance(given, dict) or given.get("max_width") is not None:
        return data
    try:
        settings = DecodingSettings.from_dict(given)
    except (SettingsError, TypeError):  # what is wrong with them is the validation's to say
        return data
    return data | {"settings": given | {"max_width": settings.widest}}


def _check_consistency(trace: Trace) -> None:
    """Every id that is named exists, parents come before their children, and counts fit their lists."""
    known = {ROOT}
    for iteration in trace.iterations:
        where = f"iteration {iteration.index}"
        _require(known, (beam.node for beam in iteration.input_beams), where)
        for node in iteration.nodes:
            if node.id in known:
                raise TraceError(f"damaged trace: {where}: node {node.id} is listed twice")
            _require(known, (node.parent,), where)
            known.add(node.id)
        for layer in iteration.layers:
            if layer.draws_planned != len(layer.acceptance_chain):
                raise TraceError(
                    f"damaged trace: {where}, layer {layer.layer}: draws_planned is {layer.draws_planned}, "
                    f"but acceptance_chain has {len(layer.acceptance_chain)} entries"
                )
            _require(known, layer.alive, where)
            _require(known, (beam.node for beam in layer.beams), where)
        _require(known, (trial.node for trial in iteration.trials), where)
        _require(known, (draw.node for draw in iteration.draws), where)
        _require(known, (beam.node for beam in iteration.output_beams), where)
    if trace.result is not None:
        _require(known, (beam.node for beam in trace.result.beams), "result")


def _require(known: set[int], named: Any, where: str) -> None:
    for node in named:
        if node not in known:
            raise TraceError(f"damaged trace: {where} refers to node {node}, which does not exist")
