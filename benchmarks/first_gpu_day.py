"""Everything that only a GPU can tell, in one command of an hour: is it right there, and how fast is it.

    python -m benchmarks.first_gpu_day
    python -m benchmarks.first_gpu_day --target Qwen/Qwen3-8B --draft Qwen/Qwen3-0.6B

Every step has a budget of minutes; what it prints is kept in ``--results``, and together makes the file ``report.md``
there. The same command goes on where it was stopped. Exit code 1: ids differ from those of the CPU, an iteration copies
to the host more than once for each forward, or a step failed. ``--device cpu --small`` rehearses with few tokens.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

import dsbd
from dsbd.util import asset_path

ROOT = Path(__file__).resolve().parents[1]
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
BENCH = "dsbd bench --methods dsbd,dsbd:same-law,beam_sampling,hf_beam_sampling --max-new-tokens 128 --seeds 1"
FEW = ["--limit", "1", "--max-new-tokens", "4"]
STEPS = {
    "machine": (2, "dsbd doctor"),
    "ids": (5, "benchmarks.first_gpu_day --check ids"),
    "copies": (3, "benchmarks.first_gpu_day --check copies"),
    "temperature 1": (10, BENCH),
    "temperature 0.7": (10, f"{BENCH} --temperature 0.7"),
    "float32": (5, f"{BENCH} --dtype float32"),
    "quality": (5, "dsbd eval --pair sql --tasks sql --limit 100 --methods beam_sampling,dsbd:same-law,speculative"),
}
"""{name: (minutes, module with its flags)}."""


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


def run_step(name: str, asked: argparse.Namespace) -> bool:
    """Run a step within its budget unless it is done, and keep what it prints; say whether it succeeded."""
    minutes, command = STEPS[name]
    kept = asked.results / f"{name.replace(' ', '-')}.md"
    if kept.exists():
        return True
    words = [sys.executable, "-m", *command.split(), "--device", asked.device]
    if command.startswith("benchmarks"):
        words += ["--small"] if asked.small else []
    elif command.startswith(("dsbd bench", "dsbd eval")):
        words += FEW if asked.small else []
        words += ["--target", asked.target, "--draft", asked.draft] if asked.target and asked.draft else []
    try:
        ended = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=60 * minutes, check=False)
    except subprocess.TimeoutExpired:
        print(f"{name}: longer than {minutes} minutes", flush=True)
        return False
    told = ended.stdout.strip()
    text = told if told.startswith("|") else f"```text\n{told}\n```"
    (kept if ended.returncode == 0 else kept.with_suffix(".failed")).write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {'done' if ended.returncode == 0 else 'failed'}", flush=True)
    return ended.returncode == 0


def main(arguments: list[str] | None = None) -> int:
    """Run what is not done yet and write the report. Returns the exit code."""
    parser = argparse.ArgumentParser(description="The first day on a GPU", allow_abbrev=False)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks/results/gpu", help="what the steps printed")
    parser.add_argument("--only", help="steps, with commas between them: " + ", ".join(STEPS))
    parser.add_argument("--target", help="a large target for the benches (the bundled pair)")
    parser.add_argument("--draft", help="its draft model")
    parser.add_argument("--small", action="store_true", help="a rehearsal with few tokens")
    parser.add_argument("--check", choices=("ids", "copies"), help="run one check here, and print its table")
    asked = parser.parse_args(arguments)
    if not asked.small and not asked.device.startswith("cuda"):
        parser.error("there is no GPU here; rehearse with --device cpu --small --results DIR")
    if asked.check:
        return 0 if (check_ids if asked.check == "ids" else check_copies)(asked.device, asked.small) else 1
    names = asked.only.split(",") if asked.only else [*STEPS]
    if unknown := sorted({*names} - {*STEPS}):
        parser.error(f"there is no step {unknown[0]!r}; choose from {', '.join(STEPS)}")
    asked.results.mkdir(parents=True, exist_ok=True)
    succeeded = [run_step(name, asked) for name in names]
    files = {name: asked.results / f"{name.replace(' ', '-')}.md" for name in STEPS}
    parts = [f"## {name}\n\n{file.read_text(encoding='utf-8')}" for name, file in files.items() if file.exists()]
    (asked.results / "report.md").write_text("\n".join(["# On a GPU\n", *parts]), encoding="utf-8")
    return 0 if all(succeeded) else 1


if __name__ == "__main__":
    sys.exit(main())
