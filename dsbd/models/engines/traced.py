"""Runs a forward without the model's Python: traced once, then replayed for any number of tokens and slots.

An eager forward of a small model on a CPU spends most of its time in Python. TorchScript records the operations and how
sizes are computed, and then calls the same operations: the logits equal the eager ones bit for bit. This needs no
compiler and no padding, and tracing takes as long as a few forwards.

A trace knows one way through the model. If the way depends on the data (a router chooses experts), the trace is wrong
for other tokens, so such models are not traced. The check at load compares the trace of every other model.

*Source:* ``torch.jit.trace``; docs/decisions.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from dsbd.machine import without_warnings
from dsbd.models.cache import ForestCache, fixed_cache
from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.states.forest import ForestState
from dsbd.util import CancelCheck

Layout = Sequence[tuple[tuple[int, int], tuple[int, int]]]
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


class _OnBuffers(torch.nn.Module):
    """The forward as a function of tensors alone."""

    def __init__(self, model: LanguageModel, kinds: list[str], layout: Layout) -> None:
        super().__init__()
        self.module = model.model  # so that torch finds the weights
        self._model, self._kinds, self._layout = model, kinds, layout

    def forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        slots: torch.Tensor,
        masks: list[torch.Tensor],
        buffers: list[torch.Tensor],
    ) -> torch.Tensor:
        keys = [buffers[group][index] for (group, index), _ in self._layout]
        values = [buffers[group][index] for _, (group, index) in self._layout]
        named = dict(zip(self._kinds, masks, strict=True))
        cache = fixed_cache(keys, values, slots, keys[0].shape[2])
        return self._model.forward(tokens, positions=positions, masks=named, cache=cache)


class TracedForward:
    """The traced forward of one model. Several decodes may use it at the same time, each with its cache."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = replace(model)  # a copy without runners, so that no reference cycle keeps the model alive
        self._forward: Any = None

    def run(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks, cache: ForestCache) -> torch.Tensor:
        """Return logits [n, vocabulary] of tokens [n], appended to a cache that has room; masks [1, 1, n, slots]."""
        start, end = cache.length, cache.length + tokens.numel()
        slots = torch.arange(start, end, device=tokens.device)
        shown = [buffer[:, :, :, :end] for buffer in cache.buffers]
        inputs = tokens[None], positions[None], slots, list(masks.values()), shown
        forward = self._forward or self._trace(list(masks), cache, inputs)
        logits: torch.Tensor = forward(*inputs)[0]
        cache.extend(tokens.numel())
        return logits[:, : self._model.vocabulary_limit]

    def _trace(self, kinds: list[str], cache: ForestCache, inputs: tuple[Any, ...]) -> Any:
        """Trace a forward of several tokens. One token runs eagerly, because a trace would fix the size 1."""
        forward = _OnBuffers(self._model, kinds, cache.layout)
        if inputs[0].numel() == 1:
            return forward
        # tracing warns of sizes that look like constants; the check at load finds those that are
        with without_warnings():
            self._forward = torch.jit.trace(forward, inputs, check_trace=False)
        return self._forward


class TracedState(ForestState):
    """A state whose forwards are traced, on its own buffers."""

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        self.cache.reserve(self._iteration_slots)
        return self.model.runner(TracedForward).run(tokens, positions, masks, self.cache)


class Traced:
    """The engine ``traced``."""

    fallback = "eager"

    def why_not(self, model: LanguageModel) -> str | None:
        if max(getattr(model.config, name, None) or 0 for name in _EXPERTS) > 1:
            return "experts are chosen by the tokens, and a trace knows only one way"
        return None

    def new_state(self, model: LanguageModel, slots: int, check: CancelCheck) -> ForestState:
        return TracedState(model, slots, check)
