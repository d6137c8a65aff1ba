"""What this machine and this pair can do, in figures and sentences."""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from dsbd.api import plan
from dsbd.conditions import model_identity
from dsbd.machine import machine, versions
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair
from dsbd.models.timing import forward_milliseconds
from dsbd.settings import AUTO, AUTO_FIELDS, DecodingSettings

FOREST_SIZES = (1, 8, 16, 32, 64)
DRAFT_SIZES = (1, 8)
PLAN_PROMPT = "One day, a little girl"
_EVERYTHING: dict[str, Any] = dict.fromkeys(AUTO_FIELDS, AUTO)
PLAN_SETTINGS = DecodingSettings(**_EVERYTHING)


def examine(pair: Pair) -> dict[str, Any]:
    """Report versions, device, checks, measured times of forwards of 1 to 64 tokens, and what ``auto`` would choose.

    Returns:
        Plain data; times are medians in milliseconds, by the number of tokens as text.
    """
    target = _times(pair.target, FOREST_SIZES)
    draft = None if pair.draft is None else _times(pair.draft, DRAFT_SIZES)
    report: dict[str, Any] = {
        "versions": versions() | {name: version(name) for name in ("gradio", "plotly")},
        **machine(pair.device),
        "engine": pair.target.engine,
        "dtype": str(pair.target.dtype).removeprefix("torch."),
        "models": {"target": _model(pair.target), "draft": None if pair.draft is None else _model(pair.draft)},
        "checks": {role: check._asdict() for role, check in pair.checks.items()},
        "target_forward_milliseconds": target,
        "draft_forward_milliseconds": draft,
    }
    if pair.draft is not None:
        report["plan"] = asdict(plan(pair, PLAN_PROMPT, PLAN_SETTINGS))
    return report | {"advice": advice(report) + [f"Slower than it could be: {line}." for line in pair.fallbacks]}


def advice(report: dict[str, Any]) -> list[str]:
    """Return sentences: what is slow here, and what would be faster."""
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
    if "plan" in report:
        lines.append(f"auto: {report['plan']['sentence']}")
    if report["dtype"] == "float32" and report["native_bfloat16"] and report["engine"] != "onnx":
        lines.append("This processor computes bfloat16 natively; dtype bfloat16 would be faster.")
    if report["device"] == "cpu":
        lines.append("A GPU would be faster: there, extra forest nodes cost almost nothing.")
    return lines


def _times(model: LanguageModel, sizes: Sequence[int]) -> dict[str, float]:
    return {str(size): milliseconds for size, milliseconds in forward_milliseconds(model, sizes).items()}


def _model(model: LanguageModel) -> dict[str, Any]:
    return model_identity(model) | {
        "vocabulary_size": model.vocabulary_size,
        "context_size": model.context_size,
    }
