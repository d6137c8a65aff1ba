"""Turns a decode into a trace. Iterations are kept as they come, and become records when they are read."""

import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from dsbd.law.beams import Node as BeamNode
from dsbd.session import IterationEnd, Observer, RunStart
from dsbd.tracing.iteration_writer import IterationWriter
from dsbd.tracing.records import (
    ROOT,
    BeamRecord,
    Iteration,
    MemoryRecord,
    ModelRecord,
    Models,
    Piece,
    Prompt,
    Result,
    SegmentRecord,
)
from dsbd.tracing.trace import FORMAT, Trace, canonical_digest

if TYPE_CHECKING:
    from dsbd.models.language_model import LanguageModel
    from dsbd.results import DecodedBeam, PlainResult


class Recorder(Observer):
    """Collects iterations; ``trace()`` returns all of them, ``latest()`` the newest."""

    def on_start(self, start: RunStart) -> None:
        self._start = start
        self._raw: list[IterationEnd] = []
        self._written: list[Iteration] = []
        self._ids: dict[BeamNode, int] = {start.root: ROOT}
        self._finish: PlainResult | None = None

    def on_iteration(self, iteration: IterationEnd) -> None:
        self._raw.append(replace(iteration, seconds=dict(iteration.seconds)))

    def on_finish(self, result: "PlainResult") -> None:
        self._finish = result

    def latest(self) -> Iteration | None:
        """Return the newest iteration; None before the first."""
        iterations = self._iterations()
        return iterations[-1] if iterations else None

    def trace(self) -> Trace:
        """Return what is recorded so far; without a result if the decode was cancelled or stopped."""
        start, pair = self._start, self._start.pair
        models = [pair.target] if pair.draft is None else [pair.target, pair.draft]
        trace = Trace(
            format=FORMAT,
            software={**_software(), "engine": " + ".join(model.engine for model in models)},
            models=Models(model_record(pair.target), None if pair.draft is None else model_record(pair.draft)),
            settings=start.settings,
            seed=start.settings.seed,
            prompt=self.prompt(),
            iterations=self._iterations(),
            result=None if self._finish is None else self._result(self._finish),
        )
        return replace(trace, digest=canonical_digest(trace))

    def beam(self, node: BeamNode, beam: "DecodedBeam") -> BeamRecord:
        """Return the record of a hypothesis that ends at ``node``."""
        self._iterations()  # it gives new nodes their ids
        return BeamRecord(node=self._ids[node], **asdict(beam))

    def prompt(self) -> Prompt:
        """Return the prompt as the models saw it."""
        special = set(self._start.pair.tokenizer.all_special_ids)
        piece = self._start.pair.token_bytes.piece
        pieces = [Piece(token, *piece(token), token in special) for token in self._start.prompt_ids]
        return Prompt(self._start.prompt, pieces, self._memory())

    def _memory(self) -> MemoryRecord | None:
        memory, pair = self._start.memory, self._start.pair
        if memory is None or pair.memory is None:
            return None
        segments = [
            SegmentRecord(len(one.ids), pair.decode(one.ids), one.first_memory, list(one.weights))
            for one in memory.segments
        ]
        return MemoryRecord(pair.memory.name, segments, memory.sensory, memory.digest)

    def _iterations(self) -> list[Iteration]:
        for raw in self._raw[len(self._written) :]:
            self._written.append(IterationWriter(raw, self._start, self._ids).write())
        return self._written

    def _result(self, result: "PlainResult") -> Result:
        below = {(node.parent, node.token): node for node in self._ids}  # of equal ones the last, which was kept
        beams = [BeamRecord(node=self._end(beam.token_ids, below), **asdict(beam)) for beam in result.beams]
        stats = asdict(result.stats)
        for name, value in stats.items():  # JavaScript writes 4.0 as 4, and the digest must stay
            if isinstance(value, float) and value.is_integer():
                stats[name] = int(value)
        return Result(result.text, result.token_ids, beams, stats)

    def _end(self, token_ids: Sequence[int], below: dict[tuple[BeamNode | None, int], BeamNode]) -> int:
        """Return the id of the node that these tokens lead to."""
        node = self._start.root
        for token in token_ids:
            node = below[node, token]
        return self._ids[node]


def model_record(model: "LanguageModel") -> ModelRecord:
    """Return the record of a model."""
    dtype = str(model.dtype).removeprefix("torch.")
    name = model.id.encode(errors="replace").decode()  # the name of a folder may hold bytes that are no text
    return ModelRecord(name, model.revision, dtype, str(model.device), model.vocabulary_size, model.attention)


@lru_cache(maxsize=1)
def _software() -> dict[str, str]:
    names = {"python": platform.python_version()}
    for package in ("dsbd", "torch", "transformers"):
        try:
            names[package] = version(package)
        except PackageNotFoundError:
            names[package] = "source"
    return names
