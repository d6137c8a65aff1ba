"""Is it right on this device: the ids of the CPU in every mode, and one copy to the host in an iteration.

    python -m benchmarks.gpu_checks ids
    python -m benchmarks.gpu_checks copies

Each prints a table. Exit code 1: something differs.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

import dsbd
from dsbd.assets import asset_path
from dsbd.contest.table import markdown_table

MODES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "temperature 0": {"temperature": 0.0},
    "beam_sampling": {"method": "beam_sampling"},
    "without replacement": {"replacement": False},
    "cover nodes": {"cover_width": 8},
    "likely forest": {"forest": "likely", "draft_width": 12},
    "top-p 0.9": {"top_p": 0.9},
    "top-k 0": {"top_k": 0},
    "same law": {"min_width": 4, "max_width": 4},
    "speculative": {"method": "speculative"},
    "specinfer": {"method": "specinfer"},
    "mjsd": {"method": "mjsd"},
}
"""A rehearsal runs the first three."""
PROMPT = asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()[0]


def ids(device: str, small: bool) -> bool:
    """Decode in float64 on this device and on the CPU with the same draws; compare the ids of all beams."""
    engines = ["eager", "traced", *(["graph"] if device.startswith("cuda") else [])]
    with draws_of_the_cpu():
        wanted = _beams("cpu", "eager", small)
        found = [_beams(device, engine, small) for engine in engines]
    rows = [[mode, *(_verdict(ids, beams[mode]) for beams in found)] for mode, ids in wanted.items()]
    print(markdown_table(["mode", *engines], rows))
    return all(verdict == "equal" for _, *verdicts in rows for verdict in verdicts)


def copies(device: str, small: bool) -> bool:
    """Count the copies from the device to the host, beside the iterations."""
    if not device.startswith("cuda"):
        print("not measured: a CPU copies nothing to itself; tests/test_accelerator.py counts on a stand-in")
        return True
    pair, rows = dsbd.load_pair(device=device), []
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    for mode, settings in _modes(small).items():
        dsbd.decode(pair, PROMPT, settings)  # captures its graphs
        with torch.profiler.profile(activities=kinds) as profile:
            iterations = dsbd.decode(pair, PROMPT, settings).stats.iterations
            torch.cuda.synchronize(pair.device)
        count = sum("Memcpy DtoH" in event.name for event in profile.events())
        rows.append([mode, str(iterations), str(count)])
    print(markdown_table(["mode", "iterations", "copies"], rows))
    return all(iterations == count for _, iterations, count in rows)


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

    torch.rand, torch.Tensor.exponential_ = rand, exponential
    try:
        yield
    finally:
        torch.rand, torch.Tensor.exponential_ = own_rand, own_exponential


def _modes(small: bool) -> dict[str, dsbd.DecodingSettings]:
    tokens = 5 if small else 48
    chosen = list(MODES.items())[: 3 if small else None]
    return {mode: dsbd.DecodingSettings(max_new_tokens=tokens, seed=3, **changes) for mode, changes in chosen}


def _beams(device: str, engine: str, small: bool) -> dict[str, list[list[int]]]:
    """Return the ids of all beams in each mode, best first."""
    pair = dsbd.load_pair(device=device, dtype="float64", engine=engine)
    results = {mode: dsbd.decode(pair, PROMPT, settings) for mode, settings in _modes(small).items()}
    return {mode: [beam.token_ids for beam in result.beams] for mode, result in results.items()}


def _verdict(wanted: list[list[int]], found: list[list[int]]) -> str:
    if wanted == found:
        return "equal"
    both = enumerate(zip(wanted[0], found[0], strict=False), 1)
    first = next((place for place, (ours, theirs) in both if ours != theirs), None)
    return "the best beam is equal, others differ" if first is None else f"differs from token {first}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Is it right on this device?")
    checks = {"ids": ids, "copies": copies}
    parser.add_argument("check", choices=checks)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--small", action="store_true", help="few modes, few tokens")
    asked = parser.parse_args()
    return 0 if checks[asked.check](asked.device, asked.small) else 1


if __name__ == "__main__":
    sys.exit(main())
