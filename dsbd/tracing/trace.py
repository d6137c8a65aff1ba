"""The trace ``dsbd-trace/1``: everything one decode decided, as plain data.

A trace is evidence: every verdict, width and draw can be decided again from what it holds
(``dsbd.tracing.audit``), and the digest catches every other change. This module needs no torch and
no model; the drawings read nothing but a :class:`Trace`.
"""

import gzip
import hashlib
import json
import reprlib
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from dsbd.errors import SettingsError, TraceError
from dsbd.files import write_file
from dsbd.results import brief
from dsbd.settings import LATER_FIELDS, DecodingSettings, ResolvedSettings
from dsbd.tracing.consistency import check_consistency, check_sizes
from dsbd.tracing.limits import FILE_LIMITS, ReadLimits
from dsbd.tracing.reading import parse, read_file
from dsbd.tracing.records import STRICT, Iteration, Listed, Models, Node, Prompt, Result

FORMAT: Literal["dsbd-trace/1"] = "dsbd-trace/1"


@dataclass(frozen=True, config=STRICT)
class Trace:
    """One decode, complete. ``Trace.load`` and ``trace.save`` read and write it, ``.gz`` compressed."""

    __repr__ = brief

    format: Literal["dsbd-trace/1"]
    software: dict[str, str]
    models: Models
    settings: ResolvedSettings
    seed: int
    prompt: Prompt
    iterations: Listed[Iteration]
    result: Result | None
    """None where the run was stopped before its end."""
    digest: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON-ready plain data."""
        plain: dict[str, Any] = _adapter().dump_python(self, mode="json")
        _drop_silent(plain, LATER_DEFAULTS)
        return plain

    @staticmethod
    def from_dict(data: Any, limits: ReadLimits = FILE_LIMITS) -> "Trace":
        """Check plain data and build the trace.

        Args:
            data: what :meth:`to_dict` gives.
            limits: the most that is accepted.

        Raises:
            TraceError: it is not a ``dsbd-trace/1``, a field is missing, unknown or out of place, a node refers to
                one that does not exist, or a list is longer than ``limits``.
        """
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        if found != FORMAT:
            raise TraceError(
                f"not a trace: format is {reprlib.repr(found)[:60]}, expected {FORMAT!r}; record one with --trace"
            )
        try:
            trace: Trace = _adapter().validate_python(_with_max_width(data))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part)[:60] for part in first["loc"])
            got = reprlib.repr(first["input"])[:60]
            raise TraceError(f"damaged trace: {place}: {first['msg'][:200]} (got {got})") from None
        check_sizes(trace, limits)
        check_consistency(trace)
        return trace

    @staticmethod
    def loads(content: bytes, limits: ReadLimits = FILE_LIMITS) -> "Trace":
        """Read a trace file's content, plain JSON or gzip. Raises: TraceError."""
        return Trace.from_dict(parse(content, limits), limits)

    @staticmethod
    def load(path: str | Path, limits: ReadLimits = FILE_LIMITS) -> "Trace":
        """Read a trace file (``.json`` or gzip). Raises: TraceError."""
        return Trace.loads(read_file(path, limits), limits)

    def dumps(self) -> bytes:
        """The trace as one line of UTF-8 JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    def save(self, path: str | Path) -> None:
        """Write the trace; a path ending in ``.gz`` is compressed. Raises: TraceError."""
        content = self.dumps()
        if str(path).endswith(".gz"):
            content = gzip.compress(content, mtime=0)
        try:
            write_file(path, content)
        except OSError as error:
            raise TraceError(f"cannot write trace {str(path)!r}: {error.strerror or error}") from None

    def node_index(self) -> dict[int, Node]:
        """All nodes by id."""
        return {node.id: node for iteration in self.iterations for node in iteration.nodes}


DIGEST_DEFAULTS: dict[str, dict[str, Any]] = {
    "settings": {"forest": "sampled", "depth_costs": None, "continuation": 0.7},
    "layer": {"forest_mass": None},
}
"""Fields that the format gained after its first traces, with the value that says nothing new.

Frozen: a digest leaves a field out where it has this value, so that traces recorded before the field existed keep
their digests. The values stay as they are even where a default of :mod:`dsbd.settings` changes.
"""
LATER_DEFAULTS: dict[str, dict[str, Any]] = {
    "settings": LATER_FIELDS,
    "iteration": {"beginnings": []},
    "layer": {"width_uniform": None},
    "trial": {"joint": None},
}
"""The same for fields that came after version 0.2. Where they say nothing new the file leaves them out as well, so that
the trace of a decode that does not need them stays as it was, byte for byte. A field that is added gets its line here.
"""


def canonical_digest(trace: Trace) -> str:
    """SHA-256 over the sorted, compact, ASCII JSON of everything but the digest itself (see DIGEST_DEFAULTS)."""
    plain = trace.to_dict()
    plain.pop("digest", None)
    _drop_silent(plain, DIGEST_DEFAULTS)
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


def _drop_silent(plain: dict[str, Any], defaults: dict[str, dict[str, Any]]) -> None:
    """Take the fields out of a whole trace that have the value which says nothing new."""
    iterations = plain["iterations"]
    records = {
        "settings": [plain["settings"]],
        "iteration": iterations,
        "layer": [layer for iteration in iterations for layer in iteration["layers"]],
        "trial": [trial for iteration in iterations for trial in iteration["trials"]],
    }
    for kind, fields in defaults.items():
        for record in records[kind]:
            for name, silent in fields.items():
                if record[name] == silent:
                    del record[name]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of the format; ``schema.json`` beside this file is its committed copy."""
    return _adapter().json_schema()


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Trace]:
    return TypeAdapter(Trace)


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
