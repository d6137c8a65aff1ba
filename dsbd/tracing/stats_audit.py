"""The statistics of a result, counted again from the iterations.

*Source:* :class:`dsbd.results.Stats`.
"""

import math
from collections import Counter

from dsbd.tracing.checks import Checks
from dsbd.tracing.records import Result


def check_stats(checks: Checks, result: Result, layers: int) -> None:
    """Check every statistic that follows from the record. Bytes and the seconds of the prompt do not.

    Args:
        checks: of the trace.
        result: its result.
        layers: how many layers became final.
    """
    trace, stats = checks.trace, result.stats
    iterations, draft = trace.iterations, trace.models.draft
    verdicts = Counter[str](trial.verdict for iteration in iterations for trial in iteration.trials)
    verdicts["accepted"] += verdicts.pop("carried", 0)
    draws = [draw for iteration in iterations for draw in iteration.draws]
    kinds = Counter(draw.kind for draw in draws)
    counts: dict[str, int | None] = {name: verdicts[name] for name in ("accepted", "rejected", "orphaned", "unneeded")}
    counts |= {name: kinds[name] for name in ("recovered", "fresh", "bonus")}
    counts |= {"landed": sum(draw.landed for draw in draws), "layers": layers, "iterations": len(iterations)}
    counts["new_tokens"] = len(result.token_ids)
    prompt = int(len(trace.prompt.pieces) > 1)  # one forward over all tokens of the prompt but the last
    if trace.models.target.attention == "forest":
        counts["target_calls"] = len(iterations) + prompt
        counts["kv_peak_slots"] = max((iteration.kept.slots_scored for iteration in iterations), default=0)
    if trace.settings.draft_depth == 0:
        counts["draft_calls"] = 0
    elif not trace.settings.searches_blocks and draft is not None and draft.attention == "forest":
        counts["draft_calls"] = sum(iteration.draft_depth for iteration in iterations) + prompt

    seconds = {
        name: math.fsum(getattr(iteration.phases, name) for iteration in iterations)
        for name in ("draft_seconds", "score_seconds", "verify_seconds", "commit_seconds")
    }
    decoding = sum(seconds.values())
    beams = [beam for iteration in iterations for layer in iteration.layers for beam in layer.beams]
    numbers = seconds | {
        "seconds": decoding + (stats.get("prefill_seconds") or 0.0),
        "layers_per_iteration": layers / max(len(iterations), 1),
        "mean_width": sum(beam.multiplicity for beam in beams) / max(layers, 1),
    }
    tried = verdicts["accepted"] + verdicts["rejected"]
    if tried:
        numbers["acceptance_rate"] = verdicts["accepted"] / tried
    else:
        counts["acceptance_rate"] = None
    if decoding > 0:
        numbers["tokens_per_second"] = layers / decoding
    for name, count in counts.items():
        checks.same(f"statistic {name}", stats.get(name), count)
    for name, number in numbers.items():
        checks.close(f"statistic {name}", stats.get(name), number)
