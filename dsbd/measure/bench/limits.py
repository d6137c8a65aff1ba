"""How close a contender is to what is possible.

*Source:* docs/algorithm.md, *The engine*; the paper's Theorem 3.2.
"""

from collections.abc import Mapping
from typing import Any


def expected_layers(beta: float, threshold: float, depth: float) -> float:
    """Layers per iteration that Theorem 3.2 promises at least: (1 - b^(depth + 1)) / (1 - b), b = min(threshold, beta).

    Args:
        beta: probability that a layer reaches ``min_width``, 0 to 1.
        threshold: ``width_threshold``, 0 to 1.
        depth: layers drafted per iteration.
    """
    b = min(threshold, beta)
    return depth + 1 if b >= 1 else (1 - b ** (depth + 1)) / (1 - b)


def speed_up_limit(layers: float, depth: float, draft_share: float) -> float:
    """layers / (1 + depth * T_draft / T_target): speed over beam sampling if nothing but the forwards took time."""
    return layers / (1 + depth * draft_share)


def limits_of(row: Mapping[str, Any], speed_up: float | None, forwards: Mapping[str, Any] | None) -> Any:
    """What one contender could reach, and how much of it it does.

    Args:
        row: its summary.
        speed_up: its measured speed over beam sampling, None where that was not run.
        forwards: return value of :func:`dsbd.measure.hardware.measure_costs`.

    Returns:
        Milliseconds, layers, ratios and shares of 1 (limit / measured time, measured / possible speed), each None where
        it cannot be told; None for ``transformers``, which does not say what it ran.
    """
    iterations, layers = row["iterations"], row["layers_per_iteration"]
    if forwards is None or iterations is None:
        return None
    target, draft, settings = forwards["target"], forwards["draft"], row["settings"]
    depth = max((row["draft_calls"] - 1) / iterations, 0.0)
    beams = settings["num_beams"] if depth else max(round(row["mean_width"]), 1)
    slots = row["prompt_tokens"] + row["layers"] / 2
    floor = _floor(target, slots)
    forward = between(target["milliseconds"], (row["acceptance"] or {}).get("forward_tokens") or beams)
    found = {
        "target_floor_milliseconds": floor,
        "target_forward_milliseconds": forward,
        "beams_forward_milliseconds": between(target["milliseconds"], beams),
        "draft_depth": depth,
        "layers": layers,
        "expected_layers": None,
        "expected_speed_up_limit": None,
        "speed_up_limit": 1.0,
        "speed_up": speed_up,
        "hardware": floor / forward,
        "algorithm": None,
        "total": floor / (layers * row["decode_milliseconds_per_token"]),
    }
    if depth and draft is not None:
        found |= _drafting(row, found, between(draft["milliseconds"], settings["draft_width"]))
        both = floor + depth * _floor(draft, slots)
        found["total"] = both / (layers * row["decode_milliseconds_per_token"])
    return found


def _drafting(row: Mapping[str, Any], found: Mapping[str, Any], draft: float) -> dict[str, Any]:
    """The figures that only a drafting method has."""
    depth, share = found["draft_depth"], draft / found["beams_forward_milliseconds"]
    beta = row["acceptance"]["beta"] if row["acceptance"] else None
    expected = None
    if beta is not None:
        expected = expected_layers(beta, row["settings"]["width_threshold"], depth)
    limit = speed_up_limit(found["layers"], depth, share)
    return {
        "draft_forward_milliseconds": draft,
        "expected_layers": expected,
        "expected_speed_up_limit": None if expected is None else speed_up_limit(expected, depth, share),
        "speed_up_limit": limit,
        "algorithm": None if found["speed_up"] is None else found["speed_up"] / limit,
    }


def _floor(model: Mapping[str, Any], slots: float) -> float:
    streamed = model["weight_bytes"] + slots * model["slot_bytes"]
    return 1000 * float(streamed) / float(model["bandwidth_bytes_per_second"])


def between(milliseconds: Mapping[str, float], size: float) -> float:
    """A forward of ``size`` tokens, on straight lines between the measured sizes and level beyond them."""
    points = sorted((int(name), value) for name, value in milliseconds.items())
    below = [point for point in points if point[0] <= size] or points[:1]
    above = [point for point in points if point[0] >= size] or points[-1:]
    (low, start), (high, end) = below[-1], above[0]
    return start if high == low else start + (end - start) * (size - low) / (high - low)
