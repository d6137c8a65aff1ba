"""What the runs of a bench say: medians with intervals, ratios to a baseline, quality, memory, energy, limits."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dsbd.clock import PHASES
from dsbd.measure.bench.cache_bytes import memory_of
from dsbd.measure.bench.contenders import BASELINE, BenchPlan, Contender
from dsbd.measure.bench.limits import limits_of
from dsbd.measure.bench.paired import RULE, Runs, quality_verdict, speed_ratio
from dsbd.measure.bench.prepare import acceptance_name
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.results_file import FORMAT, Journal
from dsbd.measure.bench.schedule import runs_of
from dsbd.measure.intervals import estimate, median_interval
from dsbd.methods import resolve


def summarise(plan: BenchPlan, journal: Journal, baselines: Sequence[str] = (BASELINE,)) -> dict[str, Any]:
    """Plain data about everything measured so far.

    Args:
        plan: which contenders, prompts and turns count.
        journal: the runs.
        baselines: names or methods of contenders to take ratios to; the first judges quality and the limits. Those not
            measured give no ratio.

    Returns:
        ``{"format", "conditions", "complete", "prompts", "rounds", "baselines", "quality_rule", "forwards",
        "contenders": [...], "ratios": {baseline: {contender: {...}}}}``; None anywhere is "not measured".
    """
    table_of = runs_of(plan, journal)
    tables = {name: turns for name, turns in table_of.items() if known(turns)}
    measured = [contender for contender in plan.contenders if contender.name in tables]
    base = [wanted for wanted in baselines if any(wanted in (one.name, one.method) for one in measured)]
    ratios: dict[str, dict[str, Any]] = {wanted: {} for wanted in base}
    rows = []
    for contender in measured:
        turns = tables[contender.name]
        row = contender_row(contender, turns, journal) | {"quality": None}
        for wanted in base:
            other = counterpart(contender, wanted, measured).name
            if other != contender.name:
                ratio = speed_ratio(turns, tables[other])
                ratios[wanted][contender.name] = None if ratio is None else {"baseline": other, **ratio}
                if wanted == base[0]:
                    row["quality"] = quality_verdict(turns, tables[other])
        versus = ratios[base[0]].get(contender.name) if base else None
        row["limits"] = limits_of(row, versus["median"] if versus else None, journal.cost("forwards"))
        rows.append(row)
    return {
        "format": FORMAT,
        "conditions": journal.conditions,
        "complete": all(None not in row for turns in table_of.values() for row in turns),
        "prompts": len(plan.prompts),
        "rounds": plan.rounds,
        "baselines": base,
        "quality_rule": RULE,
        "forwards": journal.cost("forwards"),
        "contenders": rows,
        "ratios": ratios,
    }


def counterpart(contender: Contender, wanted: str, measured: Sequence[Contender]) -> Contender:
    """The baseline to hold a contender against: of this name, else of this method with the most settings in common."""
    own = asdict(contender.settings)

    def agreement(other: Contender) -> int:
        return sum(own[name] == value for name, value in asdict(other.settings).items() if name in other.reads)

    named = [other for other in measured if other.name == wanted]
    return named[0] if named else max((other for other in measured if other.method == wanted), key=agreement)


def contender_row(contender: Contender, turns: Runs, journal: Journal) -> dict[str, Any]:
    """One contender's figures: medians of speed, means of counts and quality."""
    runs = known(turns)
    settings = contender.settings
    return {
        "contender": contender.name,
        "method": contender.method,
        "settings": {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()
        },
        "plan": contender.plan,
        "runs": len(runs),
        **speed_figures(turns),
        **quality_figures(runs),
        **count_figures(runs),
        "milliseconds_per_iteration": _per_iteration(runs),
        "acceptance": journal.cost(acceptance_name(contender)),
        "memory": memory_of(resolve(settings).widest, contender.drafts, runs, journal.cost("forwards")),
        "energy": _energy(runs),
    }


def speed_figures(turns: Runs) -> dict[str, Any]:
    """Medians over the runs, with a bootstrap interval over the prompts; totals over totals."""
    runs = known(turns)
    per_token = median_interval([[run.milliseconds_per_token for run in row if run] for row in turns if any(row)])
    seconds, prefill = sum(run.seconds for run in runs), sum(run.prefill_seconds for run in runs)
    layers = sum(run.layers for run in runs)
    return {
        "tokens_per_second": statistics.median(run.tokens_per_second for run in runs),
        "milliseconds_per_token": per_token.median,
        "milliseconds_per_token_interval": None if per_token.low is None else [per_token.low, per_token.high],
        "total_tokens_per_second": layers / seconds,
        "text_tokens_per_second": sum(run.new_tokens for run in runs) / seconds,
        "decode_milliseconds_per_token": 1000 * (seconds - prefill) / layers,
        "prefill_seconds": statistics.median(run.prefill_seconds for run in runs),
    }


def quality_figures(runs: Sequence[Run]) -> dict[str, Any]:
    """Means over the runs with half their 95 % interval."""
    found: dict[str, Any] = {}
    for name in ("perplexity", "best_log_weight", "best_log_weight_per_token"):
        value = estimate([getattr(run, name) for run in runs])
        found |= {name: value.mean, f"{name}_half_width": value.half_width}
    return found


def count_figures(runs: Sequence[Run]) -> dict[str, Any]:
    """Means over the runs."""
    names = ("prompt_tokens", "layers", "new_tokens", "target_calls", "draft_calls", "iterations",
             "layers_per_iteration", "acceptance_rate", "mean_width")  # fmt: skip
    return {name: _mean([getattr(run, name) for run in runs]) for name in names}


def _per_iteration(runs: Sequence[Run]) -> dict[str, float] | None:
    """Milliseconds of each phase, over all iterations of all runs."""
    timed = [run for run in runs if run.phase_seconds is not None and run.iterations]
    iterations = sum(run.iterations or 0 for run in timed)
    if not iterations:
        return None
    phases = [name for name in PHASES if name != "prefill"]
    return {name: 1000 * sum((run.phase_seconds or {})[name] for run in timed) / iterations for name in phases}


def _energy(runs: Sequence[Run]) -> dict[str, Any] | None:
    """Joules per decoded token and per token of the returned text, by device; None where not measured."""
    found: dict[str, Any] = {}
    for device in sorted({name for run in runs for name in (run.energy or {})}):
        taken = [(run, (run.energy or {}).get(device)) for run in runs]
        measured = [(run, one) for run, one in taken if one is not None and one["joules"] is not None]
        layers = sum(run.layers for run, _ in measured)
        tokens = sum(run.new_tokens for run, _ in measured)
        joules = sum(one["joules"] for _, one in measured)
        above = sum(one["above_idle_joules"] for _, one in measured)
        found[device] = {
            "state": measured[0][1]["state"] if measured else "not measured",
            "joules_per_token": joules / layers if measured else None,
            "above_idle_joules_per_token": above / layers if measured else None,
            "joules_per_text_token": joules / tokens if measured else None,
        }
    return found or None


def known(turns: Runs) -> list[Run]:
    """The runs that were measured."""
    return [run for row in turns for run in row if run is not None]


def _mean(values: Sequence[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return statistics.fmean(measured) if measured else None
