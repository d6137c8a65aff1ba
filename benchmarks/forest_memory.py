"""Measures the memory of an iteration as the forest and the context grow: one row for all beams, and two rivals.

    python -m benchmarks.forest_memory --output benchmarks/results/forest_memory.json --report forest_memory.html

Each point runs in a process of its own: the target reads a prompt, then scores a forest of ``width`` chains of
``depth`` tokens. Measured is the peak of the process's memory (on a GPU: of the memory allocated) above what it was
with the weights loaded and a short forward done, so weights do not count and activations do.

- *one row*: the cache row that all beams share, as this decoder does it.
- *a cache per path*: the prompt's keys and values copied for every path, as in the paper's own design.
- *a row per path*: no cache, the fallback for models on which the forest mask fails.
"""

import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache

from dsbd.commands.pair_flags import add_pair_flags, pair_of
from dsbd.files import write_file
from dsbd.law.beams import Node
from dsbd.machine import conditions
from dsbd.measure.bench.tables import table
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.new import new_row
from dsbd.models.rows.paths import PathRows
from dsbd.models.rows.row import Row

CONTEXTS = (128, 512, 1920)
WIDTHS = (4, 16, 64)
DEPTH = 4
PAIR_FLAGS = ("pair", "target", "draft", "device", "dtype", "engine")
TOKEN = 7
"""The one token id of every prompt and forest: which tokens they are does not change their memory."""
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def main(arguments: list[str] | None = None) -> None:
    asked = flags().parse_args(arguments)
    if asked.child:
        print(json.dumps(one_point(pair_of(asked).target, json.loads(asked.child))))
        return
    pair = pair_of(asked)
    room = (pair.target.context_size or 10**9) - asked.depth - 1
    report: dict[str, Any] = {"format": "dsbd-forest-memory/1", "conditions": conditions(pair), "depth": asked.depth}
    points = points_of([one for one in numbers(asked.contexts) if one <= room], numbers(asked.widths), asked.depth)
    del pair
    report["rows"] = []
    for point in points:
        report["rows"].append(point | in_a_process(asked, point))
        print(json.dumps(report["rows"][-1]), file=sys.stderr, flush=True)
    print(table_of(report["rows"]))
    if asked.output:
        write_file(asked.output, json.dumps(report, indent=1) + "\n")
    if asked.report:
        from visualize.figures.forest_memory import forest_memory_figure

        forest_memory_figure(report).write_html(asked.report, include_plotlyjs=True)


def flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Memory of an iteration as forest and context grow")
    add_pair_flags(parser)
    parser.add_argument("--contexts", default=",".join(map(str, CONTEXTS)), help="tokens of the prompt")
    parser.add_argument("--widths", default=",".join(map(str, WIDTHS)), help="chains of the forest")
    parser.add_argument("--depth", type=int, default=DEPTH, help=f"tokens of a chain ({DEPTH})")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser


def points_of(contexts: Sequence[int], widths: Sequence[int], depth: int) -> list[dict[str, Any]]:
    """Return what is measured: every way at every context and width."""
    return [
        {"context": context, "width": width, "depth": depth, "way": way, "nodes": width * depth}
        for context, width, way in product(contexts, widths, WAYS)
    ]


def numbers(text: str) -> list[int]:
    """Return the whole numbers of a comma-separated list."""
    return [int(part) for part in text.split(",")]


def in_a_process(asked: argparse.Namespace, point: dict[str, Any]) -> dict[str, Any]:
    """Return what a new process measures at one point."""
    command = [sys.executable, "-m", "benchmarks.forest_memory", "--child", json.dumps(point)]
    for name in PAIR_FLAGS:
        value = getattr(asked, name)
        command += [] if value is None else [f"--{name}", value]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).resolve().parents[1], check=False)
    if done.returncode:
        raise SystemExit(f"forest_memory: {point} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@torch.inference_mode()
def one_point(target: LanguageModel, point: dict[str, Any]) -> dict[str, Any]:
    """Run one point in this process; returns its bytes, None where they cannot be measured."""
    target.forward(torch.full((1, 8), TOKEN, device=target.device))
    gc.collect()
    before = begin(target.device)
    cache_bytes = WAYS[point["way"]](target, point["context"], point["width"], point["depth"])
    after = peak(target.device)
    grown = None if before is None or after is None else max(after - before, 0)
    return {"peak_bytes": grown, "cache_bytes": cache_bytes}


def one_row(target: LanguageModel, context: int, width: int, depth: int) -> int:
    """Score the forest on the row that all beams share; returns the bytes of its keys and values."""
    return scored(new_row(target, context + width * depth), target, context, width, depth)


def row_per_path(target: LanguageModel, context: int, width: int, depth: int) -> int:
    """Score the forest as paths that are computed from their first token on."""
    return scored(PathRows(target), target, context, width, depth)


def scored(row: Row, target: LanguageModel, context: int, width: int, depth: int) -> int:
    root = Node(None, -1, 0)
    row.prefill([TOKEN] * context, root)
    row.open([root], width * depth)
    tokens = torch.full((width * depth,), TOKEN, device=target.device)
    parents = torch.tensor([max(place - width + 1, 0) for place in range(width * depth)], device=target.device)
    row.feed(tokens, parents, [width] * depth)
    return row.peak_bytes


def cache_per_path(target: LanguageModel, context: int, width: int, depth: int) -> int:
    """Copy the prompt's cache for every path and feed all paths as a batch."""
    cache = DynamicCache()
    target.forward(torch.full((1, context - 1), TOKEN, device=target.device), cache=cache, last_only=True)
    cache.batch_repeat_interleave(width)
    positions = torch.arange(context - 1, context + depth, device=target.device).expand(width, -1)
    target.forward(torch.full((width, depth + 1), TOKEN, device=target.device), positions=positions, cache=cache)
    layers = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    return sum(tensor.numel() * tensor.element_size() for tensor in layers)


WAYS: dict[str, Callable[[LanguageModel, int, int, int], int]] = {
    "one row": one_row,
    "a cache per path": cache_per_path,
    "a row per path": row_per_path,
}


def begin(device: torch.device) -> int | None:
    """Forget the peak so far; returns the bytes in use now."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return torch.cuda.memory_allocated(device)
    try:
        RESET.write_text("5", encoding="ascii")
    except OSError:
        return None
    return peak(device)


def peak(device: torch.device) -> int | None:
    """Return the largest number of bytes in use since :func:`begin`; None where the system does not count them."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        lines = STATUS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), None)


def table_of(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table."""
    heads = ["context", "nodes", "how", "peak MB", "keys and values MB"]
    return table(heads, [
        [str(row["context"]), str(row["nodes"]), row["way"], mega(row["peak_bytes"]), mega(row["cache_bytes"])]
        for row in rows
    ])  # fmt: skip


def mega(size: int | None) -> str:
    """Return megabytes, or that nothing was measured."""
    return "not measured" if size is None else f"{size / 1e6:.1f}"


if __name__ == "__main__":
    main()
