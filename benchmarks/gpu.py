"""Measures a twin of a real model's size: forwards against their floor, every method, widths and depths 2 to 8.

    python -m benchmarks.gpu --size 8B --draft 68M
    python -m benchmarks.gpu --size 0.3B --device cpu --max-new-tokens 32 --limit 2 --seeds 1

Runs on any device; energy and peak memory are "not measured" if the device has no counter for them. Writes
``<size>-<device>-<part>.jsonl`` (one line per decode; a stopped measurement continues there) and
``<size>-<device>.json`` (the summaries of the parts) in the folder ``--results``, and the tables to stdout.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch

import dsbd
from benchmarks.twin import SHAPES, build_twin
from dsbd.commands.bench import prompts_of
from dsbd.commands.contender_flags import names
from dsbd.files import write_file
from dsbd.measure.bench.bench import Bench
from dsbd.measure.bench.contenders import METHODS, POINTS, TRANSFORMERS, contenders
from dsbd.measure.bench.contest import Contest, plain_prompts
from dsbd.measure.bench.tables import bench_tables

RESULTS = Path(__file__).parent / "results"
BUNDLED = "bundled"
SIZES = (2, 4, 6, 8)
PARTS = ("methods", "widths", "depths")
POINTS_RUN = ("defaults", "same-law", "equal-quality", "auto-same-law", "auto-equal-quality")
BASELINES = ("beam_sampling", "hf_beam_sampling")
OURS = tuple(method for method in METHODS if method != "mjgd")
"""``mjgd`` tries every block of tokens, and a twin's vocabulary makes too many."""


def main(arguments: list[str] | None = None) -> None:
    asked = flags().parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        pair = load(asked, asked.twins or Path(scratch))
        print(json.dumps(measure(pair, asked)["conditions"], indent=1))


def flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="A twin at scale, measured")
    parser.add_argument("--size", choices=SHAPES, default="8B", help="of the target (8B)")
    parser.add_argument("--draft", choices=(BUNDLED, *SHAPES), default=BUNDLED, help="the bundled draft, or its twin")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="auto", help="auto, bfloat16, float32 (auto)")
    parser.add_argument("--engine", default="auto", help="auto, eager, traced, fused, graph (auto)")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--points", default=",".join(POINTS_RUN), help=f"of {', '.join(POINTS)}")
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--limit", type=int, help="only the first N prompts")
    parser.add_argument("--seeds", type=int, default=2, help="runs of each prompt (2)")
    parser.add_argument("--twins", type=Path, help="folder to keep the twins in (without it they are built each time)")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser


def load(asked: argparse.Namespace, folder: Path) -> dsbd.Pair:
    """Load the twin of the target, with the bundled draft or its twin."""
    target = build_twin("target", asked.size, folder / f"target-{asked.size}", asked.device)
    draft = dsbd.assets.asset_path("models/stories/draft")
    if asked.draft != BUNDLED:
        draft = build_twin("draft", asked.draft, folder / f"draft-{asked.draft}", asked.device)
    return dsbd.load_pair(target, draft, asked.device, asked.dtype, asked.engine)


def measure(pair: dsbd.Pair, asked: argparse.Namespace) -> dict[str, Any]:
    """Run the parts and write their results."""
    asked.results.mkdir(parents=True, exist_ok=True)
    name = f"{asked.size}-{pair.device.type}" + ("" if asked.engine == "auto" else f"-{asked.engine}")
    prompts, report = plain_prompts(prompts_of(None, asked.limit)), dict[str, Any]()
    for part in names(asked.parts):
        contest = Contest(contenders(*contents(part, asked)), prompts, asked.seeds)
        bench = Bench(pair, contest, asked.results / f"{name}-{part}.jsonl")
        finished = bench.run()
        summary = bench.summary(BASELINES)
        report[part] = summary.to_dict()
        report["conditions"] = report[part].pop("conditions")
        write_file(asked.results / f"{name}.json", json.dumps(report, indent=1) + "\n")
        print(f"## {part}\n\n{bench_tables(summary)}\n", flush=True)
        if not finished:
            break
    return report


def contents(part: str, asked: argparse.Namespace) -> tuple[list[str], list[str], dict[str, list[Any]]]:
    """Return the methods, points and swept settings of a part."""
    tokens = {"max_new_tokens": [asked.max_new_tokens]}
    if part == "methods":
        return [*OURS, *TRANSFORMERS], names(asked.points), tokens
    if part == "widths":
        return ["dsbd", "beam_sampling"], ["same-law"], tokens | {"num_beams": list(SIZES)}
    return ["dsbd", "beam_sampling"], ["defaults", "same-law"], tokens | {"draft_depth": list(SIZES)}


if __name__ == "__main__":
    main()
