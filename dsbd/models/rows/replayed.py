"""Forest rows whose forwards an engine replays: a trace on a CPU, captured forwards on a GPU."""

import weakref

import torch

from dsbd.models.engines.graph import GraphRunner
from dsbd.models.engines.traced import traced_forward_of
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.forest import ForestRow
from dsbd.stopping import Check, never_stop


class TracedRow(ForestRow):
    """A forest row that feeds its forests through a traced forward, the model's own or a fused one."""

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: dict[str, torch.Tensor]) -> torch.Tensor:
        self.cache.reserve(self._settled + self._sight.shape[1])
        return traced_forward_of(self.model).run(tokens, positions, masks, self.cache)


class GraphRow(ForestRow):
    """A forest row on a runner's buffers; after the first forward without a bucket, the row stays eager."""

    def __init__(self, model: LanguageModel, runner: GraphRunner, slots: int = 0, check: Check = never_stop) -> None:
        """Make an empty row for about ``slots``. ``runner`` was taken for this row, and is released with it."""
        super().__init__(model, check=check)
        weakref.finalize(self, runner.release)
        self._runner = runner
        runner.reserve(slots)
        self.cache.adopt(runner.buffers)

    @property
    def peak_bytes(self) -> int:
        return max(self._runner.capacity * self.cache.slot_bytes, self.cache.peak_bytes)

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: dict[str, torch.Tensor]) -> torch.Tensor:
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
