"""Runs forwards of fixed shape: captured once for each bucket of tokens and slots, then replayed.

An eager forward on a GPU spends most of its time on launching operations. Here the cache, the inputs and the logits are
buffers that stay in place, and the launches are recorded as a CUDA graph. Tokens are padded to the next bucket, the
padding writes to a slot that nobody reads, and the masks hide all slots that a token must not see. So a bucket's
forward equals the eager one up to rounding.

The buffers serve one decode at a time; a second one at the same time runs eagerly. When a decode needs more slots the
buffers grow, and forwards are captured again. A decode that needs more than the largest buffers goes on eagerly.

*Source:* docs/algorithm.md, *The engine*.
"""

import weakref
from collections.abc import Callable
from dataclasses import replace

import torch

from dsbd.models.cache import fixed_cache
from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.states.forest import ForestState
from dsbd.util import CancelCheck

TOKEN_BUCKETS = (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512, 768, 1024)
SLOT_BUCKETS = (256, 512, 1024, 2048, 4096, 8192, 16384)
WARM_UPS = 2

Forward = Callable[[], torch.Tensor]


class GraphRunner:
    """The buffers of one model, and the forwards captured on them."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = replace(model)  # a copy without runners, so that no reference cycle keeps the model alive
        self._forwards: dict[tuple[int, int], tuple[_Inputs, Forward]] = {}
        self._taken = False
        self.cache = model.new_cache()
        """The buffers; its length is not used."""

    def reserve(self, slots: int, used: int = 0) -> None:
        """Make the buffers large enough for ``slots`` and one for padding, and keep the first ``used`` slots."""
        size, old = bucket_of(SLOT_BUCKETS, min(slots + 1, SLOT_BUCKETS[-1])), self.cache
        if size <= old.capacity:
            return
        self._forwards.clear()  # they were captured on the old buffers
        self.cache = self._model.new_cache(size)
        for new, before in zip(self.cache.buffers, old.buffers, strict=True):
            new.zero_()  # masked values are multiplied by 0, and 0 * NaN is NaN
            new[:, :, :, :used] = before[:, :, :, :used]

    def take(self) -> bool:
        """Take the buffers for one decode; return False if another decode has them."""
        free, self._taken = not self._taken, True
        return free

    def release(self) -> None:
        """Give the buffers back."""
        self._taken = False

    def fits(self, tokens: int, slots: int) -> bool:
        """Return True if there is a bucket for this number of tokens, and of slots in use after them."""
        return tokens <= TOKEN_BUCKETS[-1] and slots < self.cache.capacity

    def run(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks, first_slot: int) -> torch.Tensor:
        """Return logits [n, vocabulary] of tokens [n], written from ``first_slot`` on; masks are [1, 1, n, slots]."""
        count = tokens.numel()
        end = first_slot + count
        shape = bucket_of(TOKEN_BUCKETS, count), bucket_of(SLOT_BUCKETS, end)
        if shape not in self._forwards:
            inputs = _Inputs(*shape, trash=self.cache.capacity - 1, like=masks)
            inputs.fill(tokens, positions, masks, first_slot)
            self._forwards[shape] = inputs, cuda_graph(self._forward(inputs, shape[1]))
        inputs, forward = self._forwards[shape]
        inputs.fill(tokens, positions, masks, first_slot)
        return forward()[0, :count].clone()  # the next replay overwrites it

    def _forward(self, inputs: "_Inputs", span: int) -> Forward:
        """Return a function that runs the model on these inputs and the present buffers."""
        model, layers = self._model, self.cache.kv_layers
        cache = fixed_cache([layer.keys for layer in layers], [layer.values for layer in layers], inputs.slots, span)
        return lambda: model.forward(inputs.tokens, positions=inputs.positions, masks=inputs.masks, cache=cache)


class _Inputs:
    """The buffers from which one bucket's forward reads its inputs."""

    def __init__(self, tokens: int, slots: int, trash: int, like: Masks) -> None:
        device = next(iter(like.values())).device
        self._trash = trash
        self._numbers = torch.arange(trash + 1, device=device)
        self.tokens = torch.zeros(1, tokens, dtype=torch.int64, device=device)
        self.positions = torch.zeros_like(self.tokens)
        self.slots = torch.full((tokens,), trash, dtype=torch.int64, device=device)
        self.masks = {kind: mask.new_zeros(1, 1, tokens, slots) for kind, mask in like.items()}

    def fill(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks, first_slot: int) -> None:
        """Write the inputs. Padding keeps old tokens, positions and masks; its results go to a slot that nobody reads.

        An old mask shows something: a softmax over nothing can be NaN.
        """
        count = tokens.numel()
        self.tokens[0, :count] = tokens
        self.positions[0, :count] = positions
        self.slots.fill_(self._trash)
        self.slots[:count] = self._numbers[first_slot : first_slot + count]
        for kind, mask in masks.items():
            self.masks[kind][:, :, :count, : mask.shape[3]] = mask
            self.masks[kind][:, :, :count, mask.shape[3] :] = torch.finfo(mask.dtype).min


def bucket_of(sizes: tuple[int, ...], count: int) -> int:
    """Return the smallest bucket that holds ``count``."""
    return next(size for size in sizes if size >= count)


def cuda_graph(forward: Forward) -> Forward:
    """Record a forward as a CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            forward()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = forward()

    def replay() -> torch.Tensor:
        graph.replay()
        return logits

    return replay


class GraphState(ForestState):
    """A state on a runner's buffers, which are taken; from the first forward without a bucket on, it runs eagerly."""

    def __init__(self, model: LanguageModel, slots: int, check: CancelCheck) -> None:
        super().__init__(model, check=check)
        self._runner = model.runner(GraphRunner)
        weakref.finalize(self, self._runner.release)
        self._runner.reserve(slots)
        self.cache.adopt(self._runner.cache.buffers)

    @property
    def peak_bytes(self) -> int:
        return max(self._runner.cache.capacity * self.cache.slot_bytes, self.cache.peak_bytes)

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        if self.cache.buffers is self._runner.cache.buffers:  # else it has outgrown them
            self._runner.reserve(self._iteration_slots, self.cache.length)
            self.cache.adopt(self._runner.cache.buffers)
            if self._runner.fits(tokens.numel(), self._iteration_slots):
                logits = self._runner.run(tokens, positions, masks, self.cache.length)
                self.cache.extend(tokens.numel())
                return logits
            self.cache.reserve(self._runner.cache.capacity + 1)
        return super()._logits(tokens, positions, masks)


class Graph:
    """The engine ``graph``."""

    fallback = "eager"

    def why_not(self, model: LanguageModel) -> str | None:
        return None

    def new_state(self, model: LanguageModel, slots: int, check: CancelCheck) -> ForestState:
        return (GraphState if model.runner(GraphRunner).take() else ForestState)(model, slots, check)
