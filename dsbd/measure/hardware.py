"""What the hardware allows: bytes a forward must stream, the measured bandwidth, and measured forwards beside them."""

import statistics
import time
from collections.abc import Sequence
from typing import Any

import torch

from dsbd.clock import synchronise
from dsbd.law.beams import Node
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.models.rows import new_row

CONTEXT = 64
REPEATS = 15
WARM_UPS = 2
LARGEST_BUFFER_BYTES = 2**31
SMALLEST_BUFFER_BYTES = 2**20
BANDWIDTH_REPEATS = 25


def measure_costs(pair: Pair, sizes: Sequence[int]) -> dict[str, Any]:
    """Per model: streamed bytes, bandwidth, and milliseconds of forwards.

    Args:
        sizes: token counts of the forwards to time, for both models.

    Returns:
        ``{"target": {"weight_bytes", "slot_bytes", "bandwidth_bytes_per_second", "milliseconds": {"1": ...}}, "draft":
        the same or None}``.
    """
    models = {"target": pair.target, "draft": pair.draft}
    return {role: None if model is None else _costs(model, sizes) for role, model in models.items()}


def _costs(model: LanguageModel, sizes: Sequence[int]) -> dict[str, Any]:
    streamed = weight_bytes(model)
    before = bandwidth(model.device, streamed)
    milliseconds = forward_milliseconds(model, tuple(sorted(set(sizes))))
    after = bandwidth(model.device, streamed)  # what disturbs a machine only ever lowers it
    return {
        "weight_bytes": streamed,
        "slot_bytes": slot_bytes(model),
        "bandwidth_bytes_per_second": max(before, after),
        "milliseconds": milliseconds,
    }


def weight_bytes(model: LanguageModel) -> int:
    """Bytes of weights that a forward of one token reads: all, but of untied input embeddings next to nothing.

    Every expert of a mixture counts, so for such a model this is no floor.
    """
    embeddings, head = model.model.get_input_embeddings().weight, model.model.get_output_embeddings().weight
    total = sum(weight.numel() * weight.element_size() for weight in model.model.parameters())
    return total if embeddings is head else total - embeddings.numel() * embeddings.element_size()


def slot_bytes(model: LanguageModel) -> int:
    """Bytes of keys and values of one token over all layers."""
    return sum(shape.slot_bytes for shape in model.layer_shapes)


def bandwidth(device: torch.device, size: int) -> float:
    """Bytes per second at which a buffer of about ``size`` bytes is read again and again, the best of several times.

    A small buffer stays in the processor's caches as a small model's weights do, so the figure is that model's limit.
    The buffer is read by a sum and by a copy (which writes as much); the faster counts.
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


@torch.inference_mode()
def forward_milliseconds(model: LanguageModel, sizes: Sequence[int], context: int = CONTEXT) -> dict[str, float]:
    """Median time of a forward of so many tokens behind a context, sizes taken in turn after a warm-up."""
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for repeat in range(REPEATS + WARM_UPS):
        for size in sizes:
            seconds = _one_forward(model, size, context)
            if repeat >= WARM_UPS:
                times[size].append(seconds)
    return {str(size): 1000 * statistics.median(values) for size, values in times.items()}


def _one_forward(model: LanguageModel, size: int, context: int) -> float:
    row, root = new_row(model), Node(None, -1, 0)
    row.prefill([place % model.vocabulary_size for place in range(context)], root)
    row.open([root], size - 1)
    tokens = torch.arange(size - 1, device=model.device) % model.vocabulary_size
    synchronise(model.device)
    start = time.perf_counter()
    row.feed(tokens, torch.zeros_like(tokens), (size - 1,))
    synchronise(model.device)
    return time.perf_counter() - start
