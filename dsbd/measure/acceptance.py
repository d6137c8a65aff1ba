"""How probable it was that the layers of a decode pass, gathered off the clock."""

from typing import Any

from dsbd.tracing.observer import IterationEnd, Observer, RunStart
from dsbd.width import Width


class LayerWatch(Observer):
    """Gathers, over the draft layers of some decodes, how probable it was that a layer passes."""

    def __init__(self) -> None:
        self._min_width = 1
        self._at_least_min: list[float] = []
        self._at_least_width: list[float] = []

    def on_start(self, start: RunStart) -> None:
        self._min_width = int(start.settings.min_width)

    def on_iteration(self, iteration: IterationEnd) -> None:
        for layer in iteration.layers:
            if layer.width is not None:
                self._at_least_min.append(_chance(layer.width, self._min_width))
                self._at_least_width.append(_chance(layer.width, layer.width.width))

    def summary(self) -> dict[str, Any]:
        """``beta``: mean probability that ``min_width`` beams of a layer are accepted (in a likely forest: land);
        ``pass``: that the layer's chosen width is reached. None where no draft layer was seen."""
        count = len(self._at_least_min)
        if not count:
            return {"layers": 0, "beta": None, "pass": None}
        return {
            "layers": count,
            "beta": sum(self._at_least_min) / count,
            "pass": sum(self._at_least_width) / count,
        }


def _chance(width: Width, count: int) -> float:
    """That a layer reaches ``count`` beams without being cut short."""
    return sum(width.distribution[count:]) if width.forest_mass is None else float(width.forest_mass**count)
