"""What this machine and this pair can do, in figures and sentences."""

import os
import platform
import statistics
import time
from importlib.metadata import version
from typing import Any

import torch

from dsbd.beams import Node
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair, computes_bfloat16
from dsbd.models.rows import new_row

FOREST_SIZES = (1, 8, 16, 32, 64)
CONTEXT = 64
REPEATS = 15


def examine(pair: Pair) -> dict[str, Any]:
    """Versions, device, the forest check, and the measured cost of forwards of 1..64 tokens.

    Returns:
        Plain data; times are medians in milliseconds.
    """
    target = forward_milliseconds(pair.target)
    draft = None if pair.draft is None else forward_milliseconds(pair.draft, (1, 8))
    report: dict[str, Any] = {
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "transformers", "gradio", "plotly")},
        },
        "device": str(pair.device),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "native_bfloat16": computes_bfloat16(),
        "dtype": str(pair.target.dtype).removeprefix("torch."),
        "models": {"target": _model(pair.target), "draft": None if pair.draft is None else _model(pair.draft)},
        "checks": {role: check._asdict() for role, check in pair.checks.items()},
        "target_forward_milliseconds": target,
        "draft_forward_milliseconds": draft,
    }
    return report | {"advice": advice(report)}


@torch.inference_mode()
def forward_milliseconds(model: LanguageModel, sizes: tuple[int, ...] = FOREST_SIZES) -> dict[str, float]:
    """Median time of a forward of so many tokens behind a context of 64, sizes taken in turn after a warm-up."""
    times: dict[int, list[float]] = {size: [] for size in sizes}
    for repeat in range(REPEATS + 2):
        for size in sizes:
            seconds = _one_forward(model, size)
            if repeat >= 2:
                times[size].append(seconds)
    return {str(size): 1000 * statistics.median(values) for size, values in times.items()}


def _one_forward(model: LanguageModel, size: int) -> float:
    row, root = new_row(model), Node(None, -1, 0)
    row.prefill([place % model.vocabulary_size for place in range(CONTEXT)], root)
    row.open([root], size - 1)
    tokens = torch.arange(size - 1, device=model.device) % model.vocabulary_size
    _synchronise(model)
    start = time.perf_counter()
    row.feed(tokens, torch.zeros_like(tokens), (size - 1,))
    _synchronise(model)
    return time.perf_counter() - start


def advice(report: dict[str, Any]) -> list[str]:
    """Sentences: what is slow here, and what would be faster."""
    lines = []
    target, draft = report["target_forward_milliseconds"], report["draft_forward_milliseconds"]
    growth = target["32"] / target["1"]
    lines.append(
        f"A forest of 32 tokens costs {growth:.1f} x one token: "
        + ("wide and deep forests pay." if growth < 2 else "keep draft_width x draft_depth small.")
    )
    if draft is not None:
        share = draft["8"] / target["1"]
        lines.append(
            f"A draft step costs {share:.2f} of a target step: "
            + ("good." if share <= 0.15 else "a smaller draft model would be faster.")
        )
    for role, check in report["checks"].items():
        if not check["passed"]:
            lines.append(f"The {role} model runs one row per path, which is slow: {check['reason']}.")
    if report["dtype"] == "float32" and report["native_bfloat16"]:
        lines.append("This processor computes bfloat16 natively; dtype bfloat16 would be faster.")
    if report["device"] == "cpu":
        lines.append("A GPU would be faster: extra forest nodes ride along at no cost there.")
    return lines


def _synchronise(model: LanguageModel) -> None:
    if model.device.type == "cuda":
        torch.cuda.synchronize(model.device)


def _model(model: LanguageModel) -> dict[str, Any]:
    parameters = sum(parameter.numel() for parameter in model.model.parameters())
    return {
        "id": model.id,
        "parameters": parameters,
        "vocabulary_size": model.vocabulary_size,
        "context_size": model.context_size,
        "attention": model.attention,
    }
