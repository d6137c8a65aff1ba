"""Measures what a forward costs, by its number of tokens."""

import statistics
import time
from collections.abc import Sequence

import torch

from dsbd.clock import synchronise
from dsbd.law.beams import Node
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.new import threaded_row
from dsbd.models.threads import torch_threads

CONTEXT = 64
"""Tokens in the cache behind which a forward is measured."""
REPEATS, WARM_UPS = 15, 2


@torch.inference_mode()
def forward_milliseconds(model: LanguageModel, sizes: Sequence[int]) -> dict[int, float]:
    """Return the median milliseconds of a forward, by its number of tokens (at least 1); sizes take turns."""
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(WARM_UPS + REPEATS):
        row, node = threaded_row(model, CONTEXT + len(sizes) + max(sizes)), Node(None, -1, 0)
        with torch_threads(1):
            row.prefill([place % model.vocabulary_size for place in range(CONTEXT)], node)
            for size in sizes:
                row.open([node], size - 1)
                tokens = torch.arange(size - 1, device=model.device) % model.vocabulary_size
                synchronise(model.device)
                start = time.perf_counter()
                row.feed(tokens, torch.zeros_like(tokens), (size - 1,))
                synchronise(model.device)
                times[size].append(time.perf_counter() - start)
                node = node.child(0)
                row.commit([node])
    return {size: 1000 * statistics.median(values[WARM_UPS:]) for size, values in times.items()}
