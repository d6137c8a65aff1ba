"""Makes the kind of row that a model needs; has the forest rows whose forwards an engine replays."""

import weakref

import torch

from dsbd.models.engines.graph import GraphRunner
from dsbd.models.engines.onnx import OnnxForward, OnnxOnBuffers
from dsbd.models.engines.traced import TracedForward
from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.paths import PathRows
from dsbd.models.rows.row import Row
from dsbd.models.rows.states import StateRows
from dsbd.stopping import Check, never_stop


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
    if model.engine == "onnx":
        return OnnxRow(model, slots, check)
    if model.engine in ("traced", "fused"):
        return TracedRow(model, slots, check)
    return ForestRow(model, slots, check)


class TracedRow(ForestRow):
    """A forest row whose forwards are traced, on the row's own buffers."""

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        self.cache.reserve(self._settled + self._sight.shape[1])
        return self.model.runner(TracedForward).run(tokens, positions, masks, self.cache)


class OnnxRow(ForestRow):
    """A forest row on ONNX Runtime. It reads the prompt too: then torch has nothing left to do in several threads."""

    _bound: OnnxOnBuffers | None = None

    def _store(self, tokens: torch.Tensor, positions: torch.Tensor) -> None:
        (window,) = self.model.windows.values()
        ahead = positions[:, None] - torch.arange(self.cache.length + tokens.numel())
        unseen = (ahead < 0) if window is None else (ahead < 0) | (ahead >= window)
        self._run(tokens, positions, torch.where(unseen, self._unseen_value, self._seen_value)[None, None], 1)

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        self.cache.reserve(self._settled + self._sight.shape[1])
        ((kind, mask),) = masks.items()
        if self.cache.length or tokens.numel() == 1:
            return self._run(tokens, positions, mask, tokens.numel())
        first = self._run(tokens[:1], positions[:1], mask[:, :, :1, :1], 1)  # it counts the first positions itself
        return torch.cat([first, self._logits(tokens[1:], positions[1:], {kind: mask[:, :, 1:]})])

    def _run(self, tokens: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor, asked: int) -> torch.Tensor:
        if self._bound is None or self._bound.buffers is not self.cache.buffers:
            self._bound = OnnxOnBuffers(self.model.runner(OnnxForward), self.cache)
        return self._bound.run(tokens, positions, mask, asked)


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
