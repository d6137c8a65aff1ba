"""Runs forwards of fixed shape: captured once per bucket of tokens and slots, then replayed.

Most of the time of an eager forward on a GPU is spent on launching its operations. Here the cache, the inputs and the
logits are buffers that stay in place, and the launched operations are recorded as a CUDA graph. Tokens are padded to
the next bucket, the padding writes to a slot that nobody reads, and the mask of a token hides all slots that it must
not see. So a bucket's forward equals the eager one up to rounding.

The buffers serve one decode at a time, and a second one at the same time runs eagerly. They grow with what decodes
need, and then forwards are captured anew. A decode that needs more slots than the largest buffers goes on eagerly.

*Source:* docs/algorithm.md, *The engine*.
"""

from collections.abc import Callable
from typing import Any

import torch

from dsbd.models.engines.buffers import Masks, forward_on_buffers
from dsbd.models.language_model import LanguageModel

TOKEN_BUCKETS = (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 256, 384, 512, 768, 1024)
SLOT_BUCKETS = (256, 512, 1024, 2048, 4096, 8192, 16384)
LARGEST = 8192
"""The most slots of the buffers, for models that were made for longer contexts."""
ROOM = 1024
"""Slots beyond the context, for forests."""
WARM_UPS = 2

Forward = Callable[[], torch.Tensor]
Capture = Callable[[Callable[..., torch.Tensor], tuple[Any, ...]], Forward]


def buffer_slots(slots: int, context_size: int | None) -> int:
    """Return the slots of the buffers for a decode that needs ``slots``; fewer where the largest ones are too small.

    Args:
        slots: besides them there is one for padding.
        context_size: positions that the model was made for; None: it does not say.
    """
    longest = bucket_of(SLOT_BUCKETS, min(min(context_size or LARGEST, LARGEST) + ROOM, SLOT_BUCKETS[-1]))
    return longest if slots >= longest else bucket_of(SLOT_BUCKETS, slots + 1)


class GraphRunner:
    """The buffers of one model and the forwards captured on them.

    Args:
        model: takes ``position_ids`` and one mask per attention window.
        capture: makes a forward that can be repeated; None records a CUDA graph.
    """

    def __init__(self, model: LanguageModel, capture: Capture | None = None) -> None:
        self._module, self._vocabulary_limit = model.model, model.vocabulary_limit
        self._device, self._dtype = model.device, model.dtype
        self._capture = capture or cuda_graph
        self._forwards: dict[tuple[int, int], tuple[_Inputs, Forward]] = {}
        self._taken = False
        self._context_size = model.context_size
        self._cache = model.new_cache()

    @property
    def buffers(self) -> list[torch.Tensor]:
        """Return the buffers of a cache of ``capacity`` slots."""
        return self._cache.buffers

    @property
    def capacity(self) -> int:
        """Return the slots of the buffers."""
        return self._cache.capacity

    def reserve(self, slots: int, used: int = 0) -> None:
        """Make the buffers as large as so many slots need, and keep what the first ``used`` hold."""
        wanted, old = buffer_slots(slots, self._context_size), self._cache
        if wanted <= old.capacity:
            return
        self._forwards.clear()  # they were captured on the old buffers
        self._cache = old.empty_twin(wanted)
        for new, before in zip(self._cache.buffers, old.buffers, strict=True):
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
        """Return True if a forward of so many tokens, with so many slots in use after it, has a bucket."""
        return tokens <= TOKEN_BUCKETS[-1] and slots < self.capacity

    def run(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks, first_slot: int) -> torch.Tensor:
        """Return logits [n, vocabulary] of tokens [n], written from ``first_slot`` on; masks are [1, 1, n, slots]."""
        count = tokens.numel()
        end = first_slot + count
        shape = bucket_of(TOKEN_BUCKETS, count), bucket_of(SLOT_BUCKETS, end)
        if shape not in self._forwards:
            inputs = _Inputs(*shape, trash=self.capacity - 1, kinds=list(masks), device=self._device, dtype=self._dtype)
            inputs.fill(tokens, positions, masks, first_slot)
            keys, values = [row.keys for row in self._cache.rows], [row.values for row in self._cache.rows]
            arguments = (self._module, *inputs.tensors(), keys, values, shape[1])
            self._forwards[shape] = inputs, self._capture(forward_on_buffers, arguments)
        inputs, forward = self._forwards[shape]
        inputs.fill(tokens, positions, masks, first_slot)
        return forward()[0, :count, : self._vocabulary_limit].clone()  # the next replay overwrites it


def runner_of(model: LanguageModel) -> GraphRunner:
    """Return the captured forwards of a model, made at the first call and freed with the model."""
    if "graph" not in model.runners:
        model.runners["graph"] = GraphRunner(model)
    runner: GraphRunner = model.runners["graph"]
    return runner


class _Inputs:
    """The buffers from which one bucket's forward reads its inputs."""

    def __init__(
        self, tokens: int, slots: int, *, trash: int, kinds: list[str], device: torch.device, dtype: torch.dtype
    ) -> None:
        self._trash = trash
        self._unseen = torch.finfo(dtype).min
        self._numbers = torch.arange(trash + 1, device=device)
        self.tokens = torch.zeros(1, tokens, dtype=torch.int64, device=device)
        self.positions = torch.zeros_like(self.tokens)
        self.slots = torch.full((tokens,), trash, dtype=torch.int64, device=device)
        shape = (1, 1, tokens, slots)
        self.masks = {kind: torch.zeros(shape, dtype=dtype, device=device) for kind in kinds}

    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, Masks, torch.Tensor]:
        return self.tokens, self.positions, self.masks, self.slots

    def fill(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks, first_slot: int) -> None:
        """Write the inputs. Padding keeps any old token, position and mask: its results go to a slot that nobody reads.

        It sees something, because a softmax over nothing is not a number where it is computed in a narrower dtype.
        """
        count = tokens.numel()
        self.tokens[0, :count] = tokens
        self.positions[0, :count] = positions
        self.slots.fill_(self._trash)
        self.slots[:count] = self._numbers[first_slot : first_slot + count]
        for kind, mask in masks.items():
            self.masks[kind][:, :, :count, : mask.shape[3]] = mask
            self.masks[kind][:, :, :count, mask.shape[3] :] = self._unseen


def bucket_of(sizes: tuple[int, ...], count: int) -> int:
    """Return the smallest bucket that holds ``count``."""
    return next(size for size in sizes if size >= count)


def cuda_graph(function: Callable[..., torch.Tensor], arguments: tuple[Any, ...]) -> Forward:
    """Record a forward as a CUDA graph."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            function(*arguments)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits = function(*arguments)

    def replay() -> torch.Tensor:
        graph.replay()
        return logits

    return replay
