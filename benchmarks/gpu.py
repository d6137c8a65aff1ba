"""What only a GPU can tell of the decoder: are the ids those of the CPU, and does an iteration copy little to the host.

    python -m benchmarks.gpu
    python -m benchmarks.gpu --device cpu --small

Exit code 1: ids differ, or an iteration copies more than once for each forward. The second rehearses on a CPU. How fast
it is there, ``python -m dsbd bench`` says.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

import dsbd
from dsbd.util import asset_path

MODES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "temperature 0": {"temperature": 0.0},
    "beam_sampling": {"method": "beam_sampling"},
    "without replacement": {"replacement": False},
    "cover nodes": {"cover_width": 8},
    "likely forest": {"forest": "likely", "draft_width": 12},
    "same law": {"min_width": 4, "max_width": 4},
    "speculative": {"method": "speculative"},
    "specinfer": {"method": "specinfer"},
}
"""Settings whose ids and copies are checked; a rehearsal takes the first three."""
PROMPT = asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()[0]


def check_ids(device: str, small: bool) -> bool:
    """Decode in float64 on this device and on the CPU with the same draws; compare the ids of all beams."""
    with draws_of_the_cpu():
        expected, found = _beams("cpu", small), _beams(device, small)
    print("| mode | ids |\n| --- | --- |")
    for mode, ids in expected.items():
        print(f"| {mode} | {'equal' if ids == found[mode] else 'differ'} |")
    return expected == found


def check_copies(device: str, small: bool) -> bool:
    """Count the copies from the device to the host, beside the iterations."""
    if not device.startswith("cuda"):
        print("not measured: a CPU copies nothing to itself")
        return True
    pair, few = dsbd.load_pair(device=device), True
    kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    print("| mode | iterations | copies |\n| --- | --- | --- |")
    for mode, settings in _settings(small).items():
        dsbd.decode(pair, PROMPT, settings)  # captures its graphs
        with torch.profiler.profile(activities=kinds) as profile:
            stats = dsbd.decode(pair, PROMPT, settings).stats
            torch.cuda.synchronize(pair.device)
        count = sum("Memcpy DtoH" in event.name for event in profile.events())
        few = few and count <= stats.draft_calls + stats.target_calls
        print(f"| {mode} | {stats.iterations} | {count} |")
    return few


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
        return noise.copy_(own_exponential(torch.empty_like(noise, device="cpu"), *given, generator=twin(generator)))

    torch.rand, torch.Tensor.exponential_ = rand, exponential
    try:
        yield
    finally:
        torch.rand, torch.Tensor.exponential_ = own_rand, own_exponential


def _settings(small: bool) -> dict[str, dsbd.DecodingSettings]:
    chosen = list(MODES.items())[: 3 if small else None]
    return {mode: dsbd.DecodingSettings(max_new_tokens=5 if small else 48, seed=3, **more) for mode, more in chosen}


def _beams(device: str, small: bool) -> dict[str, list[list[int]]]:
    """Return the ids of all beams in each mode, best first."""
    pair = dsbd.load_pair(device=device, dtype="float64")
    results = {mode: dsbd.decode(pair, PROMPT, settings) for mode, settings in _settings(small).items()}
    return {mode: [beam.token_ids for beam in result.beams] for mode, result in results.items()}


def main(arguments: list[str] | None = None) -> int:
    """Run both checks and print their tables. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Check the decoder on a GPU", allow_abbrev=False)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--small", action="store_true", help="a rehearsal with few tokens")
    asked = parser.parse_args(arguments)
    if not asked.small and not asked.device.startswith("cuda"):
        parser.error("there is no GPU here; rehearse with --device cpu --small")
    passed = [check(asked.device, asked.small) for check in (check_ids, check_copies)]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
