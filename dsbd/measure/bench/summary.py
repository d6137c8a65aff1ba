"""The summary of a bench: medians with intervals, ratios to a baseline, quality, memory, energy, limits."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, replace
from operator import attrgetter
from typing import Any

from dsbd.clock import PHASES
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import BASELINE, Contender
from dsbd.measure.bench.contest import Contest
from dsbd.measure.bench.limits import limits_of
from dsbd.measure.bench.paired import RULE, by_cluster, quality_verdict, speed_ratio
from dsbd.measure.bench.records import (
    BenchSummary,
    ContenderSummary,
    Control,
    EnergyPerToken,
    Forwards,
    OtherCaches,
    PeakMemory,
    Run,
    SpeedRatio,
)
from dsbd.measure.intervals import estimate, median_interval
from dsbd.methods import resolve
from dsbd.settings import DecodingSettings

COUNTS = ("prompt_tokens", "layers", "new_tokens", "target_calls", "draft_calls", "iterations",
          "layers_per_iteration", "acceptance_rate", "mean_width")  # fmt: skip
CONTROL_PROMPTS = 3
"""The control decodes this many prompts of the contest."""
QUALITY = ("perplexity", "best_log_weight", "best_log_weight_per_token")


def summarise(contest: Contest, answers: AnswersFile, baselines: Sequence[str] = (BASELINE,)) -> BenchSummary:
    """Return the summary of everything measured so far.

    ``baselines`` are names or methods of contenders to take ratios to; the first decides quality and limits. One that
    was not measured gives no ratio.
    """
    contest = replace(contest, contenders=answers.with_auto(contest.contenders))
    runs_of = {one.name: [run for run in answers.runs if run.contender == one.name] for one in contest.contenders}
    measured = [contender for contender in contest.contenders if runs_of[contender.name]]
    base = [wanted for wanted in baselines if any(wanted in (one.name, one.method) for one in measured)]
    ratios: dict[str, dict[str, SpeedRatio | None]] = {wanted: {} for wanted in base}
    rows = []
    for contender in measured:
        runs = runs_of[contender.name]
        row = contender_summary(contender, runs, answers)
        for wanted in base:
            other = counterpart(contender, wanted, measured).name
            if other != contender.name:
                ratios[wanted][contender.name] = speed_ratio(runs, runs_of[other], other)
                if wanted == base[0]:
                    row = replace(row, quality=quality_verdict(runs, runs_of[other]))
        versus = ratios[base[0]].get(contender.name) if base else None
        rows.append(replace(row, limits=limits_of(row, versus.median if versus else None, answers.forwards)))
    return BenchSummary(
        conditions=answers.head.get("conditions", {}),
        complete=len(answers.runs) >= contest.total,
        prompts=len(contest.prompts),
        rounds=contest.rounds,
        baselines=tuple(base),
        quality_rule=RULE,
        forwards=answers.forwards,
        control=_control(contest, answers),
        contenders=tuple(rows),
        ratios=ratios,
    )


def control_of(contest: Contest) -> Contender:
    """Return our beam sampling as the contest has it; if it has none, with four beams and as many new tokens."""
    own = [one for one in contest.contenders if one.method == BASELINE]
    tokens = contest.contenders[0].settings.max_new_tokens
    return own[0] if own else Contender(BASELINE, BASELINE, DecodingSettings(method=BASELINE, max_new_tokens=tokens))


def _control(contest: Contest, answers: AnswersFile) -> Control | None:
    """Return the medians over the sessions, beside the contest's own decodes of the control's prompts."""
    if not answers.controls:
        return None
    turns = [contest.turn(prompt, control_of(contest)) for prompt in contest.prompts[:CONTROL_PROMPTS]]
    same = [run.milliseconds_per_token for run in map(answers.find, turns) if run is not None]
    return Control(
        before=statistics.median(one.before for one in answers.controls),
        after=statistics.median(one.after for one in answers.controls),
        row=statistics.fmean(same) if same else None,
        openmp_runtimes=max(one.openmp_runtimes for one in answers.controls),
    )


def counterpart(contender: Contender, wanted: str, measured: Sequence[Contender]) -> Contender:
    """Return the baseline to compare with: the one of this name, else of this method with most settings in common."""
    own = asdict(contender.settings)

    def agreement(other: Contender) -> int:
        return sum(own[name] == value for name, value in asdict(other.settings).items() if name in other.reads)

    named = [other for other in measured if other.name == wanted]
    return named[0] if named else max((other for other in measured if other.method == wanted), key=agreement)


def contender_summary(contender: Contender, runs: Sequence[Run], answers: AnswersFile) -> ContenderSummary:
    """Return the figures of one contender, without those that compare it with others."""
    return ContenderSummary(
        contender=contender.name,
        method=contender.method,
        settings=contender.settings,
        auto_reason=contender.auto_reason,
        runs=len(runs),
        **speed_figures(runs),
        **quality_figures(runs),
        **{name: _mean([getattr(run, name) for run in runs]) for name in COUNTS},
        milliseconds_per_iteration=_per_iteration(runs),
        acceptance=answers.acceptance.get(contender.name),
        memory=memory_of(resolve(contender.settings).max_width, contender.drafts, runs, answers.forwards),
        energy=_energy(runs),
    )


def speed_figures(runs: Sequence[Run]) -> dict[str, Any]:
    """Return medians over the runs, with an interval over the prompts, and totals over totals."""
    per_token = median_interval(by_cluster(runs, lambda run: run.milliseconds_per_token))
    seconds, layers = sum(run.seconds for run in runs), sum(run.layers for run in runs)
    return {
        "tokens_per_second": statistics.median(run.tokens_per_second for run in runs),
        "milliseconds_per_token": per_token.median,
        "milliseconds_per_token_interval": None if per_token.low is None else (per_token.low, per_token.high),
        "total_tokens_per_second": layers / seconds,
        "text_tokens_per_second": sum(run.new_tokens for run in runs) / seconds,
        "decode_milliseconds_per_token": 1000 * (seconds - sum(run.prefill_seconds for run in runs)) / layers,
        "prefill_seconds": statistics.median(run.prefill_seconds for run in runs),
    }


def quality_figures(runs: Sequence[Run]) -> dict[str, Any]:
    """Return means over the prompts with half of their 95 % interval."""
    found: dict[str, Any] = {}
    for name in QUALITY:
        mean = estimate(by_cluster(runs, attrgetter(name)))
        found |= {name: mean.mean, f"{name}_half_width": mean.half_width}
    return found


def memory_of(beams: int, drafts: bool, runs: Sequence[Run], forwards: Forwards | None) -> PeakMemory:
    """Return the largest memory of any run, and what other designs of the cache would need.

    ``beams`` may be alive at once. Without the costs of both models nothing is computed.
    """
    kv = max((run.kv_peak_bytes for run in runs if run.kv_peak_bytes is not None), default=None)
    allocated = max((run.peak_allocated_bytes for run in runs if run.peak_allocated_bytes is not None), default=None)
    if forwards is None:
        return PeakMemory(kv_peak_bytes=kv, peak_allocated_bytes=allocated)
    slot = forwards.target.slot_bytes
    if drafts and forwards.draft is not None:
        slot += forwards.draft.slot_bytes
    one = slot * max(run.prompt_tokens + run.layers for run in runs)
    return PeakMemory(
        kv_peak_bytes=kv,
        peak_allocated_bytes=allocated,
        computed=OtherCaches(one_sequence_bytes=one, cache_per_beam_bytes=beams * one),
        ratio_to_one_sequence=None if kv is None else kv / one,
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


def _mean(values: Sequence[float | None]) -> Any:
    """Return the mean of the known values; None where there is none."""
    measured = [value for value in values if value is not None]
    return statistics.fmean(measured) if measured else None
