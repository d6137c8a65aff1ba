"""``doctor``: report what this machine and this pair can do."""

import argparse
import statistics
import time
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from dsbd.commands.flags import add_pair_flags, pair_of
from dsbd.commands.parser import OK, new_command, print_json
from dsbd.util import ProgressLine

SIZES = {"target": (1, 8, 32), "draft": (1, 8)}
"""Tokens of the forwards that are timed."""
CONTEXT, REPEATS, WARM_UPS = 64, 15, 2
"""Tokens in the cache behind which a forward is timed, and how often."""


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    add_pair_flags(new_command(commands, "doctor", "what this machine and this pair can do", run))


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    pair = pair_of(parsed)
    with ProgressLine("measuring forwards"):
        report = examine(pair)
    if parsed.json:
        print_json(report)
        return OK
    print("versions   " + ", ".join(f"{name} {number}" for name, number in report["versions"].items()))
    print(f"device     {report['device']}, {report['cores']} cores, {report['threads']} threads")
    for role, model in report["models"].items():
        how = f"{model['dtype']}, engine {model['engine']}, {model['attention']} attention"
        print(f"{role:<11}{model['id']}, {model['parameters']:,} parameters, {how}")
        print(f"{'':<11}{model['check']['reason']} (error {model['check']['error']:.2g} of the spread)")
        times = ", ".join(f"T({size}) {time:.2f} ms" for size, time in model["forward_milliseconds"].items())
        print(f"{'':<11}{times}")
    for line in report["advice"]:
        print(f"{'':<11}{line}")
    return OK


def examine(pair: Any) -> dict[str, Any]:
    """Return versions, machine, and of each model its engine, its check and the median times of forwards."""
    from dsbd.machine import machine, versions
    from dsbd.models.pair import model_identity

    models = {}
    for role, model in (("target", pair.target), ("draft", pair.draft)):
        if model is not None:
            times = {str(size): time for size, time in forward_milliseconds(model, SIZES[role]).items()}
            found = {"check": pair.checks[role]._asdict(), "forward_milliseconds": times}
            models[role] = model_identity(model) | found
    times = models["target"]["forward_milliseconds"]
    growth, advice = times["32"] / times["1"], "wide and deep forests pay" if times["32"] < 2 * times["1"] else ""
    lines = [f"A forest of 32 tokens costs {growth:.1f} x one token: {advice or 'keep the forest small'}."]
    if "draft" in models:
        share = models["draft"]["forward_milliseconds"]["8"] / times["1"]
        lines.append(
            f"A draft step costs {share:.2f} of a target step{'' if share <= 0.15 else ': a smaller one pays'}."
        )
    lines += [f"Less than it could be: {line}." for line in pair.fallbacks]
    named = versions() | {name: version(name) for name in ("gradio", "plotly")}
    return {"versions": named, **machine(pair.device), "models": models, "advice": lines}


def forward_milliseconds(model: Any, sizes: Sequence[int]) -> dict[int, float]:
    """Return the median milliseconds of a forward, by its number of tokens (at least 1); sizes take turns."""
    import torch

    from dsbd.law.beams import Node
    from dsbd.machine import synchronise, torch_threads
    from dsbd.models.engines.choice import threaded_row

    times: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(WARM_UPS + REPEATS):
        row, node = threaded_row(model, CONTEXT + len(sizes) + max(sizes)), Node(None, -1, 0)
        with torch.inference_mode(), torch_threads(1):
            row.prefill([place % model.vocabulary_size for place in range(CONTEXT)], node)
            for size in sizes:
                row.open([node], size - 1)
                tokens = torch.arange(size - 1, device=model.device) % model.vocabulary_size
                synchronise(model.device)
                start = time.perf_counter()
                row.feed(tokens, torch.zeros_like(tokens), (size - 1,))
                synchronise(model.device)
                times[size].append(time.perf_counter() - start)
                node = node.child(0)
                row.commit([node])
    return {size: 1000 * statistics.median(values[WARM_UPS:]) for size, values in times.items()}
