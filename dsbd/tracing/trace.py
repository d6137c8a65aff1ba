"""The trace ``dsbd-trace/2``: everything that one decode decided, as plain data.

A trace is evidence: ``dsbd.tracing.audit`` decides every verdict, width and draw again from it, and the digest catches
every other change. This module needs no torch and no model; the drawings read nothing but a :class:`Trace`.
"""

import gzip
import hashlib
import json
import reprlib
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from dsbd.errors import ArgumentError, TraceError, needs
from dsbd.results import ShortRepr
from dsbd.settings import ResolvedSettings
from dsbd.tracing.reading import check_consistency, parse, read_trace_file
from dsbd.tracing.records import IterationRecord, Listed, Models, NodeRecord, Prompt, Result, Text
from dsbd.util import check_output, write_file
from dsbd.verification.verified import STRICT

FORMAT: Literal["dsbd-trace/2"] = "dsbd-trace/2"


@dataclass(frozen=True, repr=False, config=STRICT)
class Trace(ShortRepr):
    """One decode, complete. ``Trace.load`` and ``trace.save`` read and write it, ``.gz`` compressed."""

    format: Literal["dsbd-trace/2"]
    software: dict[Text, Text]
    models: Models
    settings: ResolvedSettings
    seed: int
    prompt: Prompt
    iterations: Listed[IterationRecord]
    result: Result | None
    """None if the run was stopped before its end."""
    digest: Text = ""
    stop: Listed[Annotated[Text, Field(min_length=1)]] = Field(default_factory=list, exclude_if=lambda stop: not stop)
    """The texts that end the answer; left out if there are none."""
    guess: Listed[Listed[Annotated[int, Field(ge=0)]]] = Field(default_factory=list, exclude_if=lambda guess: not guess)
    """The ids of texts that were expected, which guesses were copied from; left out if there are none."""
    history: Annotated[int, Field(ge=0)] = Field(default=0, exclude_if=lambda history: not history)
    """The number of tokens of earlier answers that guesses were copied from, which a trace does not hold."""

    def to_dict(self) -> dict[str, Any]:
        """Return the trace as plain data that ``json.dumps`` takes."""
        return _adapter().dump_python(self, mode="json")

    @staticmethod
    def from_dict(data: Any) -> "Trace":
        """Check plain data and build the trace.

        Args:
            data: what :meth:`to_dict` gives.

        Raises:
            TraceError: it is not a ``dsbd-trace/2``, a field is missing, unknown or out of place, or a node refers
                to one that does not exist.
        """
        format = data.get("format") if isinstance(data, dict) else type(data).__name__
        if format != FORMAT:
            raise TraceError(
                f"not a trace: format is {reprlib.repr(format)[:60]}, expected {FORMAT!r}; record one with --trace"
            )
        try:
            trace: Trace = _adapter().validate_python(data)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(ascii(part).strip("'")[:60] for part in first["loc"])
            value = reprlib.repr(first["input"])[:60]
            message = f"damaged trace: {field}: {first['msg'][:200]} (got {value}); record it again"
            raise TraceError(message) from None
        check_consistency(trace.settings, trace.prompt, trace.iterations, trace.result)
        return trace

    @staticmethod
    def loads(content: bytes | str) -> "Trace":
        """Read a trace file's content, plain JSON or gzip. Raises: TraceError."""
        return Trace.from_dict(parse(content.encode(errors="surrogatepass") if isinstance(content, str) else content))

    @staticmethod
    def load(path: str | Path) -> "Trace":
        """Read a trace file (``.json`` or gzip). Raises: TraceError."""
        return Trace.loads(read_trace_file(path))

    def dumps(self) -> bytes:
        """Return the trace as one line of UTF-8 JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()

    def save(self, path: str | Path) -> None:
        """Write the trace; a path ending in ``.gz`` is compressed.

        Raises:
            ArgumentError: the path names another format.
            TraceError: it cannot be written.
        """
        check_output(path, "JSON")
        content = self.dumps()
        if str(path).endswith(".gz"):
            content = gzip.compress(content, mtime=0)
        try:
            write_file(path, content)
        except OSError as error:
            raise TraceError(f"cannot write trace {str(path)!r}: {error.strerror or error}") from None

    def to_pandas(self, table: Literal["nodes", "trials", "draws", "layers", "iterations"] = "nodes") -> Any:
        """Return a table of the trace as a ``pandas.DataFrame``, a row for each record; ``iteration`` counts from 0.

        Raises:
            ArgumentError: there is no such table.
            MissingError: pandas is not installed.
        """
        with needs("page"):
            import pandas as pd

        if table not in (known := ("nodes", "trials", "draws", "layers", "iterations")):
            raise ArgumentError(f"table is {table!r}; choose one of {', '.join(known)}")
        plain = [one.to_dict() for one in self.iterations]
        if table == "iterations":  # of each list its length
            rows = [{name: len(value) if isinstance(value, list) else value for name, value in one.items()}
                    for one in plain]  # fmt: skip
            return pd.json_normalize(rows).rename(columns={"index": "iteration"})
        return pd.DataFrame([{"iteration": one["index"], **row} for one in plain for row in one[table]])

    def _repr_html_(self) -> str:
        """Return the viewer, for a notebook. Drawings stand above the decoder: they are looked up, not imported."""
        return str(import_module("visualize").show(self)._repr_html_())

    def node_index(self) -> dict[int, NodeRecord]:
        """Return all nodes by id."""
        return {node.id: node for iteration in self.iterations for node in iteration.nodes}


def canonical_digest(trace: Trace) -> str:
    """Return the SHA-256 of the sorted, compact, ASCII JSON of everything but the digest itself.

    A setting that is None is left out: a trace keeps its digest when such a setting is added to the decoder.
    """
    plain = trace.to_dict()
    del plain["digest"]
    plain["settings"] = {name: value for name, value in plain["settings"].items() if value is not None}
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Trace]:
    return TypeAdapter(Trace)
