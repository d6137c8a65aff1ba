"""Runs a forward without the model's Python: traced once, replayed for any number of tokens and slots.

An eager forward of a small model on a CPU spends most of its time in the Python that calls its operations.
TorchScript's tracing records the operations and how sizes are computed, and then calls the same operations: the
logits equal those of the eager forward, bit for bit. No compiler is needed and nothing is padded; tracing takes as
long as a few forwards.

A trace knows one way through the model. If the way depends on the data (experts chosen by a router), the trace is
wrong for other tokens, so such models are not traced. The check at load compares the trace of every other model.

*Source:* ``torch.jit.trace``; docs/decisions/0006.
"""

from typing import Any

import torch

from dsbd.models.cache import ForestCache
from dsbd.models.engines.buffers import Masks, forward_on_buffers
from dsbd.models.engines.fused import FusedLlama
from dsbd.models.language_model import LanguageModel
from dsbd.models.quiet import without_warnings

_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def experts_of(config: Any) -> int:
    """Return how many experts a router chooses from; 0 if the configuration names none."""
    return max(getattr(config, name, None) or 0 for name in _EXPERTS)


def routes(config: Any) -> bool:
    """Return True if a model's configuration names experts: then its way depends on the tokens."""
    return experts_of(config) > 1


class _OnBuffers(torch.nn.Module):
    """The forward as a function of tensors alone."""

    def __init__(self, model: Any, kinds: list[str], layout: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
        super().__init__()
        self.model = model
        self._kinds, self._layout = kinds, layout

    def forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        slots: torch.Tensor,
        masks: list[torch.Tensor],
        buffers: list[torch.Tensor],
    ) -> torch.Tensor:
        keys = [buffers[group][place] for (group, place), _ in self._layout]
        values = [buffers[group][place] for _, (group, place) in self._layout]
        named = dict(zip(self._kinds, masks, strict=True))
        return forward_on_buffers(self.model, tokens, positions, named, slots, keys, values, keys[0].shape[2])


class TracedForward:
    """The traced forward of one model; several decodes may use it at the same time, each with its own cache."""

    def __init__(self, model: LanguageModel) -> None:
        self._module, self._vocabulary_limit = model.model, model.vocabulary_limit
        self._is_fused = model.engine == "fused"
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
        return logits[:, : self._vocabulary_limit]

    def _trace(self, kinds: list[str], cache: ForestCache, inputs: tuple[Any, ...]) -> Any:
        """Trace a forward of several tokens; one token runs eagerly, because tracing makes size 1 a constant."""
        forward: torch.nn.Module = _OnBuffers(self._module, kinds, cache.layout)
        if self._is_fused:
            forward = FusedLlama(self._module, cache.layout)
        if inputs[0].numel() == 1:
            return forward
        # it warns of sizes that look like constants, which the check at load compares, and reads properties that warn
        with without_warnings:
            self._forward = torch.jit.trace(forward, inputs, check_trace=False)
        return self._forward


def traced_forward_of(model: LanguageModel) -> TracedForward:
    """Return the traced forward of a model, made at the first call and freed with the model."""
    if "traced" not in model.runners:
        model.runners["traced"] = TracedForward(model)
    forward: TracedForward = model.runners["traced"]
    return forward
