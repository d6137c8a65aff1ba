"""Makes the kind of row that a model needs; has the forest rows whose forwards an engine replays."""

import weakref

import torch

from dsbd.models.engines.graph import GraphRunner
from dsbd.models.engines.onnx import OnnxForward
from dsbd.models.engines.traced import TracedForward
from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.paths import PathRows
from dsbd.models.rows.row import Row
from dsbd.models.rows.states import StateRows
from dsbd.stopping import Check, never_stop

FORWARDS: dict[str, type[TracedForward] | type[OnnxForward]] = {
    "traced": TracedForward,
    "fused": TracedForward,
    "onnx": OnnxForward,
}


def new_row(model: LanguageModel, slots: int = 0, check: Check = never_stop) -> Row:
    """Make the kind of row that ``model.attention`` and ``model.engine`` name, at first with room for ``slots``.

    ``check`` is called before each forward, and may raise.
    """
    if model.attention in ("states", "steps"):
        return StateRows(model, check)
    if model.attention != "forest":
        return PathRows(model, check)
    if model.engine == "graph" and model.runner(GraphRunner).take():
        return GraphRow(model, slots, check)
    if model.engine in FORWARDS:
        return (OnnxRow if model.engine == "onnx" else EngineRow)(model, slots, check)
    return ForestRow(model, slots, check)


class EngineRow(ForestRow):
    """A forest row whose forwards an engine runs on the row's own buffers."""

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        self.cache.reserve(self._settled + self._sight.shape[1])
        forward = self.model.runner(FORWARDS[self.model.engine])
        return forward.run(tokens, positions, masks, self.cache)


class OnnxRow(EngineRow):
    """A forest row whose prompt is read by ONNX Runtime too: then torch has nothing left to do in several threads."""

    def _store(self, tokens: torch.Tensor, positions: torch.Tensor) -> None:
        ((kind, window),) = self.model.windows.items()
        ahead = positions[:, None] - torch.arange(self.cache.length + tokens.numel())
        unseen = (ahead < 0) if window is None else (ahead < 0) | (ahead >= window)
        mask = torch.where(unseen, self._unseen_value, self._seen_value)
        self.model.runner(OnnxForward).run(tokens, positions, {kind: mask[None, None]}, self.cache, logits=False)


class GraphRow(ForestRow):
    """A forest row on a runner's buffers; from the first forward without a bucket on, it runs eagerly."""

    def __init__(self, model: LanguageModel, slots: int = 0, check: Check = never_stop) -> None:
        """Make an empty row for about ``slots``. The model's runner is taken already; it is released with the row."""
        super().__init__(model, check=check)
        self._runner = model.runner(GraphRunner)
        weakref.finalize(self, self._runner.release)
        self._runner.reserve(slots)
        self.cache.adopt(self._runner.buffers)

    @property
    def peak_bytes(self) -> int:
        return max(self._runner.capacity * self.cache.slot_bytes, self.cache.peak_bytes)

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        slots = self._settled + self._sight.shape[1]
        outgrown = self.cache.buffers is not self._runner.buffers
        if not outgrown:
            self._runner.reserve(slots, self.cache.length)
            self.cache.adopt(self._runner.buffers)
        if outgrown or not self._runner.fits(tokens.numel(), slots):
            if not outgrown:
                self.cache.reserve(self._runner.capacity + 1)
            return super()._logits(tokens, positions, masks)
        logits = self._runner.run(tokens, positions, masks, self.cache.length)
        self.cache.extend(tokens.numel())
        return logits
