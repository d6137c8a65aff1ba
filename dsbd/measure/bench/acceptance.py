"""How probable it was that layers pass, and how many tokens the forwards had: gathered off the clock."""

from statistics import fmean
from typing import Any

from dsbd.law.width import Width
from dsbd.observer import IterationEnd, Observer, RunStart


class LayerWatch(Observer):
    """Gathers, over the draft layers of some decodes, how probable it was that a layer passes."""

    def __init__(self) -> None:
        self._min_width = 1
        self._at_least_min: list[float] = []
        self._at_least_width: list[float] = []
        self._forward_tokens: list[int] = []

    def on_start(self, start: RunStart) -> None:
        self._min_width = int(start.settings.min_width)

    def on_iteration(self, iteration: IterationEnd) -> None:
        self._forward_tokens.append(len(iteration.input_beams) + len(iteration.scored.slots))
        for layer in iteration.layers:
            if layer.width is not None:
                self._at_least_min.append(_chance(layer.width, self._min_width))
                self._at_least_width.append(_chance(layer.width, layer.width.width))

    def summary(self) -> dict[str, Any]:
        """What was seen, as plain data.

        Returns:
            ``beta``: mean probability that ``min_width`` beams of a layer are accepted (in a likely forest: land);
            ``pass``: that its chosen width is reached; both None where no draft layer was seen. ``forward_tokens``:
            mean tokens of a target forward, input beams and forest.
        """
        return {
            "layers": len(self._at_least_min),
            "beta": fmean(self._at_least_min) if self._at_least_min else None,
            "pass": fmean(self._at_least_width) if self._at_least_width else None,
            "forward_tokens": fmean(self._forward_tokens) if self._forward_tokens else None,
        }


def _chance(width: Width, count: int) -> float:
    """That a layer reaches ``count`` beams without being cut short."""
    return sum(width.distribution[count:]) if width.forest_mass is None else float(width.forest_mass**count)
