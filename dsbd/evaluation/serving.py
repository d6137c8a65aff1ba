"""Speed and acceptance under the names and definitions of ``vllm bench serve`` and of SGLang's ``bench_serving``.

docs/evaluation.md has the map from these names to ours.
"""

import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from dsbd.evaluation.records import Prediction

PERCENTILE = 99


def serving_figures(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Return the figures of one contender on one task, as plain data; one decode is one request, one after the other.

    Args:
        predictions: at least one.
    """
    duration = sum(one.seconds for one in predictions)
    given, made = sum(one.prompt_tokens for one in predictions), sum(one.new_tokens for one in predictions)
    timed = [one for one in predictions if one.first_token_seconds is not None]
    first = [one.first_token_seconds or 0.0 for one in timed]
    after = [
        (one.seconds - seconds) / (one.new_tokens - 1)
        for one, seconds in zip(timed, first, strict=True)
        if one.new_tokens > 1
    ]
    return {
        "duration": duration,
        "completed": len(predictions),
        "failed": 0,
        "total_input_tokens": given,
        "total_output_tokens": made,
        "request_throughput": len(predictions) / duration,
        "output_throughput": made / duration,
        "total_token_throughput": (given + made) / duration,
        **_spread("ttft", first),
        **_spread("tpot", after),
        **_spread("e2el", [one.seconds for one in predictions]),
        **_acceptance(predictions),
    }


def _spread(name: str, seconds: Sequence[float]) -> dict[str, float | None]:
    """Return mean, median, deviation and percentile in milliseconds; None where nothing was timed."""
    milliseconds = [1000 * value for value in seconds]
    if not milliseconds:
        return dict.fromkeys(f"{kind}_{name}_ms" for kind in ("mean", "median", "std", f"p{PERCENTILE}"))
    return {
        f"mean_{name}_ms": statistics.fmean(milliseconds),
        f"median_{name}_ms": statistics.median(milliseconds),
        f"std_{name}_ms": statistics.pstdev(milliseconds),
        f"p{PERCENTILE}_{name}_ms": float(np.percentile(milliseconds, PERCENTILE)),
    }


def _acceptance(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Return the figures of speculation; None where nothing was drafted. A layer of beams counts as a token."""
    drafting = [one.drafting for one in predictions if one.drafting is not None]
    drafts, drafted = sum(one.drafts for one in drafting), sum(one.drafted_layers for one in drafting)
    accepted = sum(one.accepted_layers for one in drafting)
    steps = [0] * max((len(one.steps) for one in drafting), default=0)
    for one in drafting:
        for size, count in enumerate(one.steps):
            steps[size] += count
    length = 1 + accepted / drafts if drafts else None
    return {
        "spec_decode_num_drafts": drafts or None,
        "spec_decode_draft_tokens": drafted or None,
        "spec_decode_accepted_tokens": accepted if drafts else None,
        "spec_decode_acceptance_rate": 100 * accepted / drafted if drafted else None,
        "spec_decode_acceptance_length": length,
        "spec_decode_per_position_acceptance_rates": [sum(steps[place:]) / drafts for place in range(1, len(steps))],
        "accept_length": length,
        "accepted_per_step": steps,
    }
