"""One measured run of one contender on one prompt: speed, counts, quality, memory, energy."""

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from dsbd.api import decode
from dsbd.clock import PHASES, synchronise
from dsbd.measure.bench.contenders import OPPONENTS, Contender
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.transformers_generate import Generated, as_shipped, generate, generate_prefill_seconds
from dsbd.measure.energy import Energy, Meter
from dsbd.measure.quality import log_likelihood, perplexity
from dsbd.models.pair import Pair
from dsbd.results import DecodingResult, Stats


@dataclass(frozen=True)
class Hypotheses:
    """What a decode returned, ours or that of ``transformers``."""

    token_ids: list[list[int]]
    """Generated ids of each distinct hypothesis, the returned one first."""
    layers: int
    target_calls: int
    prefill_seconds: float
    stats: Stats | None
    """None for ``transformers``."""


@dataclass(frozen=True)
class Measured:
    """Hypotheses and what they cost."""

    hypotheses: Hypotheses
    seconds: float
    energy: dict[str, Energy]
    peak_allocated_bytes: int | None


def measure_run(
    pair: Pair,
    contender: Contender,
    prompt: str,
    seed: int,
    meters: Mapping[str, Meter] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Run once; the clock and the meters measure nothing but the call itself."""
    prompt_ids = pair.encode(prompt)
    with as_shipped(pair) if contender.method in OPPONENTS else nullcontext():
        seeded = replace(contender, settings=replace(contender.settings, seed=seed))
        measured = _measured(pair, seeded, prompt, meters, stop)
    found, seconds = measured.hypotheses, measured.seconds
    weights = [(log_likelihood(pair.target, prompt_ids, ids), len(ids)) for ids in found.token_ids]
    return Run(
        contender=contender.name,
        prompt=prompt,
        prompt_tokens=len(prompt_ids),
        seed=seed,
        text=pair.decode(found.token_ids[0]),
        seconds=seconds,
        prefill_seconds=min(found.prefill_seconds, seconds),
        layers=found.layers,
        new_tokens=len(found.token_ids[0]),
        perplexity=perplexity(*weights[0]),
        best_log_weight=max(weight for weight, _ in weights),
        best_log_weight_per_token=max(weight / size for weight, size in weights),
        target_calls=found.target_calls,
        peak_allocated_bytes=measured.peak_allocated_bytes,
        energy=measured.energy or None,
        **(_counts(found.stats) if found.stats is not None else {}),
    )


def _measured(
    pair: Pair,
    contender: Contender,
    prompt: str,
    meters: Mapping[str, Meter] | None,
    stop: Callable[[], bool] | None,
) -> Measured:
    prompt_ids, watching, cuda = pair.encode(prompt), meters or {}, pair.device.type == "cuda"
    theirs = contender.method in OPPONENTS
    prefill = generate_prefill_seconds(pair, prompt_ids, contender) if theirs else 0.0
    if cuda:
        torch.cuda.reset_peak_memory_stats(pair.device)
    synchronise(pair.device)
    for meter in watching.values():
        meter.begin()
    start = time.perf_counter()
    if theirs:
        found = _generated(generate(pair, prompt_ids, contender.method, contender.settings), prefill)
    else:
        found = _decoded(decode(pair, prompt, contender.settings, stop=stop))
    synchronise(pair.device)
    seconds = time.perf_counter() - start
    energy = {name: meter.end() for name, meter in watching.items()}
    return Measured(found, seconds, energy, torch.cuda.max_memory_allocated(pair.device) if cuda else None)


def _decoded(result: DecodingResult) -> Hypotheses:
    """Keep of our decoder's hypotheses the returned one and the most likely ones, in all and per token."""
    beams = result.beams
    likeliest = max(beams, key=lambda beam: beam.log_weight)
    per_token = max(beams, key=lambda beam: beam.log_weight / len(beam.token_ids))
    chosen = dict.fromkeys(tuple(beam.token_ids) for beam in (beams[0], likeliest, per_token))
    stats = result.stats
    return Hypotheses([list(ids) for ids in chosen], stats.layers, stats.target_calls, stats.prefill_seconds, stats)


def _generated(made: Generated, prefill_seconds: float) -> Hypotheses:
    distinct = [list(ids) for ids in dict.fromkeys(map(tuple, made.hypotheses))]
    return Hypotheses(distinct, made.layers, made.target_calls, prefill_seconds, None)


def _counts(stats: Stats) -> dict[str, Any]:
    """Return the figures that only our decoder counts."""
    return {
        "draft_calls": stats.draft_calls,
        "iterations": stats.iterations,
        "layers_per_iteration": stats.layers_per_iteration,
        "acceptance_rate": stats.acceptance_rate,
        "mean_width": stats.mean_width,
        "phase_seconds": {name: getattr(stats, f"{name}_seconds") for name in PHASES},
        "kv_peak_bytes": stats.kv_peak_bytes,
    }
