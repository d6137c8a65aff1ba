"""The statistics of a result, counted again from the iterations.

*Source:* :class:`dsbd.results.Stats`.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dsbd.tracing.checks import Checks
from dsbd.tracing.records import Iteration, Result
from dsbd.tracing.trace import Trace

Number = float | int | None


def check_stats(checks: Checks, trace: Trace, result: Result, layers: int) -> None:
    """Every statistic that follows from the record. Bytes and the seconds of the prompt do not.

    Args:
        checks: where the audit stands.
        trace: the record.
        result: its result.
        layers: how many layers became final.
    """
    stats: Mapping[str, Number] = result.stats
    for name, count in _counts(trace, result, layers).items():
        checks.same(f"statistic {name}", stats.get(name), count)
    for name, number in _numbers(trace, stats, layers).items():
        checks.close(f"statistic {name}", stats.get(name), number)


def _counts(trace: Trace, result: Result, layers: int) -> dict[str, Number]:
    iterations = trace.iterations
    verdicts = _verdicts(iterations)
    kinds = Counter(draw.kind for iteration in iterations for draw in iteration.draws)
    counts: dict[str, Number] = {name: verdicts[name] for name in ("accepted", "rejected", "orphaned", "unneeded")}
    counts |= {name: kinds[name] for name in ("recovered", "fresh", "bonus")}
    counts["landed"] = sum(draw.landed for iteration in iterations for draw in iteration.draws)
    counts |= {"layers": layers, "iterations": len(iterations), "new_tokens": len(result.token_ids)}
    prompt = int(len(trace.prompt.pieces) > 1)  # one forward over all tokens of the prompt but the last
    drafted = [iteration.draft_depth for iteration in iterations]
    if trace.models.target.attention == "forest":
        counts["target_calls"] = len(iterations) + prompt
        counts["kv_peak_slots"] = max((iteration.kept.slots_scored for iteration in iterations), default=0)
    drafting = None if trace.settings.searches_blocks else trace.models.draft  # a search has calls of its own
    if trace.settings.draft_depth == 0:
        counts["draft_calls"] = 0
    elif drafting is not None and drafting.attention == "forest":
        counts["draft_calls"] = sum(drafted) + prompt
    if not verdicts["accepted"] + verdicts["rejected"]:
        counts["acceptance_rate"] = None
    return counts


def _verdicts(iterations: Sequence[Iteration]) -> Counter[str]:
    """Count the trials by verdict; what is carried is accepted."""
    verdicts = Counter[str](trial.verdict for iteration in iterations for trial in iteration.trials)
    verdicts["accepted"] += verdicts.pop("carried", 0)
    return verdicts


def _numbers(trace: Trace, stats: Mapping[str, Number], layers: int) -> dict[str, float]:
    verdicts = _verdicts(trace.iterations)
    tried = verdicts["accepted"] + verdicts["rejected"]
    beams = [beam for iteration in trace.iterations for layer in iteration.layers for beam in layer.beams]
    phases = [vars(iteration.phases) for iteration in trace.iterations]
    numbers = {
        name: math.fsum(phase[name] for phase in phases)
        for name in ("draft_seconds", "score_seconds", "verify_seconds", "commit_seconds")
    }
    decoding = sum(numbers.values())
    numbers["seconds"] = decoding + (stats.get("prefill_seconds") or 0.0)
    numbers["layers_per_iteration"] = layers / max(len(trace.iterations), 1)
    numbers["mean_width"] = sum(beam.multiplicity for beam in beams) / max(layers, 1)
    if tried:
        numbers["acceptance_rate"] = verdicts["accepted"] / tried
    if decoding > 0:
        numbers["tokens_per_second"] = layers / decoding
    return numbers
