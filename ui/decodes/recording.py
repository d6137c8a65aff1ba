"""What a visitor looks at: a trace that grows while a decode runs, or a whole one."""

import uuid
from dataclasses import replace

from dsbd.tracing.records import Iteration, Result
from dsbd.tracing.trace import Trace, canonical_digest
from visualize import SceneBuilder
from visualize.scenes.records import Scene


class Recording:
    """A trace and its scene, kept in step.

    Args:
        trace: whole, or the beginning of one that :meth:`add` and :meth:`finish` go on with.
    """

    def __init__(self, trace: Trace) -> None:
        models = [model.id for model in (trace.models.target, trace.models.draft) if model is not None]
        self.decode = uuid.uuid4().hex
        """Names this decode, however far it has grown."""
        self._start = trace
        self._iterations: list[Iteration] = []
        self._builder = SceneBuilder(trace.prompt, trace.settings, title=trace.settings.method, models=models)
        self.finished: list[tuple[int, float]] = []
        """Node and log-weight of every beam that ended so far."""
        for iteration in trace.iterations:
            self.add(iteration)

    def __len__(self) -> int:
        return len(self._iterations)

    @property
    def result(self) -> Result | None:
        """None while the decode runs, and after it where it was stopped."""
        return self._start.result

    @property
    def prompt(self) -> str:
        """As typed."""
        return self._start.prompt.text

    @property
    def trace(self) -> Trace:
        """All there is, with its digest; without a result where the decode was stopped."""
        if len(self._start.iterations) == len(self._iterations):
            return self._start
        grown = replace(self._start, iterations=list(self._iterations), digest="")
        return replace(grown, digest=canonical_digest(grown))

    @property
    def target(self) -> str:
        """The name of the target model."""
        return self._start.models.target.id

    @property
    def length_penalty(self) -> float:
        """How hypotheses of different lengths are ranked."""
        return self._start.settings.length_penalty

    def add(self, iteration: Iteration) -> None:
        """Take in the next iteration. Raises: TraceError where it does not fit."""
        self._builder.add(iteration)
        self._iterations.append(iteration)
        for layer in iteration.layers:
            self.finished += [(beam.node, beam.log_weight) for beam in layer.beams if beam.node in layer.finished]

    def finish(self, trace: Trace) -> None:
        """Take in what is still missing of the whole trace."""
        for iteration in trace.iterations[len(self._iterations) :]:
            self.add(iteration)
        self._start = trace

    def scene(self, last: int | None = None) -> Scene:
        """The scene; ``last`` = only the newest iterations (the text is whole all the same)."""
        scene = self._builder.scene(self.result, last=last)
        is_whole = last is None and self.result is not None and len(self._start.iterations) == len(self)
        return replace(scene, trace=self._start) if is_whole else scene
