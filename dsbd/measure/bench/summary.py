"""The summary of a bench: medians with intervals, ratios to a baseline, quality, memory, energy, limits."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

from dsbd.clock import PHASES
from dsbd.measure.bench.cache_bytes import memory_of
from dsbd.measure.bench.contenders import BASELINE, Contender, Contest
from dsbd.measure.bench.limits import limits_of
from dsbd.measure.bench.paired import RULE, Runs, quality_verdict, speed_ratio
from dsbd.measure.bench.records import (
    BenchSummary,
    ContenderSummary,
    CountFigures,
    EnergyPerToken,
    QualityFigures,
    Run,
    SpeedFigures,
    SpeedRatio,
)
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import runs_of
from dsbd.measure.intervals import estimate, median_interval
from dsbd.methods import resolve


def summarise(contest: Contest, results: ResultsFile, baselines: Sequence[str] = (BASELINE,)) -> BenchSummary:
    """Return the summary of everything measured so far.

    Args:
        contest: which contenders, prompts and rounds count.
        results: the runs.
        baselines: names or methods of contenders to take ratios to; the first decides quality and limits. A baseline
            that was not measured gives no ratio.
    """
    table_of = runs_of(contest, results)
    tables = {name: rounds for name, rounds in table_of.items() if known(rounds)}
    measured = [contender for contender in contest.contenders if contender.name in tables]
    base = [wanted for wanted in baselines if any(wanted in (one.name, one.method) for one in measured)]
    ratios: dict[str, dict[str, SpeedRatio | None]] = {wanted: {} for wanted in base}
    rows = []
    for contender in measured:
        runs = tables[contender.name]
        row = contender_summary(contender, runs, results)
        for wanted in base:
            other = counterpart(contender, wanted, measured).name
            if other != contender.name:
                ratios[wanted][contender.name] = speed_ratio(runs, tables[other], other)
                if wanted == base[0]:
                    row = replace(row, quality=quality_verdict(runs, tables[other]))
        versus = ratios[base[0]].get(contender.name) if base else None
        rows.append(replace(row, limits=limits_of(row, versus.median if versus else None, results.forwards)))
    return BenchSummary(
        conditions=results.conditions,
        complete=all(None not in row for rounds in table_of.values() for row in rounds),
        prompts=len(contest.prompts),
        rounds=contest.rounds,
        baselines=tuple(base),
        quality_rule=RULE,
        forwards=results.forwards,
        contenders=tuple(rows),
        ratios=ratios,
    )


def counterpart(contender: Contender, wanted: str, measured: Sequence[Contender]) -> Contender:
    """Return the baseline to compare with: the one of this name, else of this method with most settings in common."""
    own = asdict(contender.settings)

    def agreement(other: Contender) -> int:
        return sum(own[name] == value for name, value in asdict(other.settings).items() if name in other.reads)

    named = [other for other in measured if other.name == wanted]
    return named[0] if named else max((other for other in measured if other.method == wanted), key=agreement)


def contender_summary(contender: Contender, rounds: Runs, results: ResultsFile) -> ContenderSummary:
    """Return one contender's own figures, without those that compare it with others."""
    runs = known(rounds)
    return ContenderSummary(
        contender=contender.name,
        method=contender.method,
        settings=contender.settings,
        auto_reason=contender.auto_reason,
        runs=len(runs),
        **vars(speed_figures(rounds)),
        **vars(quality_figures(rounds)),
        **vars(count_figures(runs)),
        milliseconds_per_iteration=_per_iteration(runs),
        acceptance=results.acceptance(contender),
        memory=memory_of(resolve(contender.settings).max_width, contender.drafts, runs, results.forwards),
        energy=_energy(runs),
    )


def speed_figures(rounds: Runs) -> SpeedFigures:
    """Return medians over the runs, with an interval over the prompts, and totals over totals."""
    runs = known(rounds)
    per_token = median_interval(_by_prompt(rounds, lambda run: run.milliseconds_per_token))
    seconds, prefill = sum(run.seconds for run in runs), sum(run.prefill_seconds for run in runs)
    layers = sum(run.layers for run in runs)
    interval = None if per_token.low is None or per_token.high is None else (per_token.low, per_token.high)
    return SpeedFigures(
        tokens_per_second=statistics.median(run.tokens_per_second for run in runs),
        milliseconds_per_token=per_token.median,
        milliseconds_per_token_interval=interval,
        total_tokens_per_second=layers / seconds,
        text_tokens_per_second=sum(run.new_tokens for run in runs) / seconds,
        decode_milliseconds_per_token=1000 * (seconds - prefill) / layers,
        prefill_seconds=statistics.median(run.prefill_seconds for run in runs),
    )


def quality_figures(rounds: Runs) -> QualityFigures:
    """Return means over the prompts with half of their 95 % interval."""
    perplexity = estimate(_by_prompt(rounds, lambda run: run.perplexity))
    weight = estimate(_by_prompt(rounds, lambda run: run.best_log_weight))
    per_token = estimate(_by_prompt(rounds, lambda run: run.best_log_weight_per_token))
    return QualityFigures(
        perplexity=perplexity.mean,
        perplexity_half_width=perplexity.half_width,
        best_log_weight=weight.mean,
        best_log_weight_half_width=weight.half_width,
        best_log_weight_per_token=per_token.mean,
        best_log_weight_per_token_half_width=per_token.half_width,
    )


def count_figures(runs: Sequence[Run]) -> CountFigures:
    """Return means over the runs."""
    return CountFigures(
        prompt_tokens=statistics.fmean(run.prompt_tokens for run in runs),
        layers=statistics.fmean(run.layers for run in runs),
        new_tokens=statistics.fmean(run.new_tokens for run in runs),
        target_calls=statistics.fmean(run.target_calls for run in runs),
        draft_calls=_mean([run.draft_calls for run in runs]),
        iterations=_mean([run.iterations for run in runs]),
        layers_per_iteration=_mean([run.layers_per_iteration for run in runs]),
        acceptance_rate=_mean([run.acceptance_rate for run in runs]),
        mean_width=_mean([run.mean_width for run in runs]),
    )


def _per_iteration(runs: Sequence[Run]) -> dict[str, float] | None:
    """Return the milliseconds of each phase per iteration, over all iterations of all runs."""
    timed = [run for run in runs if run.phase_seconds is not None and run.iterations]
    iterations = sum(run.iterations or 0 for run in timed)
    if not iterations:
        return None
    phases = [name for name in PHASES if name != "prefill"]
    return {name: 1000 * sum((run.phase_seconds or {})[name] for run in timed) / iterations for name in phases}


def _energy(runs: Sequence[Run]) -> dict[str, EnergyPerToken] | None:
    """Return the energy per token by device; None where no device was watched."""
    devices = sorted({name for run in runs for name in (run.energy or {})})
    return {device: _energy_of(device, runs) for device in devices} or None


def _energy_of(device: str, runs: Sequence[Run]) -> EnergyPerToken:
    """Return joules per decoded token, and per token of the returned text, over the runs that were measured."""
    used = [(run, (run.energy or {}).get(device)) for run in runs]
    measured = [(run, one.joules, one.above_idle_joules) for run, one in used if one and one.joules is not None]
    if not measured:
        return EnergyPerToken(state="not measured")
    layers = sum(run.layers for run, _, _ in measured)
    joules = sum(taken for _, taken, _ in measured)
    return EnergyPerToken(
        state="counter",
        joules_per_token=joules / layers,
        above_idle_joules_per_token=sum(above or 0.0 for _, _, above in measured) / layers,
        joules_per_text_token=joules / sum(run.new_tokens for run, _, _ in measured),
    )


def _by_prompt(rounds: Runs, figure: Callable[[Run], float]) -> list[list[float]]:
    """Return a figure of the runs that were measured, by prompt, without prompts that have none."""
    return [[figure(run) for run in row if run is not None] for row in rounds if any(row)]


def known(rounds: Runs) -> list[Run]:
    """Return the runs that were measured."""
    return [run for row in rounds for run in row if run is not None]


def _mean(values: Sequence[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return statistics.fmean(measured) if measured else None
