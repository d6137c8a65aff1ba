"""How close a contender comes to what is possible.

*Source:* Theorem 3.2 of the paper; docs/algorithm.md, *The engine*.
"""

import math
from dataclasses import replace

from dsbd.depth import expected_layers
from dsbd.measure.bench.records import ContenderSummary, Forwards, Limits, ModelCosts
from dsbd.methods import resolve
from dsbd.settings import DecodingSettings


def layers_at_depth(continuation: float, depth: float) -> float:
    """Return expected layers per iteration at a mean draft depth, interpolated between the two whole depths beside it.

    ``continuation`` is the probability that a draft layer lets verification go on.
    """
    low = math.floor(depth)
    share = depth - low
    return (1 - share) * expected_layers(continuation, low) + share * expected_layers(continuation, low + 1)


def speed_up_limit(layers: float, depth: float, draft_share: float) -> float:
    """Return the speed over beam sampling if only the forwards took time: layers / (1 + depth * T_draft / T_target)."""
    return layers / (1 + depth * draft_share)


def limits_of(row: ContenderSummary, speed_up: float | None, forwards: Forwards | None) -> Limits | None:
    """Return what one contender could reach and how much of it it reaches; ``speed_up`` is over beam sampling.

    Returns:
        None without costs, and for ``transformers``, which does not report what it ran.
    """
    if forwards is None or row.iterations is None or row.layers_per_iteration is None:
        return None
    target, layers = forwards.target, row.layers_per_iteration
    depth = max(((row.draft_calls or 0) - 1) / row.iterations, 0.0)
    beams = row.settings.num_beams if depth else max(round(row.mean_width or 1), 1)
    slots = row.prompt_tokens + row.layers / 2
    floor = _floor(target, slots)
    tokens = row.acceptance.forward_tokens if row.acceptance else None
    forward = forward_of(target, tokens or beams)
    measured = layers * row.decode_milliseconds_per_token
    found = Limits(
        target_floor_milliseconds=floor,
        target_forward_milliseconds=forward,
        beams_forward_milliseconds=forward_of(target, beams),
        draft_depth=depth,
        layers=layers,
        speed_up=speed_up,
        hardware=floor / forward,
        total=floor / measured,
    )
    if depth and forwards.draft is not None:
        total = (floor + depth * _floor(forwards.draft, slots)) / measured
        return replace(_with_drafting(found, row, forwards.draft), total=total)
    return found


def _with_drafting(limits: Limits, row: ContenderSummary, draft: ModelCosts) -> Limits:
    """Add the figures that only a drafting method has."""
    forward = forward_of(draft, _draft_slots(row.settings))
    share = forward / limits.beams_forward_milliseconds
    expected = None
    if row.acceptance is not None and row.acceptance.beta is not None:
        expected = layers_at_depth(min(row.settings.width_threshold, row.acceptance.beta), limits.draft_depth)
    limit = speed_up_limit(limits.layers, limits.draft_depth, share)
    return replace(
        limits,
        draft_forward_milliseconds=forward,
        expected_layers=expected,
        expected_speed_up_limit=None if expected is None else speed_up_limit(expected, limits.draft_depth, share),
        speed_up_limit=limit,
        algorithm=None if limits.speed_up is None else limits.speed_up / limit,
    )


def _draft_slots(settings: DecodingSettings) -> float:
    """Return the mean number of tokens that a forward of the draft model takes."""
    if settings.method != "specinfer":
        return int(settings.draft_width)
    fed = (1, *resolve(settings).layer_slots[:-1])
    return sum(fed) / len(fed)


def _floor(model: ModelCosts, slots: float) -> float:
    """Return the least milliseconds in which weights and so many slots can be read."""
    return 1000 * (model.weight_bytes + slots * model.slot_bytes) / model.bandwidth_bytes_per_second


def forward_of(model: ModelCosts, size: float) -> float:
    """Return the milliseconds of a forward of ``size`` tokens: linear between measured sizes, constant beyond."""
    points = sorted(model.milliseconds.items())
    below = [point for point in points if point[0] <= size] or points[:1]
    above = [point for point in points if point[0] >= size] or points[-1:]
    (low, start), (high, end) = below[-1], above[0]
    return start if high == low else start + (end - start) * (size - low) / (high - low)
