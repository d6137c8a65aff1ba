"""DSBD beside beam sampling on the bundled pair: two points, interleaved, with the quality beside the speed.

    python benchmarks/first_light.py --output benchmarks/results/first_light.json

Equal quality: DSBD's defaults (dynamic width) against our beam sampling with ``num_beams`` beams and against
``transformers`` ``generate(do_sample=True, num_beams=...)``, which is a law of its own (it warps each beam before
joining, draws twice as many pairs without replacement and keeps the best scores); temperature, top_k and top_p are
passed to it explicitly. Same law: DSBD with ``min_width = max_width = num_beams``.

Every prompt runs every method once, in turn, after a warm-up; a method's figure is the median over the prompts, a
ratio the median over the prompts of the ratio on that prompt. Seconds are the wall clock of the whole call, prefill
included, over the tokens decoded.
"""

import argparse
import json
import math
import platform
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

import dsbd
from dsbd.measure.quality import estimate, log_likelihood, perplexity

PROMPTS = Path(__file__).parent / "prompts.txt"
BOOTSTRAP = 2000


class Run(NamedTuple):
    """One call: seconds, tokens decoded, quality of the returned text, and engine figures where there are any."""

    seconds: float
    tokens: int
    perplexity: float
    best_log_weight: float
    layers_per_iteration: float | None
    acceptance_rate: float | None
    phases: dict[str, float] | None


Method = Callable[[str, int, int], Run]


def main() -> None:
    parser = argparse.ArgumentParser(description="DSBD beside beam sampling on one pair")
    parser.add_argument("--target")
    parser.add_argument("--draft")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--new-tokens", type=int, default=64)
    parser.add_argument("--num-beams", type=int, default=4)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=1, help="times each prompt is run, with another seed")
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    pair = dsbd.load_pair(asked.target, asked.draft, asked.device, asked.dtype)
    prompts = PROMPTS.read_text().splitlines()
    runs = measure(methods_of(pair, asked), prompts, asked.rounds, asked.new_tokens)
    report = {
        "command": " ".join(["python", *sys.argv]),
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads, {pair.device}, {pair.target.dtype}",
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__, "dsbd": dsbd.__version__},
        "new_tokens": asked.new_tokens,
        "num_beams": asked.num_beams,
        "temperature": asked.temperature,
        "prompts": len(prompts),
        "rounds": asked.rounds,
        "methods": {name: summary(rows) for name, rows in runs.items()},
        "ratios": ratios(runs),
    }
    show(report)
    if asked.output:
        asked.output.write_text(json.dumps(report, indent=1) + "\n")


def methods_of(pair: dsbd.Pair, asked: argparse.Namespace) -> dict[str, Method]:
    """The methods by name, baselines first."""
    common = dsbd.DecodingSettings(
        max_new_tokens=asked.new_tokens, num_beams=asked.num_beams, temperature=asked.temperature
    )
    beams = asked.num_beams
    fixed = {"min_width": beams, "max_width": beams}
    settings = {
        "beam_sampling": replace(common, method="beam_sampling"),
        "dsbd": common,
        "dsbd, same law": replace(common, **fixed),
        "dsbd, cover_width 8": replace(common, cover_width=8),
        "dsbd, same law, cover_width 8": replace(common, cover_width=8, **fixed),
        "dsbd, the paper (no landing)": replace(common, landing=False),
        "dsbd, draft_depth 3": replace(common, draft_depth=3),
    }
    methods = {name: _ours(pair, one) for name, one in settings.items()}
    return {"transformers beam sampling": _theirs(pair, common), **methods}


def _ours(pair: dsbd.Pair, settings: dsbd.DecodingSettings) -> Method:
    def run(prompt: str, seed: int, new_tokens: int) -> Run:
        start = time.perf_counter()
        result = dsbd.decode(pair, prompt, replace(settings, seed=seed, max_new_tokens=new_tokens))
        _synchronise(pair)
        seconds, stats = time.perf_counter() - start, result.stats
        phases = {
            name: 1000 * getattr(stats, f"{name}_seconds") / stats.iterations
            for name in ("draft", "score", "verify", "commit")
        }
        quality = _quality(pair, prompt, result.token_ids)
        best = max(beam.log_weight / len(beam.token_ids) for beam in result.beams)
        return Run(seconds, stats.layers, quality, best, stats.layers_per_iteration, stats.acceptance_rate, phases)

    return run


def _theirs(pair: dsbd.Pair, settings: dsbd.DecodingSettings) -> Method:
    def run(prompt: str, seed: int, new_tokens: int) -> Run:
        ids = pair.encode(prompt)
        tokens = torch.tensor([ids], device=pair.device)
        torch.manual_seed(seed)
        start = time.perf_counter()
        output = pair.target.model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=True,
            num_beams=settings.num_beams,
            max_new_tokens=new_tokens,
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
            length_penalty=settings.length_penalty,
            pad_token_id=min(pair.eos),
        )
        _synchronise(pair)
        seconds, new = time.perf_counter() - start, output[0, len(ids) :].tolist()
        quality = _quality(pair, prompt, new)
        return Run(seconds, len(new), quality, -math.log(quality), None, None, None)

    return run


def _quality(pair: dsbd.Pair, prompt: str, token_ids: list[int]) -> float:
    """Perplexity of the returned text under the unwarped target."""
    return perplexity(log_likelihood(pair.target, pair.encode(prompt), token_ids), len(token_ids))


def _synchronise(pair: dsbd.Pair) -> None:
    if pair.device.type == "cuda":
        torch.cuda.synchronize(pair.device)


def measure(methods: dict[str, Method], prompts: list[str], rounds: int, new_tokens: int) -> dict[str, list[Run]]:
    """Every method on every prompt, in turn, the order shuffled per prompt."""
    for method in methods.values():
        method(prompts[0], 0, 8)
    runs: dict[str, list[Run]] = {name: [] for name in methods}
    order = random.Random(0)
    for seed in range(rounds):
        for place, prompt in enumerate(prompts):
            print(f"\rround {seed + 1}/{rounds}, prompt {place + 1}/{len(prompts)}", end="", file=sys.stderr)
            for name in order.sample(list(methods), len(methods)):
                runs[name].append(methods[name](prompt, seed, new_tokens))
    print(file=sys.stderr)
    return runs


def summary(rows: list[Run]) -> dict[str, Any]:
    """Medians of speed, means of quality with their 95 % interval."""
    quality, best = estimate([row.perplexity for row in rows]), estimate([row.best_log_weight for row in rows])
    layers = [row.layers_per_iteration for row in rows if row.layers_per_iteration is not None]
    accepted = [row.acceptance_rate for row in rows if row.acceptance_rate is not None]
    phases = [row.phases for row in rows if row.phases is not None]
    return {
        "milliseconds_per_token": statistics.median(1000 * row.seconds / row.tokens for row in rows),
        "tokens_per_second": statistics.median(row.tokens / row.seconds for row in rows),
        "total_tokens_per_second": sum(row.tokens for row in rows) / sum(row.seconds for row in rows),
        "perplexity": quality.mean,
        "perplexity_half_width": quality.half_width,
        "best_log_weight_per_token": best.mean,
        "best_log_weight_per_token_half_width": best.half_width,
        "layers_per_iteration": statistics.fmean(layers) if layers else None,
        "acceptance_rate": statistics.fmean(accepted) if accepted else None,
        "milliseconds_per_iteration": {
            name: statistics.median(row[name] for row in phases) for name in (phases[0] if phases else ())
        },
    }


def ratios(runs: dict[str, list[Run]]) -> dict[str, dict[str, Any]]:
    """Speed over each baseline: median over prompts, bootstrap interval, and on how many prompts it is above 1."""
    found: dict[str, dict[str, Any]] = {}
    for baseline in ("beam_sampling", "transformers beam sampling"):
        for name, rows in runs.items():
            if name != baseline:
                pairs = zip(rows, runs[baseline], strict=True)
                values = [(ours.tokens / ours.seconds) / (base.tokens / base.seconds) for ours, base in pairs]
                found[f"{name} / {baseline}"] = {
                    "median": statistics.median(values),
                    "interval_95": bootstrap(values),
                    "above_1": sum(value > 1 for value in values),
                    "of": len(values),
                }
    return found


def bootstrap(values: list[float]) -> list[float]:
    """95 % interval of the median."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(values, k=len(values))) for _ in range(BOOTSTRAP))
    return [medians[int(0.025 * BOOTSTRAP)], medians[int(0.975 * BOOTSTRAP)]]


def show(report: dict[str, Any]) -> None:
    """A table for people."""
    header = f"{'method':<34}{'ms/token':>9}{'tok/s':>8}{'layers/it':>10}{'accept':>8}"
    print(f"{header}  {'perplexity':<14}{'log-w/token':<14}")
    for name, row in report["methods"].items():
        layers = f"{row['layers_per_iteration']:.2f}" if row["layers_per_iteration"] else "-"
        accepted = f"{row['acceptance_rate']:.2f}" if row["acceptance_rate"] else "-"
        quality = f"{row['perplexity']:.2f} ± {row['perplexity_half_width']:.2f}"
        best = f"{row['best_log_weight_per_token']:.2f} ± {row['best_log_weight_per_token_half_width']:.2f}"
        speed = f"{row['milliseconds_per_token']:>9.2f}{row['tokens_per_second']:>8.1f}"
        print(f"{name:<34}{speed}{layers:>10}{accepted:>8}  {quality:<14}{best:<14}")
    for name, row in report["ratios"].items():
        low, high = row["interval_95"]
        print(f"{name:<70}{row['median']:>6.2f} x  [{low:.2f}, {high:.2f}]  above 1 on {row['above_1']} of {row['of']}")


if __name__ == "__main__":
    main()
