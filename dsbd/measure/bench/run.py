"""One measured decode of one contender: speed, counts, quality, memory, energy."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from dsbd.api import READING, DecodingResult, decode
from dsbd.clock import PHASES, synchronise
from dsbd.measure.bench.contenders import FOREIGN, OPPONENTS, Contender
from dsbd.measure.bench.contest import Turn
from dsbd.measure.bench.foreign import engine_of
from dsbd.measure.bench.records import Hypotheses, Run
from dsbd.measure.bench.transformers_generate import as_shipped, generate_prefill_seconds, hf_hypotheses
from dsbd.measure.energy import Meter
from dsbd.measure.quality import log_likelihood, perplexity
from dsbd.models.free_memory import memory_errors
from dsbd.models.pair import Pair
from dsbd.results import Stats
from dsbd.session import IterationEnd, Observer
from dsbd.settings import DecodingSettings
from dsbd.steps import value_of
from dsbd.stopping import check_of

REST_SECONDS = 0.1
"""Pause before and after the turn of another process, until the threads of an OpenMP runtime sleep."""


@dataclass(frozen=True)
class Measured:
    """Hypotheses and what they cost."""

    hypotheses: Hypotheses
    prefill_seconds: float
    seconds: float
    joules: float | None
    peak_allocated_bytes: int | None


class WidthCount(Observer):
    """Counts how many layers yielded how many beams, duplicates counted."""

    reads_seconds = False

    def __init__(self) -> None:
        self.layers: Counter[int] = Counter()

    def on_iteration(self, iteration: IterationEnd) -> None:
        """Count the layers of an iteration."""
        self.layers.update(sum(beam.multiplicity for beam in layer.beams) for layer in iteration.layers)


def measure_turn(
    pair: Pair,
    turn: Turn,
    meters: Sequence[Meter] = (),
    stop: Callable[[], bool] | None = None,
    chat: bool = False,
    observers: Sequence[Observer] = (),
) -> Run:
    """Decode once; the clock and the meters measure nothing but the call itself.

    The quality of the hypotheses comes from a separate forward of the target for each. Opponents cannot be stopped. A
    prompt beyond the context is read into the pair's memory before the clock starts: the methods of a prompt share it.

    Raises:
        StoppedError: ``stop`` returned True.
    """
    prompt, widths = turn.prompt, WidthCount()
    limit = turn.contender.settings.max_new_tokens
    with memory_errors(READING):
        window = value_of(pair.fitting(pair.encode(prompt.text, chat), limit, check_of(stop)))
    measured = timed(
        pair, turn.contender, prompt.text, turn.seed, meters, stop, chat, prompt.until, [widths, *observers]
    )
    found, read = measured.hypotheses, window.memory
    prefix = None if read is None else read.embedding
    weights = [(log_likelihood(pair.target, window.ids, ids, prefix), len(ids)) for ids in found.token_ids]
    return Run(
        contender=turn.contender.name,
        task=prompt.task,
        question=prompt.id,
        cluster=prompt.cluster,
        round=turn.round,
        seed=turn.seed,
        prompt=prompt.text,
        prompt_tokens=len(window.ids) + (read is not None),
        segments=None if read is None else len(read.segments),
        shortened=prompt.shortened,
        text=pair.decode(found.token_ids[0]),
        ended=_ended(pair, found, limit),
        seconds=measured.seconds,
        prefill_seconds=min(measured.prefill_seconds, measured.seconds),
        layers=found.layers,
        new_tokens=len(found.token_ids[0]),
        perplexity=perplexity(*weights[0]),
        best_log_weight=max(weight for weight, _ in weights),
        best_log_weight_per_token=max(weight / size for weight, size in weights),
        target_calls=found.target_calls,
        widths=dict(sorted(widths.layers.items())) or None,
        peak_allocated_bytes=measured.peak_allocated_bytes,
        joules=measured.joules,
        **(_counts(found.stats) if found.stats is not None else {}),
    )


def timed(
    pair: Pair,
    contender: Contender,
    prompt: str,
    seed: int,
    meters: Sequence[Meter] = (),
    stop: Callable[[], bool] | None = None,
    chat: bool = False,
    until: Sequence[str] = (),
    observers: Sequence[Observer] = (),
) -> Measured:
    """Decode once, between two readings of the clock and of the meters; beams of opponents go on past ``until``."""
    settings, prompt_ids = replace(contender.settings, seed=seed), pair.encode(prompt, chat)
    method = contender.method
    if method not in OPPONENTS:
        options: dict[str, Any] = {"observers": observers, "chat": chat, "stop": stop, "until": until}
        return _measured(pair, meters, lambda: _decoded(decode(pair, prompt, settings, **options)))
    if method in FOREIGN:
        return _searched(pair, prompt_ids, method, settings, meters)
    with as_shipped(pair):
        prefill = generate_prefill_seconds(pair, prompt_ids, contender)
        return _measured(pair, meters, lambda: hf_hypotheses(pair, prompt_ids, method, settings, until), prefill)


def _measured(
    pair: Pair, meters: Sequence[Meter], call: Callable[[], Hypotheses], prefill_seconds: float = 0.0
) -> Measured:
    cuda = pair.device.type == "cuda"
    if cuda:
        torch.cuda.reset_peak_memory_stats(pair.device)
    synchronise(pair.device)
    for meter in meters:
        meter.begin()
    start = time.perf_counter()
    found = call()
    synchronise(pair.device)
    seconds = time.perf_counter() - start
    used = [joules for meter in meters if (joules := meter.end()) is not None]
    peak = torch.cuda.max_memory_allocated(pair.device) if cuda else None
    prefill = found.stats.prefill_seconds if found.stats else prefill_seconds
    return Measured(found, prefill, seconds, sum(used) if used else None, peak)


def _decoded(result: DecodingResult) -> Hypotheses:
    """Keep of our decoder's hypotheses the returned one and the most likely ones, in all and per token."""
    beams = result.beams
    likeliest = max(beams, key=lambda beam: beam.log_weight)
    per_token = max(beams, key=lambda beam: beam.log_weight / len(beam.token_ids))
    chosen = dict.fromkeys(tuple(beam.token_ids) for beam in (beams[0], likeliest, per_token))
    stats = result.stats
    return Hypotheses([list(ids) for ids in chosen], stats.layers, stats.target_calls, stats)


def _searched(
    pair: Pair, prompt_ids: Sequence[int], method: str, settings: DecodingSettings, meters: Sequence[Meter]
) -> Measured:
    """Ask an engine in a separate process, which reads the clock there.

    It does not report its steps: there were at least as many as the longest hypothesis has tokens.
    """
    engine, took = engine_of(pair, method), list[float]()
    time.sleep(REST_SECONDS)
    prefill = engine.prefill_seconds(prompt_ids)

    def search() -> Hypotheses:
        found, seconds = engine.generate(prompt_ids, settings)
        took.append(seconds)
        steps = max(map(len, found))
        return Hypotheses(found, steps, steps)

    measured = replace(_measured(pair, meters, search, prefill), seconds=took[0])
    time.sleep(REST_SECONDS)
    return measured


def _ended(pair: Pair, found: Hypotheses, limit: int) -> str:
    if found.token_ids[0][-1] in pair.eos:
        return "eos"
    return "limit" if found.layers >= limit else "until"


def _counts(stats: Stats) -> dict[str, Any]:
    """Return the figures that only our decoder counts."""
    names = ("draft_calls", "iterations", "layers_per_iteration", "accepted", "rejected", "acceptance_rate",
             "mean_width", "kv_peak_bytes")  # fmt: skip
    phases = {name: getattr(stats, f"{name}_seconds") for name in PHASES}
    return {name: getattr(stats, name) for name in names} | {"phase_seconds": phases}
