"""What the hardware allows: the bytes a forward must read, the measured bandwidth, and measured forwards."""

import time
from collections.abc import Sequence
from typing import Any

import torch

from dsbd.clock import synchronise
from dsbd.measure.bench.records import Forwards, ModelCosts
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.models.timing import forward_milliseconds

LARGEST_BUFFER_BYTES = 2**31
SMALLEST_BUFFER_BYTES = 2**20
BANDWIDTH_REPEATS = 25


def measure_forwards(pair: Pair, sizes: Sequence[int]) -> Forwards:
    """Measure what the forwards of both models cost, at these numbers of tokens."""
    return Forwards(
        target=_costs(pair.target, sizes),
        draft=None if pair.draft is None else _costs(pair.draft, sizes),
    )


def _costs(model: LanguageModel, sizes: Sequence[int]) -> ModelCosts:
    read = weight_bytes(model)
    before = bandwidth(model.device, read)
    milliseconds = forward_milliseconds(model, tuple(sorted(set(sizes))))
    after = bandwidth(model.device, read)  # other programs can only lower it, so the larger figure is the right one
    return ModelCosts(
        weight_bytes=read,
        slot_bytes=slot_bytes(model),
        bandwidth_bytes_per_second=max(before, after),
        milliseconds=milliseconds,
    )


def weight_bytes(model: LanguageModel) -> int:
    """Return the bytes of weights that a forward of one token reads: all, except input embeddings that are not tied.

    In a mixture of experts every expert counts, although a forward reads only some of them.
    """
    embeddings, head = model.model.get_input_embeddings().weight, model.model.get_output_embeddings().weight
    total = sum(weight.numel() * weight.element_size() for weight in model.model.parameters())
    return total if embeddings is head else total - embeddings.numel() * embeddings.element_size()


def slot_bytes(model: LanguageModel) -> int:
    """Return the bytes of keys and values of one token over all layers."""
    return sum(shape.slot_bytes for shape in model.layer_shapes)


def bandwidth(device: torch.device, size: int) -> float:
    """Measure at how many bytes per second a buffer of about ``size`` bytes can be read; the best of several times.

    A small buffer stays in the caches of the processor, as the weights of a small model do. The buffer is read by a sum
    and by a copy (which writes as many bytes); the faster counts.
    """
    count = min(max(size, SMALLEST_BUFFER_BYTES), LARGEST_BUFFER_BYTES) // 4
    source = torch.ones(count, dtype=torch.float32, device=device)
    target = torch.empty_like(source)
    read = _fastest(device, source.sum)
    copied = _fastest(device, lambda: target.copy_(source))
    return 4 * count / min(read, copied / 2)


def _fastest(device: torch.device, work: Any) -> float:
    seconds = []
    for _ in range(BANDWIDTH_REPEATS):
        synchronise(device)
        start = time.perf_counter()
        work()
        synchronise(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds)
