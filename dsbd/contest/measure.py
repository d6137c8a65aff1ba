"""One measured decode of one contender: speed, counts, quality, memory, energy."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from dsbd.api import READING, decode
from dsbd.contest.contenders import Contender
from dsbd.contest.transformers_generate import as_shipped, generate, time_prefill
from dsbd.machine import memory_errors, synchronise
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.session import Observer
from dsbd.util import check_of, value_of


class Meter:
    """Joules of a block of work on one device, counted through the optional package ``zeus`` (extra ``energy``).

    A device counts everything that runs on it, other processes too. Without zeus, or without a counter that this user
    may read, nothing is measured.

    Args:
        gpu: number of the GPU as torch counts them; None: all processor packages.
    """

    def __init__(self, gpu: int | None = None) -> None:
        self._monitor: Any = None
        try:
            from zeus.exception import ZeusBaseError
            from zeus.monitor import ZeusMonitor
        except ImportError:
            return
        try:
            monitor = ZeusMonitor(gpu_indices=[] if gpu is None else [gpu], cpu_indices=None if gpu is None else [])
        except (ZeusBaseError, RuntimeError, OSError, ValueError):
            return
        self._monitor = monitor if monitor.gpu_indices or monitor.cpu_indices else None

    def begin(self) -> None:
        """Start a block."""
        if self._monitor is not None:
            self._monitor.begin_window("dsbd", sync_execution=False)

    def end(self) -> float | None:
        """End the block and return its joules; None where they cannot be measured."""
        if self._monitor is None:
            return None
        used = self._monitor.end_window("dsbd", sync_execution=False)
        return float(sum((used.gpu_energy or used.cpu_energy or {}).values()))


def meters_of(pair: Pair) -> list[Meter]:
    """Return a meter for every device that computes."""
    if pair.device.type != "cuda":
        return [Meter()]
    return [Meter(), Meter(torch.cuda.current_device() if pair.device.index is None else pair.device.index)]


def measure(
    pair: Pair,
    contender: Contender,
    prompt: str,
    seed: int,
    *,
    chat: bool = False,
    until: Sequence[str] = (),
    stop: Callable[[], bool] | None = None,
    meters: Sequence[Meter] = (),
    observers: Sequence[Observer] = (),
) -> dict[str, Any]:
    """Decode once and return what a :class:`~dsbd.contest.records.Run` says of it.

    The clock and the meters measure nothing but the call itself. The quality of the hypotheses comes from a separate
    forward of the target for each. Opponents cannot be stopped, and their beams go on past ``until``. A prompt beyond
    the context is read into the pair's memory before the clock starts: the methods of a prompt share it.

    Raises:
        StoppedError: ``stop`` returned True.
    """
    settings, ids = replace(contender.settings, seed=seed), pair.encode(prompt, chat)
    with memory_errors(READING):
        window = value_of(pair.fitting(ids, settings.max_new_tokens, check_of(stop)))
    if contender.is_ours:
        options: dict[str, Any] = {"until": until, "observers": observers, "chat": chat, "stop": stop}
        result, *took = _clocked(pair, meters, lambda: decode(pair, prompt, settings, **options))
        likeliest = max(result.beams, key=lambda beam: beam.log_weight / len(beam.token_ids))
        found = [list(one) for one in dict.fromkeys((tuple(result.token_ids), tuple(likeliest.token_ids)))]
        names = ("layers", "target_calls", "prefill_seconds", "iterations", "accepted", "rejected", "mean_width",
                 "kv_peak_bytes")  # fmt: skip
        counts = {name: getattr(result.stats, name) for name in names}
    else:
        with as_shipped(pair):
            prefill = time_prefill(pair, ids, contender)
            called, *took = _clocked(pair, meters, lambda: generate(pair, ids, contender.method, settings, until))
        found, layers, calls = called
        counts = {"layers": layers, "target_calls": calls, "prefill_seconds": prefill}
    seconds, joules, peak = took
    prefix = None if window.memory is None else window.memory.embedding
    weights = [(log_likelihood(pair.target, window.ids, one, prefix), len(one)) for one in found]
    first, limit = found[0], settings.max_new_tokens
    return counts | {
        "seed": seed,
        "segments": None if window.memory is None else len(window.memory.segments),
        "text": pair.decode(first),
        "ended": "eos" if first[-1] in pair.eos else "limit" if counts["layers"] >= limit else "until",
        "seconds": seconds,
        "prefill_seconds": min(counts["prefill_seconds"], seconds),
        "new_tokens": len(first),
        "perplexity": math.exp(-weights[0][0] / len(first)),
        "best_log_weight_per_token": max(weight / size for weight, size in weights),
        "peak_allocated_bytes": peak,
        "joules": joules,
    }


def _clocked(pair: Pair, meters: Sequence[Meter], call: Callable[[], Any]) -> tuple[Any, float, Any, Any]:
    """Return what a call returned, its seconds, its joules and the peak of the device's memory."""
    is_cuda = pair.device.type == "cuda"
    if is_cuda:
        torch.cuda.reset_peak_memory_stats(pair.device)
    synchronise(pair.device)
    for meter in meters:
        meter.begin()
    start = time.perf_counter()
    found = call()
    synchronise(pair.device)
    seconds = time.perf_counter() - start
    used = [joules for meter in meters if (joules := meter.end()) is not None]
    return (
        found,
        seconds,
        sum(used) if used else None,
        torch.cuda.max_memory_allocated(pair.device) if is_cuda else None,
    )


@torch.inference_mode()
def log_likelihood(
    model: LanguageModel, prompt_ids: Sequence[int], token_ids: Sequence[int], prefix: torch.Tensor | None = None
) -> float:
    """Return the sum of raw log-probabilities of ``token_ids`` after the prompt, nats, from one separate forward.

    ``prefix`` is the embedding [hidden] of a memory that stands in front of the prompt.
    """
    tokens = torch.tensor([[*prompt_ids, *token_ids]], device=model.device)
    fed = tokens if prefix is None else model.behind(prefix, tokens)
    logits = model.forward(fed)[0, -1 - len(token_ids) : -1]
    log_probs = torch.log_softmax(logits if logits.dtype == torch.float64 else logits.float(), dim=-1)
    own = log_probs.gather(1, tokens[0, len(prompt_ids) :, None])
    return float(own.double().sum())
