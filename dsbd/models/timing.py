"""Measures what a forward costs, by its number of tokens."""

import statistics
import time
from collections.abc import Sequence

import torch

from dsbd.clock import synchronise
from dsbd.law.beams import Node
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.threaded import threaded_row
from dsbd.models.threads import torch_threads

CONTEXT = 64
"""Tokens in the cache behind which a forward is measured."""
REPEATS = 15
WARM_UPS = 2


@torch.inference_mode()
def forward_milliseconds(
    model: LanguageModel, sizes: Sequence[int], repeats: int = REPEATS, seconds: float = float("inf")
) -> dict[int, float]:
    """Return the median milliseconds of a forward, by its number of tokens; sizes take turns, after a warm-up.

    Args:
        model: measured as a decode runs it.
        sizes: numbers of tokens, each at least 1.
        repeats: forwards of each size.
        seconds: after this time no further round begins; one is always made.
    """
    times: dict[int, list[float]] = {size: [] for size in sizes}
    begun = time.perf_counter()
    for repeat in range(repeats + WARM_UPS):
        for size, spent in _one_round(model, sizes).items():
            times[size].append(spent)
        if repeat >= WARM_UPS and time.perf_counter() - begun > seconds:
            break
    return {size: 1000 * statistics.median(values[WARM_UPS:]) for size, values in times.items()}


def _one_round(model: LanguageModel, sizes: Sequence[int]) -> dict[int, float]:
    """Return the seconds of a forward of each size, one after the other on one row."""
    row, node, found = threaded_row(model, CONTEXT + len(sizes) + max(sizes)), Node(None, -1, 0), {}
    with torch_threads(1):
        row.prefill([place % model.vocabulary_size for place in range(CONTEXT)], node)
        for size in sizes:
            row.open([node], size - 1)
            tokens = torch.arange(size - 1, device=model.device) % model.vocabulary_size
            synchronise(model.device)
            start = time.perf_counter()
            row.feed(tokens, torch.zeros_like(tokens), (size - 1,))
            synchronise(model.device)
            found[size] = time.perf_counter() - start
            node = node.child(0)
            row.commit([node])
    return found
