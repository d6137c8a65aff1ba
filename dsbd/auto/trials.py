"""Counts what a trial decode comes to."""

from dsbd.auto.plan import Outcome
from dsbd.observer import IterationEnd, Observer
from dsbd.session import fared


class Tally(Observer):
    """Seconds of the iterations, and how their draft layers fared."""

    def __init__(self) -> None:
        self._seconds: list[tuple[int, float]] = []
        self._layers = self._passed = self._stopped = self._beams = 0

    def on_iteration(self, iteration: IterationEnd) -> None:
        self._seconds.append((len(iteration.scored.forest.layers), sum(iteration.seconds.values())))
        passed, stopped = fared(iteration.layers)
        self._layers += len(iteration.layers)
        self._passed += passed
        self._stopped += stopped
        self._beams += sum(beam.multiplicity for layer in iteration.layers for beam in layer.beams)

    def outcome(self) -> Outcome:
        """What was counted."""
        return Outcome(self._seconds, self._layers, self._passed, self._stopped, self._beams)
