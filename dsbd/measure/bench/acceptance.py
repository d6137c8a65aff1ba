"""Watches decodes: how probable it was that draft layers pass, and how many tokens the target forwards had."""

from statistics import fmean

from dsbd.law.width import Width
from dsbd.measure.bench.records import Acceptance
from dsbd.observer import IterationEnd, Observer, RunStart


class AcceptanceWatch(Observer):
    """Collects, over the draft layers of some decodes, how probable it was that each layer passes."""

    def __init__(self) -> None:
        self._min_width = 1
        self._at_least_min: list[float] = []
        self._at_least_width: list[float] = []
        self._forward_tokens: list[int] = []

    def on_start(self, start: RunStart) -> None:
        """Note the smallest width of this decode."""
        self._min_width = int(start.settings.min_width)

    def on_iteration(self, iteration: IterationEnd) -> None:
        """Note the draft layers of one iteration, and the size of its forward."""
        self._forward_tokens.append(len(iteration.input_beams) + len(iteration.scored.slots))
        for layer in iteration.layers:
            if layer.width is not None and not layer.is_bonus:
                self._at_least_min.append(_probability(layer.width, self._min_width))
                self._at_least_width.append(_probability(layer.width, layer.width.width))

    def summary(self) -> Acceptance:
        """Return the means over everything seen."""
        return Acceptance(
            layers=len(self._at_least_min),
            beta=fmean(self._at_least_min) if self._at_least_min else None,
            pass_probability=fmean(self._at_least_width) if self._at_least_width else None,
            forward_tokens=fmean(self._forward_tokens) if self._forward_tokens else None,
        )


def _probability(width: Width, count: int) -> float:
    """Return the probability that a layer has at least ``count`` accepted (or landed) beams."""
    return sum(width.numbers.distribution[count:]) if width.forest_mass is None else float(width.forest_mass**count)
