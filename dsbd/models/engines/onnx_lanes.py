"""Several decodes in one forward of ONNX Runtime: its attention takes a batch whose entries have lengths of their own.

All other operators see the tokens of all decodes one behind the other, without padding.
"""

import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from dsbd.models.engines.lanes import Call, Lanes
from dsbd.models.engines.onnx import OnnxForward, OnnxState
from dsbd.models.language_model import LanguageModel
from dsbd.util import CancelCheck


class OnnxLanesForward(OnnxForward):
    """The forward of several decodes; the session packs the weights once more."""

    has_lanes = True


class OnnxLanes(Lanes):
    """Lanes are the batch of the attention operator. Raises: RuntimeError: this ONNX Runtime is too old for it."""

    def __init__(self, model: LanguageModel, count: int, room: int) -> None:
        super().__init__(model, count, room)
        self._forward = model.runner(OnnxLanesForward)
        self._cache = model.new_cache()
        shapes = [buffer.shape for buffer in self._cache.buffers]
        self._buffers = [torch.empty(layers, count, heads, room, size) for layers, _, heads, _, size in shapes]
        self._cache.adopt(self._buffers)
        self._binding = self._forward.bound_to(self._cache)

    @classmethod
    def gains(cls, model: LanguageModel) -> bool:
        """Return whether a model gains by lanes: not one that is so small that separate forwards are as fast."""
        return model.attention == "forest" and model.engine == "onnx" and not model.is_small

    def new_state(self, lane: int, check: CancelCheck) -> "OnnxLaneState":
        return OnnxLaneState(self, lane, [buffer[:, lane : lane + 1] for buffer in self._buffers], check)

    def forward(self, calls: Sequence[Call]) -> list[torch.Tensor]:
        sizes = [call.tokens.numel() for call in calls]
        longest, ends = max(sizes), [call.length + size for call, size in zip(calls, sizes, strict=True)]
        if max(call.length for call in calls) + longest > self.room:
            raise RuntimeError("the padding of a decode does not fit behind its slots")
        shape, starts = (self.count, longest), np.cumsum([0, *sizes])
        positions, spread = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        counts, last = np.zeros(self.count, dtype=np.int32), np.zeros(self.count, dtype=np.int32)
        mask = np.zeros((self.count, 1, longest, max(ends)), dtype=np.float32)
        for call, size, start, end in zip(calls, sizes, starts, ends, strict=False):
            lane = call.lane
            positions[lane, :size], spread[lane, :size] = call.positions.numpy(), np.arange(start, start + size)
            counts[lane], last[lane] = size, end - 1
            mask[lane, :, :size, :end] = call.mask.numpy()[0]
        lanes = np.array([call.lane for call in calls])
        packed = np.concatenate([lane * longest + np.arange(size) for lane, size in zip(lanes, sizes, strict=True)])
        inputs: dict[str, Any] = {
            "tokens": torch.cat([call.tokens for call in calls]).numpy(), "positions": positions, "mask": mask,
            "asked": np.arange(starts[-1]), "spread": spread, "packed": packed, "counts": counts, "last": last,
        }  # fmt: skip
        return list(self._forward.run(self._binding, inputs, int(starts[-1])).split(sizes))


class OnnxLaneState(OnnxState):
    """A state on a lane, until it outgrows it. It reads the prompt alone."""

    def __init__(self, lanes: OnnxLanes, lane: int, buffers: list[torch.Tensor], check: CancelCheck) -> None:
        super().__init__(lanes.model, check=check)
        weakref.finalize(self, lanes.release, lane)
        self._lanes, self._lane, self._shared = lanes, lane, buffers
        self.cache.adopt(buffers)

    @property
    def peak_bytes(self) -> int:
        return max(self._lanes.room * self.cache.slot_bytes, self.cache.peak_bytes)

    def _run(self, tokens: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor, count: int) -> torch.Tensor:
        alone = partial(super()._run, tokens, positions, mask, count)
        length, size = self.cache.length, tokens.numel()
        if self.cache.buffers is not self._shared or count < size:
            return alone()
        logits = self._lanes.logits(Call(self._lane, length, tokens, positions, mask, alone))
        self.cache.extend(length + size - self.cache.length)  # alone counts them itself
        return logits
