"""What a visitor looks at: a trace that grows while a decode runs, or a whole one."""

import uuid
from dataclasses import replace
from typing import NamedTuple

from dsbd.tracing.records import BeamRecord, Iteration, Result
from dsbd.tracing.trace import Trace, canonical_digest
from visualize import SceneBuilder
from visualize.scenes.records import Scene


class Progress(NamedTuple):
    """What an iteration brought."""

    iteration: Iteration
    best: BeamRecord
    """The hypothesis that is best so far; in the last step the returned one."""
    settled: int
    """How many tokens of ``best`` every possible result begins with; in the last step all of them."""


class Recording:
    """A trace and its scene, kept in step. It is whole, or :meth:`add` and :meth:`finish` go on with it."""

    def __init__(self, trace: Trace) -> None:
        models = [model.id for model in (trace.models.target, trace.models.draft) if model is not None]
        self.decode = uuid.uuid4().hex
        """Names this decode, however far it has grown."""
        self.best: BeamRecord | None = None
        """The hypothesis that is best so far, or the returned one; None where nothing says it."""
        self.settled = 0
        """How many tokens of the best hypothesis every possible result begins with."""
        self._trace = trace
        self._iterations: list[Iteration] = []
        self._builder = SceneBuilder(trace.prompt, trace.settings, title=trace.settings.method, models=models)
        self.finish(trace)

    def __len__(self) -> int:
        return len(self._iterations)

    @property
    def result(self) -> Result | None:
        """None while the decode runs, and after it where it was stopped."""
        return self._trace.result

    @property
    def prompt(self) -> str:
        return self._trace.prompt.text

    @property
    def trace(self) -> Trace:
        """All there is, with its digest; without a result where the decode was stopped."""
        if len(self._trace.iterations) == len(self._iterations):
            return self._trace
        grown = replace(self._trace, iterations=list(self._iterations), digest="")
        return replace(grown, digest=canonical_digest(grown))

    @property
    def target(self) -> str:
        return self._trace.models.target.id

    def add(self, progress: Progress) -> None:
        """Take in the next iteration. Raises: TraceError where it does not fit."""
        self._add(progress.iteration)
        self.best, self.settled = progress.best, progress.settled

    def finish(self, trace: Trace) -> None:
        """Take in the whole trace; iterations that are here already are not read again."""
        for iteration in trace.iterations[len(self._iterations) :]:
            self._add(iteration)
        self._trace = trace
        if trace.result is not None and trace.result.beams:
            self.best = trace.result.beams[0]
            self.settled = len(self.best.token_ids)

    def scene(self, last: int | None = None) -> Scene:
        """Return the scene; with ``last``, only the newest iterations, but the whole text."""
        scene = self._builder.scene(self.result, last=last)
        is_whole = last is None and self.result is not None and len(self._trace.iterations) == len(self)
        return replace(scene, trace=self._trace) if is_whole else scene

    def _add(self, iteration: Iteration) -> None:
        self._builder.add(iteration)
        self._iterations.append(iteration)
