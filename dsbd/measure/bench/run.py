"""One measured run of one contender on one prompt: speed, counts, quality, memory, energy."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from dsbd.api import decode
from dsbd.clock import PHASES, synchronise
from dsbd.measure.bench.contenders import OPPONENTS, Contender
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.transformers_generate import Generated, as_shipped, generate, generate_prefill_seconds
from dsbd.measure.energy import Meter
from dsbd.measure.quality import log_likelihood, perplexity
from dsbd.models.pair import Pair
from dsbd.results import DecodingResult, Stats


@dataclass(frozen=True)
class Outcome:
    """What either engine hands back."""

    hypotheses: list[list[int]]
    """Generated ids, the returned one first."""
    layers: int
    target_calls: int
    prefill_seconds: float
    stats: Stats | None
    """None for ``transformers``."""


@dataclass(frozen=True)
class Measured:
    """An outcome and what it took."""

    outcome: Outcome
    seconds: float
    energy: dict[str, dict[str, Any]]
    peak_allocated_bytes: int | None


def measure_run(
    pair: Pair, contender: Contender, prompt: str, seed: int, meters: Mapping[str, Meter] | None = None
) -> Run:
    """Run once; nothing but the call itself is on the clock and on the meters."""
    prompt_ids = pair.encode(prompt)
    with as_shipped(pair) if contender.method in OPPONENTS else nullcontext():
        measured = _measured(pair, replace(contender, settings=replace(contender.settings, seed=seed)), prompt, meters)
    outcome, seconds = measured.outcome, measured.seconds
    weights = [(log_likelihood(pair.target, prompt_ids, ids), len(ids)) for ids in outcome.hypotheses]
    return Run(
        contender=contender.name,
        prompt=prompt,
        prompt_tokens=len(prompt_ids),
        seed=seed,
        text=pair.decode(outcome.hypotheses[0]),
        seconds=seconds,
        prefill_seconds=min(outcome.prefill_seconds, seconds),
        layers=outcome.layers,
        new_tokens=len(outcome.hypotheses[0]),
        perplexity=perplexity(*weights[0]),
        best_log_weight=max(weight for weight, _ in weights),
        best_log_weight_per_token=max(weight / size for weight, size in weights),
        target_calls=outcome.target_calls,
        peak_allocated_bytes=measured.peak_allocated_bytes,
        energy=measured.energy or None,
        **(_counts(outcome.stats) if outcome.stats is not None else {}),
    )


def _measured(pair: Pair, contender: Contender, prompt: str, meters: Mapping[str, Meter] | None) -> Measured:
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
        outcome = _generated(generate(pair, prompt_ids, contender.method, contender.settings), prefill)
    else:
        outcome = _decoded(decode(pair, prompt, contender.settings))
    synchronise(pair.device)
    seconds = time.perf_counter() - start
    energy = {name: asdict(meter.end()) for name, meter in watching.items()}
    return Measured(outcome, seconds, energy, torch.cuda.max_memory_allocated(pair.device) if cuda else None)


def _decoded(result: DecodingResult) -> Outcome:
    """Our decoder's; of all hypotheses the returned one and those that are likeliest, in all and per token."""
    beams = result.beams
    likeliest = max(beams, key=lambda beam: beam.log_weight)
    per_token = max(beams, key=lambda beam: beam.log_weight / len(beam.token_ids))
    chosen = dict.fromkeys(tuple(beam.token_ids) for beam in (beams[0], likeliest, per_token))
    stats = result.stats
    return Outcome([list(ids) for ids in chosen], stats.layers, stats.target_calls, stats.prefill_seconds, stats)


def _generated(made: Generated, prefill_seconds: float) -> Outcome:
    distinct = [list(ids) for ids in dict.fromkeys(map(tuple, made.hypotheses))]
    return Outcome(distinct, made.layers, made.target_calls, prefill_seconds, None)


def _counts(stats: Stats) -> dict[str, Any]:
    """What only our decoder counts."""
    return {
        "draft_calls": stats.draft_calls,
        "iterations": stats.iterations,
        "layers_per_iteration": stats.layers_per_iteration,
        "acceptance_rate": stats.acceptance_rate,
        "mean_width": stats.mean_width,
        "phase_seconds": {name: getattr(stats, f"{name}_seconds") for name in PHASES},
        "kv_peak_bytes": stats.kv_peak_bytes,
    }
