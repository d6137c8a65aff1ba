"""Is it right on this device: the ids of the CPU in every mode, and one copy to the host in an iteration."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

import dsbd
from benchmarks.gpu_day.models import bundled
from benchmarks.gpu_day.runner import Day, Outcome
from dsbd import score as scoring
from dsbd.assets import asset_path
from dsbd.machine import conditions
from dsbd.measure.bench.driver import meters_of
from dsbd.measure.bench.tables import table
from dsbd.measure.energy import NOT_MEASURED

MODES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "without replacement": {"replacement": False},
    "cover nodes": {"cover_width": 8},
    "likely forest": {"forest": "likely", "draft_width": 12},
    "temperature 0": {"temperature": 0.0},
    "top-p 0.9": {"top_p": 0.9},
    "top-k 0": {"top_k": 0},
    "same law": {"min_width": 4, "max_width": 4},
    "beam_sampling": {"method": "beam_sampling"},
    "speculative": {"method": "speculative"},
    "specinfer": {"method": "specinfer"},
    "mjsd": {"method": "mjsd"},
}
SMALL_MODES = ("defaults", "temperature 0", "beam_sampling")
NEW_TOKENS, FEW_TOKENS = 48, 5


def machine(day: Day) -> Outcome:
    """Say what computes here, in which versions, and which devices count their energy."""
    pair = bundled(day)
    found = conditions(pair)
    counted = {}
    for name, meter in meters_of(pair).items():
        meter.begin()
        counted[name] = meter.end() != NOT_MEASURED
    rows = [[key, str(value)] for part in ("machine", "versions") for key, value in found[part].items()]
    rows += [[f"energy of {name}", "counted" if counts else "not measured"] for name, counts in counted.items()]
    rows.append(["fallbacks", "; ".join(pair.fallbacks) or "none"])
    return Outcome(table(["what", "found"], rows), found | {"energy": counted, "fallbacks": pair.fallbacks})


def ids(day: Day) -> Outcome:
    """Decode in float64 on this device and on the CPU with the same draws; compare the ids of all beams."""
    engines = ["eager", "traced", *(["graph"] if day.device.startswith("cuda") else [])]
    with draws_of_the_cpu():
        wanted = _beams(replace(day, device="cpu"), "eager")[0]
        found = {engine: _beams(day, engine) for engine in engines}
    notes = [line for _, fallbacks in found.values() for line in fallbacks]
    rows = [[mode, *(_verdict(wanted[mode], found[engine][0][mode]) for engine in engines)] for mode in wanted]
    text = table(["mode", *engines], rows) + "".join(f"\n\n{line}." for line in notes)
    equal = all(verdict == "equal" for _, *verdicts in rows for verdict in verdicts)
    return Outcome(text, {"equal": equal, "rows": rows, "notes": notes})


def copies(day: Day) -> Outcome:
    """Count the copies from the device to the host, beside the iterations."""
    pair, rows = bundled(day), []
    for mode, settings in _modes(day).items():
        dsbd.decode(pair, _prompt(), settings)  # captures its graphs
        count, result = _host_copies(pair, settings)
        iterations = result.stats.iterations
        rows.append([mode, str(iterations), str(count), f"{count / iterations:.2f}"])
    one = all(row[1] == row[2] for row in rows)
    return Outcome(table(["mode", "iterations", "copies", "copies an iteration"], rows), {"one": one, "rows": rows})


@contextmanager
def draws_of_the_cpu() -> Iterator[None]:
    """Let every generator in the block draw what one of the CPU with its seed draws: devices differ in their own."""
    own_rand, own_exponential = torch.rand, torch.Tensor.exponential_
    twins: dict[int, tuple[torch.Generator, torch.Generator]] = {}  # the first of each keeps its id from a second use

    def twin(generator: torch.Generator) -> torch.Generator:
        return twins.setdefault(id(generator), (generator, torch.Generator().manual_seed(generator.initial_seed())))[1]

    def rand(*size: Any, generator: Any = None, device: Any = None, **named: Any) -> torch.Tensor:
        if generator is None:
            return own_rand(*size, device=device, **named)
        return own_rand(*size, generator=twin(generator), **named).to(device)

    def exponential(noise: torch.Tensor, *given: Any, generator: Any = None) -> torch.Tensor:
        if generator is None:
            return own_exponential(noise, *given)
        drawn = own_exponential(torch.empty_like(noise, device="cpu"), *given, generator=twin(generator))
        return noise.copy_(drawn)

    torch.rand, torch.Tensor.exponential_ = rand, exponential  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        torch.rand, torch.Tensor.exponential_ = own_rand, own_exponential  # type: ignore[method-assign]


def _modes(day: Day) -> dict[str, dsbd.DecodingSettings]:
    tokens = FEW_TOKENS if day.small else NEW_TOKENS
    return {
        mode: dsbd.DecodingSettings(max_new_tokens=tokens, seed=3, **changes)
        for mode, changes in MODES.items()
        if mode in SMALL_MODES or not day.small
    }


def _prompt() -> str:
    return asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()[0]


def _beams(day: Day, engine: str) -> tuple[dict[str, list[list[int]]], list[str]]:
    """Return the ids of all beams in each mode, best first, and what does not run as the engine says."""
    pair = bundled(day, dtype="float64", engine=engine)
    results = {mode: dsbd.decode(pair, _prompt(), settings) for mode, settings in _modes(day).items()}
    return {mode: [beam.token_ids for beam in result.beams] for mode, result in results.items()}, pair.fallbacks


def _verdict(wanted: list[list[int]], found: list[list[int]]) -> str:
    if wanted == found:
        return "equal"
    both = enumerate(zip(wanted[0], found[0], strict=False), 1)
    first = next((place for place, (ours, theirs) in both if ours != theirs), None)
    return "the best beam is equal, others differ" if first is None else f"differs from token {first}"


def _host_copies(pair: dsbd.Pair, settings: dsbd.DecodingSettings) -> tuple[int, dsbd.DecodingResult]:
    """Return how many copies a decode makes to the host. On a CPU, which copies nothing, its calls are counted."""
    if pair.device.type == "cuda":
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds) as profile:
            result = dsbd.decode(pair, _prompt(), settings)
            torch.cuda.synchronize(pair.device)
        return sum("Memcpy DtoH" in event.name for event in profile.events()), result
    own, at_hand, calls = torch.Tensor.cpu, scoring.is_at_hand, []

    def counted(tensor: torch.Tensor) -> torch.Tensor:
        calls.append(tensor.shape)
        return own(tensor)

    torch.Tensor.cpu, scoring.is_at_hand = counted, lambda logits: False  # type: ignore[method-assign, assignment]
    try:
        result = dsbd.decode(pair, _prompt(), settings)
        return len(calls), result
    finally:
        torch.Tensor.cpu, scoring.is_at_hand = own, at_hand  # type: ignore[method-assign]
