"""How probable it was that the layers of a decode pass, gathered off the clock."""

from typing import Any

from dsbd.tracing.observer import IterationEnd, Observer, RunStart


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
                distribution = layer.width.distribution
                self._at_least_min.append(sum(distribution[self._min_width :]))
                self._at_least_width.append(sum(distribution[layer.width.width :]))

    def summary(self) -> dict[str, Any]:
        """``beta``: mean probability that at least ``min_width`` drafts of a layer are accepted; ``pass``: that the
        layer's chosen width is reached. None where no draft layer was seen."""
        count = len(self._at_least_min)
        if not count:
            return {"layers": 0, "beta": None, "pass": None}
        return {
            "layers": count,
            "beta": sum(self._at_least_min) / count,
            "pass": sum(self._at_least_width) / count,
        }
